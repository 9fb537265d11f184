"""What tasks have in common whose sentences have one class each."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphsent.sentences import Sentence
from graphsent.tasks.parses import parses_of_texts, with_root_label
from graphsent.tasks.task import Task
from graphsent.trees import DependencyTree, Tree

if TYPE_CHECKING:
    from torchmetrics import MetricCollection

__all__ = ["SentenceTask"]


class SentenceTask(Task):
    """A class for each sentence; its phrases have none.

    Examples are :class:`~graphsent.sentences.Sentence` or, with parses, trees with the class at the
    root.

    Attributes:
        drops_empty: Whether sentences without words are left out, of parses, too.
    """

    selection_metric = "accuracy"
    drops_empty = False

    @abstractmethod
    def read_sentences(self, path: Path) -> Iterable[Sentence]:
        """The sentences of a file, labelled with decimal class indices.

        A generator, unless the corpus is small: then no more than one is in memory at a time.

        Raises:
            DataError: The file is not in the task's format.
        """

    def read(
        self, path: Path, parses: Sequence[Path] = ()
    ) -> list[Sentence] | list[Tree] | list[DependencyTree]:
        """The sentences of a file, or their trees from a file of parses.

        Raises:
            DataError: The file is not in the task's format, or the parses are of other sentences.
            TreeError: A parse is broken.
        """
        return list(self.iter_examples(path, parses))

    def iter_examples(
        self, path: Path, parses: Sequence[Path] = ()
    ) -> Iterator[Sentence] | Iterator[Tree] | Iterator[DependencyTree]:
        """The examples of :meth:`read` one by one."""
        sentences = self.read_sentences(path)
        if not parses:
            yield from sentences
            return
        sentences, again = itertools.tee(sentences)
        texts = (" ".join(sentence.words) for sentence in again)
        trees = parses_of_texts(texts, path, parses[0], drop_empty=self.drops_empty)
        for tree, sentence in zip(trees, sentences, strict=True):
            yield with_root_label(tree, sentence.label)

    def metrics(self) -> MetricCollection:
        """``accuracy`` of sentences."""
        from torchmetrics import MetricCollection

        from graphsent.tasks.metrics import RootAccuracy

        return MetricCollection({"accuracy": RootAccuracy(range(len(self.label_names)))})
