"""Raw text for models that read trees: parsing with the parser of their training trees."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from graphsent.errors import GraphsentWarning, ModelError
from graphsent.pairs import TreePair
from graphsent.parsing import Parser, ParserError, TreeSource, as_parser, is_safe
from graphsent.parsing.errors import UnparsedSentence
from graphsent.parsing.names import shape_of
from graphsent.trees import DependencyTree, Tree, escape, map_tokens, reshape, unescape
from graphsent.vocabulary import Vocabulary

__all__ = ["RawText"]


class RawText:
    """Base class of models: parsing of raw text for those that read trees.

    Attributes:
        tree_source: The source of the trees that the model was trained on, saved with it; None if
            it is unknown.
    """

    name: str
    tree_kind: str
    vocab: Vocabulary
    tree_source: TreeSource | None = None
    _parser: Parser | None = None

    @property
    def reads_text(self) -> bool:
        """Whether the model has a parser, so that it accepts raw sentences in place of trees."""
        return self._parser is not None or bool(self.tree_source and self.tree_source.parser)

    @property
    def parse_if_able(self) -> Callable[[Sequence[str]], list[Any]] | None:
        """:meth:`parse` if the model has a parser, else None."""
        return self.parse if self.reads_text else None

    @property
    def parser(self) -> Parser | None:
        """The parser for raw text.

        By default it is the parser of :attr:`tree_source`, loaded on first use; None if the
        training trees are not from a parser. It can be set to a :class:`~graphsent.parsing.Parser`,
        a name for :func:`~graphsent.parsing.load_parser`, or a function from a list of sentences to
        a list of trees. It is not saved with the model.

        Raises:
            ModelError: The model reads words or the other kind of trees; there is no such parser;
                or the parser named by a saved model can run arbitrary code and must be set
                explicitly.
            ParserFailed: The parser's package is not installed.
        """
        source = self.tree_source
        if self._parser is None and source is not None and source.parser:
            name = source.parser
            if not is_safe(name):
                raise ModelError(
                    f"the model names the parser {name!r}, which may run arbitrary code or send "
                    f"the text elsewhere: to use it, pass --parser {name}, or set model.parser"
                )
            self.parser = name
        return self._parser

    @parser.setter
    def parser(self, parser: Parser | str | Callable[[list[str]], Any] | None) -> None:
        self._parser = None if parser is None else self._checked(parser)

    def _checked(self, parser: Parser | str | Callable[[list[str]], Any]) -> Parser:
        kind = self.tree_source.kind if self.tree_source else self.tree_kind
        if kind == "words":
            raise ModelError(f"the model {self.name!r} reads words: it needs no parser")
        try:
            found = as_parser(parser, kind)
        except ParserError as error:
            raise ModelError(f"the model {self.name!r} reads {kind} trees: {error}") from None
        before, now = self.tree_source, found.source
        if before is not None and before.parser and before.version != now.version:
            warnings.warn(
                f"the model was trained on trees by {before.parser} ({before.version}); "
                f"{now.parser} ({now.version}) may parse differently",
                GraphsentWarning,
                stacklevel=3,
            )
        return found

    def parse(self, texts: Sequence[str]) -> list[Tree | DependencyTree | UnparsedSentence]:
        r"""Parses sentences; each result is a tree, or the error that explains why there is none.

        Unknown words are replaced by a known form if there is one: with or without the escapes of
        the Penn Treebank, such as ``\/`` for a slash.

        Args:
            texts: Sentences.

        Raises:
            ModelError: The model has no parser, or it cannot be used.
            ParserFailed: The parser fails as a whole.
        """
        if self.parser is None:
            raise ModelError(f"the model {self.name!r} has no parser: set model.parser")
        return [
            tree if isinstance(tree, UnparsedSentence) else self._with_known_words(tree)
            for tree in self.parser.attempt(texts)
        ]

    def as_learned(self, trees: Sequence[Any]) -> Sequence[Any]:
        """Converts trees to the shape that the model was trained on.

        They are unchanged unless the model was trained on artificial trees, such as balanced ones:
        then the result has trees of that shape over the same words.
        """
        source = self.tree_source
        shape = None if source is None else shape_of(source.parser)
        if source is None or shape is None:
            return trees
        return [reshape(tree, shape, source.kind) for tree in trees]

    def as_tokenized(self, example: Any) -> Any:
        """An example of a corpus with the words that it would have as raw text in predictions.

        A corpus in raw text has no escapes, but the model may know words from treebanks. Trees are
        unchanged, except artificial ones over such words.
        """
        if isinstance(example, TreePair):
            first, second = map(self.as_tokenized, example[:2])
            return example._replace(first=first, second=second)
        if self.tree_source is None or shape_of(self.tree_source.parser) is None:
            return example
        known = self._with_known_words(example)
        # Random trees depend on the words.
        return example if known is example else self.as_learned([known])[0]

    def _with_known_words(self, tree: Tree | DependencyTree) -> Tree | DependencyTree:
        if all(map(self.vocab.__getitem__, tree.words)):
            return tree
        if isinstance(tree, Tree):  # brackets must stay escaped
            return map_tokens(tree, lambda word: self._known(word, escape(word)))
        forms = [self._known(word, escape(word), unescape(word)) for word in tree.words]
        return tree.replace(words=forms)

    def _known(self, word: str, *others: str) -> str:
        """The first known form of a word, else the word itself."""
        return next((form for form in (word, *others) if self.vocab[form]), word)
