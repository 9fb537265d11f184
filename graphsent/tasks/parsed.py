"""Parses the sentences of a task."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from graphsent._names import listed
from graphsent.errors import DataError, GraphsentError
from graphsent.pairs import TreePair, sides
from graphsent.parsing import Parser
from graphsent.parsing.cache import cached_parses, iter_trees
from graphsent.sentences import Sentence
from graphsent.tasks.parses import with_root_label
from graphsent.tasks.task import Place, TaskData

__all__ = ["num_without_tree", "with_trees"]

_SHOWN = 5  # examples named in a message


def with_trees(data: TaskData, parser: Parser, echo: Callable[[str], None]) -> TaskData:
    """The examples of a task, read as words, with a parser's trees of their sentences.

    The words become the parser's. The trees are cached, see
    :func:`~graphsent.parsing.cache.cached_parses`. Examples that the parser has no tree for are
    left out.

    Args:
        data: Sentences, or pairs of them.
        parser: The parser.
        echo: Called with lines on what is parsed and left out.

    Raises:
        DataError: The examples have their own trees, or none is left in a split.
        ParserError: The parser returns something other than trees of its kind.
        ParserFailed: The parser cannot work at all.
    """
    splits, places = {}, dict(data.places)
    for split, examples in data.splits.items():
        found = _parsed(examples, parser, echo)
        kept = [example is not None for example in found]
        if not any(kept):
            attempted = parser.attempt(_texts(examples[:1]))  # the cache does not keep reasons
            reasons = [str(each) for each in attempted if isinstance(each, GraphsentError)]
            raise DataError(": ".join((f"no sentence of {split} has a tree", *reasons[:1])))
        if not all(kept):
            echo(_left_out(split, kept, data.places.get(split, ())))
        splits[split] = list(itertools.compress(found, kept))
        if split in places:
            places[split] = list(itertools.compress(places[split], kept))
    source = replace(data.source, tree_kind=parser.source.kind)
    return replace(data, splits=splits, source=source, places=places)


def num_without_tree(data: TaskData) -> dict[str, int]:
    """How many examples :func:`with_trees` left out, by the splits that lack some."""
    counts = {split: data.source.counts[split] - len(data.splits[split]) for split in data.splits}
    return {split: count for split, count in counts.items() if count}


def _left_out(split: str, kept: Sequence[bool], places: Sequence[Place]) -> str:
    """Message that names the examples of a split without a tree, by file and line if known."""
    lost = [index for index, keep in enumerate(kept) if not keep]
    names = [
        f"{places[index].path.name}:{places[index].line}" if places else f"number {index + 1}"
        for index in lost
    ]
    return f"left out of {split}: {len(lost):,} examples without a tree ({listed(names, _SHOWN)})"


def _parsed(examples: Sequence[Any], parser: Parser, echo: Callable[[str], None]) -> list[Any]:
    """Each example with its tree or trees; None for one that lacks them."""
    texts = _texts(examples)
    file = cached_parses(lambda: texts, parser, echo)
    trees = iter_trees(file, len(texts))
    found: list[Any] = []
    for example in examples:
        own: list[Any] = list(itertools.islice(trees, len(_sentences(example))))
        if any(tree is None for tree in own):
            found.append(None)
        elif isinstance(example, TreePair):
            found.append(example._replace(first=own[0], second=own[1]))
        else:
            found.append(with_root_label(own[0], example.label))
    return found


def _texts(examples: Sequence[Any]) -> list[str]:
    return [" ".join(each.words) for example in examples for each in _sentences(example)]


def _sentences(example: Any) -> tuple[Sentence, ...]:
    sentences = sides(example)
    for each in sentences:
        if not isinstance(each, Sentence):
            raise DataError("the examples have their own trees: omit the parser")
    return sentences
