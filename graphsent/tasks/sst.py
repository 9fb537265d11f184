"""Sentiment of every phrase: the Stanford Sentiment Treebank and the embedded treebank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphsent._names import check_choice
from graphsent.errors import DataError
from graphsent.tasks.corpus import SPLITS, Corpus
from graphsent.tasks.held_out import FileReader
from graphsent.tasks.parses import align, label_by_span, root_label
from graphsent.tasks.task import Task
from graphsent.trees import DependencyTree, Tree, iter_trees, relabel

if TYPE_CHECKING:
    from torchmetrics import MetricCollection

__all__ = ["sst2", "sst5"]

_FIVE = ("very negative", "negative", "neutral", "positive", "very positive")
_NEUTRAL = "2"
_FIVE_COUNTS = {"train": 8544, "dev": 1101, "test": 2210}
_TWO_COUNTS = {"train": 6920, "dev": 872, "test": 1821}
# Treebank label -> class, for the two treatments of neutral phrases.
_TWO_CLASSES = {"0": "0", "1": "0", "2": "", "3": "1", "4": "1"}
_THREE_CLASSES = {"0": "0", "1": "0", "2": "1", "3": "2", "4": "2"}


class SentimentTask(Task):
    """Sentiment of sentences and phrases, on a treebank whose nodes have classes 0 to 4.

    Args:
        name: Name of the task.
        label_names: Names of the classes.
        published_counts: Numbers of trees of the Stanford Sentiment Treebank.
        classes: Treebank label -> class index as a string, "" for none. None keeps the labels and
            the trees whose root is neutral; otherwise these trees are dropped from the splits.
        judged: The class indices that compete in evaluation; all by default.
        keeps_neutral_roots: Whether trees whose root is neutral stay in train for their phrases.
        options: Options that the task was made with.
    """

    selection_metric = "root_accuracy"
    ordered_classes = True

    def __init__(
        self,
        name: str,
        label_names: tuple[str, ...],
        published_counts: Mapping[str, int],
        *,
        classes: Mapping[str, str] | None = None,
        judged: tuple[int, ...] | None = None,
        keeps_neutral_roots: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.label_names = label_names
        self.options = dict(options or {})
        self.corpora = (
            _corpus("sst", "Stanford Sentiment Treebank", published_counts),
            _corpus("sentiment", "embedded synthetic sentiment treebank", {}),
        )
        self._classes = classes
        self._judged = judged or tuple(range(len(label_names)))
        self._keeps_neutral_roots = keeps_neutral_roots

    def read(self, path: Path, parses: Sequence[Path] = ()) -> list[Tree | DependencyTree]:
        """The trees of a file in the treebank's bracket format, with class indices as labels.

        They include trees with a neutral root, which :meth:`load` drops.

        Args:
            path: The file.
            parses: A file with dependency trees of the same sentences, to be read instead; see
                :func:`~graphsent.tasks.parses.label_by_span`.

        Raises:
            TreeError: A tree is malformed.
            DataError: A label is not one of 0 to 4, or a parse has different words.
        """
        return list(self.iter_examples(path, parses))

    def iter_examples(
        self, path: Path, parses: Sequence[Path] = ()
    ) -> Iterator[Tree] | Iterator[DependencyTree]:
        """The examples of :meth:`read` one by one."""
        trees = _checked(iter_trees(path), path)
        if not parses:
            yield from map(self._with_classes, trees)
            return
        for tree, parse in align(trees, path, parses[0]):
            yield label_by_span(parse, self._with_classes(tree))

    @property
    def judged(self) -> tuple[int, ...]:
        """The class indices that compete in evaluation."""
        return self._judged

    def metrics(self) -> MetricCollection:
        """``root_accuracy`` and ``phrase_accuracy``."""
        from graphsent.tasks.metrics import tree_metrics

        return tree_metrics(self._judged)

    def _of_split(self, read: FileReader, corpus: Corpus, split: str) -> Iterable[Any]:
        trees = super()._of_split(read, corpus, split)
        if self._classes is None or (split == "train" and self._keeps_neutral_roots):
            return trees
        neutral = self._classes[_NEUTRAL]
        return (tree for tree in trees if root_label(tree) != neutral)

    def _with_classes(self, tree: Tree) -> Tree:
        return tree if self._classes is None else relabel(tree, self._classes)


def sst5() -> Task:
    """Five classes, from very negative to very positive."""
    return SentimentTask("sst5", _FIVE, _FIVE_COUNTS)


def sst2(neutral: str = "mask", neutral_roots: str = "drop") -> Task:
    """Negative vs. positive; sentences that are neutral as a whole are not evaluated.

    Args:
        neutral: How to treat neutral phrases inside other trees. ``"mask"``: they have no label,
            so that they add nothing to the loss. ``"class"``: they are a third class in training,
            and only negative and positive compete in evaluation (Tai et al. 2015).
        neutral_roots: How to treat trees with a neutral root. ``"drop"``: they are in no split.
            ``"phrases"``: those of train stay there for their other phrases, as in the
            convolutional models of Kalchbrenner et al. 2014 and Kim 2014.

    Raises:
        DataError: A value is none of these.
    """
    check_choice("neutral", neutral, ("mask", "class"), DataError)
    check_choice("neutral_roots", neutral_roots, ("drop", "phrases"), DataError)
    keeps = neutral_roots == "phrases"
    return SentimentTask(
        "sst2",
        ("negative", "positive") if neutral == "mask" else ("negative", "neutral", "positive"),
        {**_TWO_COUNTS, "train": _FIVE_COUNTS["train"]} if keeps else _TWO_COUNTS,
        classes=_TWO_CLASSES if neutral == "mask" else _THREE_CLASSES,
        judged=(0, 1) if neutral == "mask" else (0, 2),
        keeps_neutral_roots=keeps,
        options={"neutral": neutral, "neutral_roots": neutral_roots},
    )


def _corpus(name: str, title: str, published_counts: Mapping[str, int]) -> Corpus:
    files = {split: f"{name}/{split}.txt" for split in SPLITS}
    parses = {split: (f"{name}.{split}.conllu.gz",) for split in SPLITS}
    return Corpus(name, title, files, published_counts, {"dependency": parses})


def _checked(trees: Iterator[Tree], path: Path) -> Iterator[Tree]:
    """The trees, each checked for labels that the treebank does not have."""
    for number, tree in enumerate(trees, start=1):
        unknown = set(tree.labels).difference(_TWO_CLASSES)
        if unknown:
            raise DataError(
                f"{path}: tree {number}: expected labels from 0 to 4 (very negative to very "
                f"positive), got {min(unknown)!r}"
            )
        yield tree
