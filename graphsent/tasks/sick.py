"""Relatedness of sentence pairs: SICK, and the embedded corpus in its format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphsent.errors import DataError
from graphsent.pairs import TreePair
from graphsent.tasks.corpus import SPLITS, Corpus
from graphsent.tasks.parses import parses_of_texts
from graphsent.tasks.task import Task
from graphsent.trees.text_files import read_text

if TYPE_CHECKING:
    from torchmetrics import MetricCollection

__all__ = ["sick"]

_COLUMNS = ("sentence_A", "sentence_B", "relatedness_score")
_LOWEST, _HIGHEST = 1, 5
_FILES = {"train": "SICK_train.txt", "dev": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}
_EMBEDDED = {split: f"{split}.txt" for split in SPLITS}
_SAME = {split: split for split in SPLITS}
_COUNTS = {"train": 4500, "dev": 500, "test": 4927}
_SUFFIXES = {"constituency": "trees.gz", "dependency": "conllu.gz"}


class RelatednessTask(Task):
    """How related two sentences are, from 1 to 5 (Marelli et al. 2014).

    Examples are :class:`~graphsent.pairs.TreePair` with the trees of both sentences, whose words
    are those of the parser, and their score.
    """

    name = "sick"
    label_names = ("1", "2", "3", "4", "5")
    options: Mapping[str, Any] = {}
    examples = "pairs"
    selection_metric = "pearson"

    def __init__(self) -> None:
        self.corpora = (
            _corpus("sick", "SICK", _FILES, _COUNTS, {**_SAME, "dev": "trial"}),
            _corpus("relatedness", "embedded synthetic relatedness corpus", _EMBEDDED, {}, _SAME),
        )

    def read(self, path: Path, parses: Sequence[Path] = ()) -> list[TreePair]:
        """The pairs of a file.

        Args:
            path: Tab-separated, with a header that names the columns.
            parses: Parses of the first and of the second sentences, in the same order.

        Raises:
            DataError: The file is not in that format, or the parses are of other sentences.
            TreeError: A parse is broken.
        """
        rows = _read_rows(path)
        first, second = (
            parses_of_texts([row[column] for row in rows], path, parses_path)
            for column, parses_path in zip(_COLUMNS[:2], parses, strict=True)
        )
        scores = [row[_COLUMNS[2]] for row in rows]
        return [TreePair(*pair) for pair in zip(first, second, scores, strict=True)]

    def metrics(self) -> MetricCollection:
        """``pearson``, ``spearman`` and ``mse``, on the scale of the scores."""
        from graphsent.tasks.relatedness_metrics import RelatednessMetrics

        return RelatednessMetrics()


def sick() -> Task:
    """Scores from 1 to 5 for pairs of sentences."""
    return RelatednessTask()


def _corpus(
    name: str,
    title: str,
    files: Mapping[str, str],
    counts: Mapping[str, int],
    parsed_as: Mapping[str, str],
) -> Corpus:
    """A corpus whose parses are named by it, split, side and kind; the split as given."""
    parses = {
        kind: {
            split: tuple(f"{name}.{split_name}.{side}.{suffix}" for side in "ab")
            for split, split_name in parsed_as.items()
        }
        for kind, suffix in _SUFFIXES.items()
    }
    paths = {split: f"{name}/{file}" for split, file in files.items()}
    return Corpus(name, title, paths, counts, parses, own_kinds=())


def _read_rows(path: Path) -> list[dict[str, Any]]:
    """The columns of each line by name, scores as numbers."""
    lines = read_text(path, "utf-8").removesuffix("\n").split("\n")
    header = [name.strip() for name in lines[0].split("\t")]
    lacking = [name for name in _COLUMNS if name not in header]
    if lacking:
        raise DataError(f"{path}:1: expected a header with a column {lacking[0]!r}, got {header}")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != len(header):
            raise DataError(f"{path}:{number}: expected {len(header)} columns, got {len(cells)}")
        row: dict[str, Any] = dict(zip(header, cells, strict=True))
        row[_COLUMNS[2]] = _score(row[_COLUMNS[2]], f"{path}:{number}")
        rows.append(row)
    return rows


def _score(text: str, where: str) -> float:
    try:
        score = float(text)
    except ValueError:
        raise DataError(f"{where}: expected a number as the score, got {text!r}") from None
    if not _LOWEST <= score <= _HIGHEST:
        raise DataError(f"{where}: expected a score from {_LOWEST} to {_HIGHEST}, got {text}")
    return score
