"""Parse reranking: the best of a parser's n-best list, on the Penn Treebank's WSJ sample."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphsent.errors import DataError
from graphsent.tasks.corpus import Corpus, CorpusSource
from graphsent.tasks.data_dir import resolve_data_dir
from graphsent.tasks.parses import resolve_parses_dir
from graphsent.tasks.task import Task
from graphsent.trees import ParseList, read_nbest

if TYPE_CHECKING:
    from graphsent.tasks.rerank_metrics import RerankMetrics

__all__ = ["rerank"]

_FILES = {"train": "wsj.nbest.train.gz", "test": "wsj.nbest.heldout.gz"}
_HELD_OUT = 0.1
_COUNTS = {"train": 3302, "dev": 367, "test": 245}


class RerankTask(Task):
    """The best parse of each n-best list, as in Teng and Zhang 2017.

    Examples are :class:`~graphsent.trees.ParseList` with their gold trees, in the directory of
    parses.

    Args:
        split_seed: Seed of the dev split, which is held out of train.
    """

    name = "rerank"
    goal = "ranking"
    examples = "lists"
    selection_metric = "f1"
    finds_labels = True
    corpora = (
        Corpus(
            "wsj",
            "n-best lists of the Penn Treebank's WSJ sample",
            _FILES,
            _COUNTS,
            own_kinds=("constituency",),
            held_out=_HELD_OUT,
        ),
    )

    def __init__(self, split_seed: int) -> None:
        self.split_seed = split_seed
        self.options = {"split_seed": split_seed}
        # Lists that were read for their labels: the file is large, and is read next.
        self._waiting: dict[Path, list[ParseList]] = {}

    def find_labels(self, path: Path) -> tuple[str, ...]:
        """The node labels of all trees of a file, as the model reads them."""
        from graphsent.models import ParseReranker

        self._waiting[path] = lists = _lists_with_gold(path)
        return ParseReranker.labels_of(lists)

    def read(self, path: Path, parses: Sequence[Path] = ()) -> list[ParseList]:
        """The n-best lists of a file; see :mod:`graphsent.trees.nbest` for its format.

        Raises:
            TreeError: A list is malformed.
            DataError: A list has no gold tree.
        """
        return self._waiting.pop(path, None) or _lists_with_gold(path)

    def metrics(self) -> RerankMetrics:
        """F1, precision and recall of the choice; F1 of the 1-best, oracle and worst choices."""
        from graphsent.tasks.rerank_metrics import RerankMetrics

        return RerankMetrics()

    def _find(
        self,
        data_dir: str | os.PathLike[str] | None,
        splits: Sequence[str],
        tree_kind: str,
        parses_dir: str | os.PathLike[str] | None,
        trees: str | None,
    ) -> CorpusSource:
        if trees is not None:
            raise DataError(f"{trees} trees: task {self.name} ranks parses and needs their trees")
        directory = resolve_parses_dir(parses_dir, resolve_data_dir(data_dir))
        return super()._find(directory, splits, tree_kind, None, None)


def rerank(split_seed: int = 0) -> Task:
    """The best of each list of ten parses.

    Args:
        split_seed: Seed of the dev split, a tenth of the training sentences.
    """
    return RerankTask(split_seed)


def _lists_with_gold(path: Path) -> list[ParseList]:
    lists = read_nbest(path)
    for number, each in enumerate(lists, start=1):
        if each.gold is None:
            raise DataError(f"{path}: list {number} has no gold tree to learn from")
    return lists
