"""A parser: its name, and a function from sentences to trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from graphsent._names import quoted
from graphsent.errors import GraphsentError
from graphsent.parsing.errors import ParserError, UnparsedSentence, WrongKind
from graphsent.parsing.text import as_text, split_sentences
from graphsent.trees import DependencyTree, Tree, TreeError, as_tree

__all__ = ["Parser", "TreeSource", "check_kind"]

Parsed = Tree | DependencyTree


class TreeSource(NamedTuple):
    """Where trees come from; saved with the models trained on them.

    Attributes:
        kind: ``"constituency"`` or ``"dependency"``.
        parser: The name of the parser, as for :func:`~graphsent.parsing.load_parser`; ``""`` if
            the trees are a treebank's own or come from files of parses.
        version: Version of the parser and its model, for people and for comparison.
    """

    kind: str
    parser: str = ""
    version: str = ""


@dataclass(frozen=True)
class Parser:
    """Parses sentences; made by :func:`~graphsent.parsing.load_parser`.

    Args:
        source: Kind of the trees, name and version.
        function: Maps a list of sentences to one tree each: a ``Tree``, a ``DependencyTree``, an
            ``nltk.Tree`` or a bracketed string, or None for a sentence that it cannot parse.
            Sentences are not empty, and their whitespace is normalized to single spaces.
        split: Maps a list of texts to the sentences of each.
        loading: The function that loads it, and the arguments, which are pickled in its place;
            otherwise its own functions are.
    """

    source: TreeSource
    function: Callable[[list[str]], Sequence[Any]]
    split: Callable[[list[str]], list[list[str]]] = split_sentences
    loading: tuple[Callable[..., Parser], tuple[Any, ...]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return self.loading or (Parser, (self.source, self.function, self.split))

    def __deepcopy__(self, memo: Any) -> Parser:
        return self  # copies of a model share it, and need not load it again

    def __call__(self, sentences: Iterable[str]) -> list[Parsed]:
        """The tree of each sentence.

        Raises:
            UnparsedSentence: The parser cannot parse a sentence; its number, from 1, is named.
            ParserError: The parser returns something other than trees of its kind.
            ParserFailed: The parser cannot work at all.
        """
        trees = self.attempt(sentences)
        for number, tree in enumerate(trees, start=1):
            if isinstance(tree, GraphsentError):
                raise UnparsedSentence(f"input {number}: {tree}")
        return trees  # type: ignore[return-value]

    def attempt(self, sentences: Iterable[str]) -> list[Parsed | UnparsedSentence]:
        """The tree of each sentence, or why it has none.

        Raises:
            ParserError: The parser returns something other than trees of its kind, or there is one
                string instead of several.
            ParserFailed: The parser cannot work at all.
        """
        if isinstance(sentences, str):
            raise ParserError("expected several texts, got one: put it in []")
        texts = [as_text(sentence) for sentence in sentences]
        filled = [text for text in texts if text]
        parsed = iter(self._attempt("parse", self.function, filled, self._checked))
        return [
            next(parsed) if text else UnparsedSentence("an empty line: expected a sentence")
            for text in texts
        ]

    def attempt_split(self, texts: list[str]) -> list[list[str] | UnparsedSentence]:
        """The sentences of each text, itself if there are none; or why it cannot be split.

        Raises:
            ParserError: The splitter returns something other than lists of strings.
        """
        filled = [text for text in texts if text.strip()]
        found = iter(self._attempt("split", self.split, filled, self._checked_sentences))
        return [next(found) if text.strip() else [text] for text in texts]

    def _attempt(
        self,
        work: str,
        function: Callable[[list[str]], Iterable[Any]],
        texts: list[str],
        check: Callable[[Any, str], Any],
    ) -> list[Any]:
        """The checked result of a function of several texts for each, or why it has none."""
        if not texts:
            return []
        try:
            results = function(texts)
            found = [] if results is None else list(results)
        except (GraphsentError, MemoryError):
            raise
        except Exception as error:  # another package may raise anything
            if len(texts) == 1:
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                name = self.source.parser
                return [UnparsedSentence(f"{name} cannot {work} {quoted(texts[0])}: {reason}")]
            half = len(texts) // 2  # bisects to find the texts at fault
            halves = texts[:half], texts[half:]
            return [each for part in halves for each in self._attempt(work, function, part, check)]
        if len(found) != len(texts):
            raise ParserError(
                f"{self.source.parser} returned {len(found)} results for {len(texts)} texts to "
                f"{work}: expected one for each"
            )
        return [check(each, text) for each, text in zip(found, texts, strict=True)]

    def _checked_sentences(self, found: Any, text: str) -> list[str]:
        if not isinstance(found, list | tuple) or not all(isinstance(each, str) for each in found):
            raise ParserError(
                f"{self.source.parser} returned {quoted(repr(found))} as the sentences of a text: "
                "expected a list of strings"
            )
        return [each for each in found if each.strip()] or [text]

    def _checked(self, tree: Any, text: str) -> Parsed | UnparsedSentence:
        name = self.source.parser
        if tree is None:
            return UnparsedSentence(f"{name} has no tree for {quoted(text)}")
        if not isinstance(tree, DependencyTree):
            try:
                tree = as_tree(tree)
            except TreeError as error:
                return UnparsedSentence(f"{name} returned no tree for {quoted(text)}: {error}")
        if isinstance(tree, Tree) and not all(tree.labels):
            return UnparsedSentence(
                f"{name} returned a tree for {quoted(text)} with an unlabelled node"
            )
        if _kind_of(tree) != self.source.kind:
            raise ParserError(
                f"{name} returned a {_kind_of(tree)} tree: expected {self.source.kind} trees"
            )
        return tree


def check_kind(name: str, kinds: tuple[str, ...], kind: str | None) -> str:
    """The requested kind of trees, by default the first that a parser supports.

    Raises:
        WrongKind: The parser does not support it.
    """
    if kind is not None and kind not in kinds:
        raise WrongKind(f"{name} returns {kinds[0]} trees, but {kind} trees are needed")
    return kind or kinds[0]


def _kind_of(tree: Parsed) -> str:
    """The kind of a tree, ``"constituency"`` or ``"dependency"``."""
    return "dependency" if isinstance(tree, DependencyTree) else "constituency"
