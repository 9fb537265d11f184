"""Base class of tasks with one class or score per sentence."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from graphsent._names import unknown
from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.tasks.parses import parses_of_texts, with_root_label
from graphsent.tasks.task import Task
from graphsent.trees import DependencyTree, Tree

__all__ = ["SentenceTask"]


class SentenceTask(Task):
    """One class or score per sentence, none for its phrases.

    Examples are :class:`~graphsent.sentences.Sentence` or, with parses, trees with the class at the
    root.

    Attributes:
        drops_empty: Whether sentences without words are left out, also of the parses.
    """

    drops_empty = False

    @abstractmethod
    def read_sentences(self, path: Path) -> Iterable[Sentence]:
        """The sentences of a file, labelled with decimal class indices.

        With ``finds_labels``, labels are class names; for regression, scores such as ``"3.5"``.

        Unless the corpus is small, write it as a generator, so that only one sentence is in memory
        at a time.

        Raises:
            DataError: The file is not in the task's format.
        """

    def read(
        self, path: Path, parses: Sequence[Path] = ()
    ) -> list[Sentence | Tree | DependencyTree]:
        """The sentences of a file, or their trees from a file of parses.

        Raises:
            DataError: The file is not in the task's format, or the parses are of other sentences.
            TreeError: A parse is malformed.
        """
        return list(self.iter_examples(path, parses))

    def iter_examples(
        self, path: Path, parses: Sequence[Path] = ()
    ) -> Iterator[Sentence | Tree | DependencyTree]:
        """The examples of :meth:`read` one by one."""
        sentences: Iterable[Sentence] = self.read_sentences(path)
        if self.goal == "classification":
            sentences = self._with_indices(sentences, path)
        if not parses:
            yield from sentences
            return
        sentences, again = itertools.tee(sentences)
        texts = (" ".join(sentence.words) for sentence in again)
        trees = parses_of_texts(texts, path, parses[0], drop_empty=self.drops_empty)
        for tree, sentence in zip(trees, sentences, strict=True):
            yield with_root_label(tree, sentence.label)

    def find_labels(self, path: Path) -> tuple[str, ...]:
        """The labels of the sentences of a file, sorted."""
        return tuple(sorted({sentence.label for sentence in self.read_sentences(path)} - {""}))

    def _with_indices(self, sentences: Iterable[Sentence], path: Path) -> Iterator[Sentence]:
        """The sentences with class indices as labels, in place of the names that were found."""
        places = [str(place) for place in range(len(self.label_names))]
        named = self.label_names if self.finds_labels else places
        index = dict(zip(named, places, strict=True)) | {"": ""}
        for number, sentence in enumerate(sentences, start=1):
            label = sentence.label
            if label not in index:
                expected = "the index of its class as a string, or a task with finds_labels"
                problem = f"label {label!r}: expected {expected}"
                if self.finds_labels:
                    problem = unknown("label", label, self.label_names)
                raise DataError(f"{path}: sentence {number}: {problem}")
            yield Sentence(sentence.words, index[label])
