"""Relatedness and entailment of sentence pairs: SICK, and the embedded corpus in its format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphsent._names import check_choice, unknown
from graphsent._numbers import decimal
from graphsent.errors import DataError
from graphsent.pairs import TreePair
from graphsent.sentences import Sentence
from graphsent.tasks.corpus import SPLITS, WORDS, Corpus, parse_files
from graphsent.tasks.parses import parses_of_texts
from graphsent.tasks.task import Task
from graphsent.tokenizers import TOKENIZERS
from graphsent.trees.text_files import read_text

__all__ = ["sick"]

_COLUMNS = ("sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")
_LOWEST, _HIGHEST = 1, 5
_FILES = {"train": "SICK_train.txt", "dev": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}
_EMBEDDED = {split: f"{split}.txt" for split in SPLITS}
_SAME = {split: split for split in SPLITS}
_COUNTS = {"train": 4500, "dev": 500, "test": 4927}
_JUDGMENTS = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
_TARGETS = ("relatedness", "entailment")


class PairTask(Task):
    """Relatedness or entailment of sentence pairs (Marelli et al. 2014).

    Examples are :class:`~graphsent.pairs.TreePair` with the words or the trees of both sentences,
    their score from 1 to 5, and the entailment class. The tokenizer ``"treebank"`` gives the words
    of the trees.

    Args:
        target: What to learn, ``"relatedness"`` or ``"entailment"``.
    """

    name = "sick"
    examples = "pairs"

    def __init__(self, target: str) -> None:
        self.options = {"target": target}
        is_score = target == "relatedness"
        self.goal = "regression" if is_score else "classification"
        levels = tuple(map(str, range(_LOWEST, _HIGHEST + 1)))
        self.label_names = levels if is_score else tuple(map(str.lower, _JUDGMENTS))
        self.corpora = (
            _corpus("sick", "SICK", _FILES, _COUNTS, {**_SAME, "dev": "trial"}),
            _corpus("relatedness", "embedded synthetic relatedness corpus", _EMBEDDED, {}, _SAME),
        )

    def read(self, path: Path, parses: Sequence[Path] = ()) -> list[TreePair]:
        """The pairs of a file.

        Args:
            path: Tab-separated, with a header that names the columns.
            parses: Parses of the first and of the second sentences, in the same order. Without
                them, examples are pairs of :class:`~graphsent.sentences.Sentence`.

        Raises:
            DataError: The file is not in this format, or the parses are of other sentences.
            TreeError: A parse is malformed.
        """
        rows = _read_rows(path)
        texts = [[row[column] for row in rows] for column in _COLUMNS[:2]]
        sides: Iterable[Iterable[Any]]
        if parses:
            pairs = zip(texts, parses, strict=True)
            sides = [parses_of_texts(side, path, parses_path) for side, parses_path in pairs]
        else:
            divide = TOKENIZERS[self.tokenizer]
            sides = [[Sentence(divide(text)) for text in side] for side in texts]
        first, second = sides
        scores, judgments = ([row[column] for row in rows] for column in _COLUMNS[2:])
        columns = zip(first, second, scores, judgments, strict=True)
        return [TreePair(*pair) for pair in columns]


def sick(target: str = "relatedness") -> Task:
    """Relatedness or entailment of sentence pairs.

    Args:
        target: "relatedness", a score from 1 to 5; or "entailment": whether the first sentence
            entails the second, contradicts it, or neither.

    Raises:
        DataError: ``target`` is neither.
    """
    check_choice("target", target, _TARGETS, DataError)
    return PairTask(target)


def _corpus(
    name: str,
    title: str,
    files: Mapping[str, str],
    counts: Mapping[str, int],
    parsed_as: Mapping[str, str],
) -> Corpus:
    """A corpus whose parses are named by corpus, split (as in ``parsed_as``), side and kind."""
    parses = {
        split: [f"{name}.{split_name}.{side}" for side in "ab"]
        for split, split_name in parsed_as.items()
    }
    paths = {split: f"{name}/{file}" for split, file in files.items()}
    return Corpus(name, title, paths, counts, parse_files(parses), own_kinds=(WORDS,))


def _read_rows(path: Path) -> list[dict[str, Any]]:
    """The cells of each line by column name; scores are numbers, judgments class indices."""
    lines = read_text(path, "utf-8").removesuffix("\n").split("\n")
    header = [name.strip() for name in lines[0].split("\t")]
    for name in _COLUMNS:
        if header.count(name) != 1:
            raise DataError(f"{path}:1: expected a header with one column {name!r}, got {header}")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != len(header):
            raise DataError(f"{path}:{number}: expected {len(header)} columns, got {len(cells)}")
        row: dict[str, Any] = dict(zip(header, cells, strict=True))
        if not all(row[column] for column in _COLUMNS[:2]):
            raise DataError(f"{path}:{number}: the text is empty: expected a sentence")
        row[_COLUMNS[2]] = _score(row[_COLUMNS[2]], f"{path}:{number}")
        row[_COLUMNS[3]] = _judgment(row[_COLUMNS[3]], f"{path}:{number}")
        rows.append(row)
    return rows


def _score(text: str, where: str) -> float:
    score = decimal(text)
    if score is None:
        raise DataError(f"{where}: expected a number as the score, got {text!r}")
    if not _LOWEST <= score <= _HIGHEST:
        raise DataError(f"{where}: expected a score from {_LOWEST} to {_HIGHEST}, got {text}")
    return score


def _judgment(text: str, where: str) -> str:
    if text not in _JUDGMENTS:
        raise DataError(f"{where}: {unknown('judgment of entailment', text, _JUDGMENTS)}")
    return str(_JUDGMENTS.index(text))
