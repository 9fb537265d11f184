"""Raw text for models that read words: the tokenizer that divides it."""

from __future__ import annotations

from graphsent.errors import ModelError
from graphsent.tokenizers import TOKENIZERS
from graphsent.trees import escape
from graphsent.vocabulary import Vocabulary

__all__ = ["WordsOfText"]


class WordsOfText:
    """Base of models that need no trees. Of a tree they read the words.

    Attributes:
        unsaved_tokenizer: That of a model that was saved without one.
    """

    tree_kind = "words"
    vocab: Vocabulary
    unsaved_tokenizer = "whitespace"  # as before there was a choice
    _tokenizer = "treebank"

    @property
    def tokenizer(self) -> str:
        """How raw text becomes words, one of :data:`graphsent.tokenizers.TOKENIZERS`.

        It is ``"treebank"`` unless set, and saved with the model; models that were saved before
        there was a choice have :attr:`unsaved_tokenizer`.

        Raises:
            ModelError: When set, if there is no such tokenizer.
        """
        return self._tokenizer

    @tokenizer.setter
    def tokenizer(self, tokenizer: str) -> None:
        if tokenizer not in TOKENIZERS:
            valid = ", ".join(TOKENIZERS)
            raise ModelError(f"unknown tokenizer {tokenizer!r}: expected one of {valid}")
        self._tokenizer = tokenizer

    def tokenize(self, text: str) -> list[str]:
        r"""The words of raw text.

        Those of the tokenizer ``"treebank"`` that the model does not know are escaped as in the
        Penn Treebank where it knows them so: ``-LRB-`` for a bracket, ``\/`` for a slash.
        """
        words = TOKENIZERS[self.tokenizer](text)
        if self.tokenizer != "treebank":
            return words
        return [
            escape(word) if not self.vocab[word] and self.vocab[escape(word)] else word
            for word in words
        ]
