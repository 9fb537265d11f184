"""Parses of corpora: finding, reading and labelling them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from graphsent._unpacking import format_suffix
from graphsent.errors import DataError
from graphsent.tasks.data_dir import existing_directory
from graphsent.trees import DependencyTree, Tree, iter_conllu, iter_labelled_trees, unescape

__all__ = [
    "align",
    "iter_parses",
    "label_by_span",
    "letters",
    "parses_of_texts",
    "resolve_parses_dir",
    "root_label",
    "text_of",
    "with_root_label",
]

_VARIABLE = "GRAPHSENT_PARSES"
_FOLDER = "parses"
_SPACE = re.compile(r"\s")  # includes the no-break space, which a few tokens hold


def resolve_parses_dir(
    parses_dir: str | os.PathLike[str] | None, data_dir: Path, advice: str = ""
) -> Path:
    """The directory that holds the parses of corpora.

    ``parses_dir``, else the environment variable ``GRAPHSENT_PARSES``, else ``parses`` in the data
    directory, else ``parses`` beside it. A given directory must exist.

    Args:
        parses_dir: The directory, or None.
        data_dir: The data directory.
        advice: What else to do if there is none, appended to the error message.

    Raises:
        DataError: There is no such directory; the message lists where it was looked for.
    """
    given = parses_dir if parses_dir is not None else os.environ.get(_VARIABLE)
    if given:
        return existing_directory(given, "the given parses directory")
    places = [data_dir / _FOLDER, data_dir.resolve().parent / _FOLDER]
    for place in places:
        if place.is_dir():
            return place
    raise DataError(
        f"no parses directory: none was given, {_VARIABLE} is not set, and neither {places[0]} "
        f"nor {places[1]} exists; to name it: --parses-dir DIR{advice}"
    )


def iter_parses(path: Path, *, drop_empty: bool = False) -> Iterator[Tree | DependencyTree]:
    """The trees of a file of parses, one by one.

    Args:
        path: Dependency trees, ``*.conllu`` or ``*.conllu.gz``; or constituency trees, one per line
            after a label and a tab.
        drop_empty: Whether to skip lines without a tree, for sentences without words, instead of
            raising; CoNLL-U cannot represent such sentences.

    Raises:
        TreeError: A tree is malformed.
        DataError: The file cannot be read, or has a line without a tree.
    """
    if format_suffix(path) == ".conllu":
        yield from iter_conllu(path)
        return
    for number, (_, tree) in enumerate(iter_labelled_trees(path), start=1):
        if tree is not None:
            yield tree
        elif not drop_empty:
            raise DataError(f"{path}:{number}: expected a tree after the tab, got nothing")


def align(trees: Iterable[Tree], path: Path, parses_path: Path) -> Iterator[tuple]:
    """The trees of a treebank, each with another parse of the same words.

    Args:
        trees: Trees of the file ``path``.
        path: Named in errors.
        parses_path: A file of parses, in the same order.

    Raises:
        DataError: There is not one parse per tree, or their words differ.
        TreeError: A parse is malformed.
    """

    def problem(tree: Tree, parse: Tree | DependencyTree, number: int) -> str:
        words, found = tree.words, parse.words
        if len(words) != len(found):
            return (
                f"{parses_path}: sentence {number} has {len(found)} words, but the one in {path} "
                f"has {len(words)}"
            )
        for place, (word, other) in enumerate(zip(words, found, strict=True), start=1):
            if _SPACE.sub("_", word) != other:
                return (
                    f"{parses_path}: word {place} of sentence {number} is {other!r}, but in {path} "
                    f"it is {word!r}"
                )
        return ""

    return _in_step(trees, path, parses_path, problem)


def parses_of_texts(
    texts: Iterable[str], path: Path, parses_path: Path, *, drop_empty: bool = False
) -> Iterator[Tree | DependencyTree]:
    """The parses of sentences given as text; the parser may have tokenized them differently.

    Args:
        texts: The sentences of the file ``path``, tokenized or not.
        path: Named in errors.
        parses_path: A file of parses, in the same order.
        drop_empty: See :func:`iter_parses`.

    Raises:
        DataError: There is not one parse per sentence, or their letters or digits differ.
        TreeError: A parse is malformed.
    """

    def problem(text: str, parse: Tree | DependencyTree, number: int) -> str:
        if letters(text) == letters("".join(map(unescape, parse.words))):
            return ""
        return (
            f"{parses_path}: sentence {number} is {' '.join(parse.words)!r}, but the one in "
            f"{path} is {text!r}"
        )

    found = _in_step(texts, path, parses_path, problem, drop_empty=drop_empty)
    return (parse for _, parse in found)


def _in_step(
    examples: Iterable[Any],
    path: Path,
    parses_path: Path,
    problem: Callable[[Any, Any, int], str],
    *,
    drop_empty: bool = False,
) -> Iterator[tuple]:
    """Each example of a file with its parse.

    Args:
        examples: Examples of the file ``path``.
        path: Named in errors.
        parses_path: The parses, in the same order.
        problem: Returns why an example and a parse do not match, given the number of the sentence
            from 1; "" if they do.
        drop_empty: See :func:`iter_parses`.

    Raises:
        DataError: There is not one parse per example, or, with equal numbers, a ``problem``.
        TreeError: A parse is malformed.
    """
    examples, parses = iter(examples), iter_parses(parses_path, drop_empty=drop_empty)
    for number, (example, parse) in enumerate(zip_longest(examples, parses), start=1):
        message = ""
        if example is not None and parse is not None:
            message = problem(example, parse, number)
            if not message:
                yield example, parse
                continue
        num_examples = number - (example is None) + _count(examples)
        num_parses = number - (parse is None) + _count(parses)
        if num_examples != num_parses:
            message = (
                f"{parses_path} has {num_parses} sentences, but {path} has {num_examples}: "
                "expected one parse per sentence"
            )
        raise DataError(message)


def _count(rest: Iterable[Any]) -> int:
    return sum(1 for _ in rest)


def label_by_span(parse: DependencyTree, tree: Tree) -> DependencyTree:
    """A dependency tree with the labels of the constituents that span the same words.

    A node spans the words from the first to the last in its subtree, possibly with others in
    between if the tree is not projective. A node whose span is not a constituent has no label. The
    root has the label of the whole sentence, as in the preprocessing of Tai et al. 2015.

    Args:
        parse: The dependency tree.
        tree: A labelled constituency tree with as many words; the result has its words.

    Example:
        >>> parse = DependencyTree(["a", "lovely", "film"], [2, 2, -1])
        >>> label_by_span(parse, Tree.from_string("(4 (2 a) (3 (3 lovely) (2 film)))")).labels
        ('2', '3', '4')
    """
    labels: dict[tuple[int, ...], str] = {}
    for span, label in zip(tree.spans.tolist(), tree.labels, strict=True):
        labels.setdefault(tuple(span), label)  # the topmost of a unary chain
    found = [labels.get(tuple(span), "") for span in parse.spans.tolist()]
    return parse.replace(words=tree.words, labels=found)


def with_root_label(parse: DependencyTree | Tree, label: str) -> DependencyTree | Tree:
    """A parse with the sentence label at its root; a constituency tree keeps its other labels."""
    if isinstance(parse, Tree):
        return parse.replace(labels=(label, *parse.labels[1:]))
    labels = [label if head < 0 else "" for head in parse.heads.tolist()]
    return parse.replace(labels=labels)


def root_label(example: Any) -> str:
    """The label of a whole sentence, at the root of its tree."""
    return example.labels[example.root]


def text_of(sentence: Any) -> str:
    """A sentence as text; the words of a tree, without escapes."""
    return sentence if isinstance(sentence, str) else " ".join(map(unescape, sentence.words))


def letters(text: str) -> str:
    """Letters and digits, which tokenizers do not change."""
    return "".join(filter(str.isalnum, text))
