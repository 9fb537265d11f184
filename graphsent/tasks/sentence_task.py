"""What tasks have in common whose sentences have one class each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
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
    """

    selection_metric = "accuracy"

    @abstractmethod
    def read_sentences(self, path: Path) -> list[Sentence]:
        """The sentences of a file, labelled with decimal class indices.

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
        sentences = self.read_sentences(path)
        if not parses:
            return sentences
        texts = [" ".join(sentence.words) for sentence in sentences]
        trees = parses_of_texts(texts, path, parses[0])
        return [
            with_root_label(tree, sentence.label)
            for tree, sentence in zip(trees, sentences, strict=True)
        ]

    def metrics(self) -> MetricCollection:
        """``accuracy`` of sentences."""
        from torchmetrics import MetricCollection

        from graphsent.tasks.metrics import RootAccuracy

        return MetricCollection({"accuracy": RootAccuracy(range(len(self.label_names)))})
