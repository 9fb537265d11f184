"""Binary sentence classification, evaluated by cross-validation: MR, Subj and CR."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from pathlib import Path
from typing import Any

from graphsent._numbers import is_integer
from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.tasks.archives import iter_lines
from graphsent.tasks.contractions import divide
from graphsent.tasks.corpus import SPLITS, WORDS, Corpus, CorpusSource, parse_files
from graphsent.tasks.folds import fold_split
from graphsent.tasks.held_out import FileReader
from graphsent.tasks.parses import root_label, text_of
from graphsent.tasks.sentence_task import SentenceTask
from graphsent.tasks.task import Task

__all__ = ["cr", "mr", "subj"]

_NUM_FOLDS = 10  # as in the literature
_SENTIMENT = ("negative", "positive")


class CrossValidatedTask(SentenceTask):
    """One class per sentence, in a corpus without splits.

    One of ten folds is the test split, and a tenth of the others the dev split, see
    :mod:`graphsent.tasks.folds`. Contractions are split as in the Penn Treebank, so that models of
    words and of trees read the same words. Lines without words are left out.

    Args:
        name: Name of the task, of its parses, and of the directory with its files under their
            authors' names.
        title: Name of the corpus for people.
        label_names: Names of the classes.
        files: The file of each class, in this order.
        published: Number of sentences in the literature.
        fold: The fold that is the test split, from 0.
        nltk_name: Name of the corpus in NLTK's data, if it is also there.

    Raises:
        DataError: There is no such fold.
    """

    num_folds = _NUM_FOLDS
    drops_empty = True

    def __init__(
        self,
        name: str,
        title: str,
        label_names: tuple[str, ...],
        files: tuple[str, ...],
        published: int,
        fold: int,
        nltk_name: str | None = None,
    ) -> None:
        if not is_integer(fold) or fold not in range(self.num_folds):
            raise DataError(f"fold: expected 0 to {self.num_folds - 1}, got {fold!r}")
        self.name = name
        self.label_names = label_names
        self.ordered_classes = label_names == _SENTIMENT
        self.options: Mapping[str, Any] = {"fold": fold}
        places = [name]
        if nltk_name:
            corpora = "nltk_data/corpora"
            places = [f"{corpora}/{nltk_name}.zip/{nltk_name}", f"{corpora}/{nltk_name}", name]
        self.corpora = tuple(
            Corpus(
                name,
                title,
                dict.fromkeys(SPLITS, place),
                parses=parse_files({split: [name] for split in SPLITS}),
                own_kinds=(WORDS,),
                parts=files,
            )
            for place in places
        )
        self._fold = fold
        self._published = published

    def read_sentences(self, path: Path) -> Iterator[Sentence]:
        """The sentences of all classes, class by class.

        Args:
            path: The directory of their files.

        Raises:
            DataError: A file cannot be read.
        """
        found = (Sentence(divide(text), label) for _, text, label in self._texts(path))
        return (sentence for sentence in found if sentence.words)

    def remarks(self, source: CorpusSource) -> tuple[str, ...]:
        """The fold, the number of sentences, and which lines have no words."""
        empty, num_sentences = [], 0
        for place, text, _ in self._texts(source.files[SPLITS[0]]):
            if text.strip():
                num_sentences += 1
            else:
                empty.append(place)
        published = self._published
        deviation = "" if num_sentences == published else f", published: {published:,}"
        fold = f"fold {self._fold} of {self.num_folds} of {num_sentences:,} sentences{deviation}"
        if not empty:
            return (fold,)
        lines = "line without words is" if len(empty) == 1 else "lines without words are"
        return fold, f"{len(empty)} {lines} left out: {', '.join(empty)}"

    def _texts(self, directory: Path) -> list[tuple[str, str, str]]:
        """File and line number, text and class of each line."""
        # Not by NLTK's own readers: that of Subj decodes UTF-8 as Latin-1.
        return [
            (f"{name}:{number}", text, str(label))
            for label, name in enumerate(self.corpora[0].parts)
            for number, text in enumerate(iter_lines(directory / name), start=1)
        ]

    def _of_split(self, read: FileReader, corpus: Corpus, split: str) -> Iterable[Any]:
        examples = list(read())
        texts = list(map(text_of, examples))
        labels = list(map(root_label, examples))
        split_of = fold_split(texts, labels, self.num_folds, self._fold)
        return compress(examples, split_of == split)


def mr(fold: int = 0) -> Task:
    """Negative vs. positive snippets of movie reviews (Pang and Lee 2005).

    Args:
        fold: Which of the ten folds is the test split, from 0.

    Raises:
        DataError: There is no such fold.
    """
    files = ("rt-polarity.neg", "rt-polarity.pos")
    return CrossValidatedTask(
        "mr",
        "movie reviews (MR)",
        _SENTIMENT,
        files,
        10_662,
        fold,
        nltk_name="sentence_polarity",
    )


def subj(fold: int = 0) -> Task:
    """Objective sentences of plots vs. subjective ones of reviews (Pang and Lee 2004).

    Args:
        fold: Which of the ten folds is the test split, from 0.

    Raises:
        DataError: There is no such fold.
    """
    files = ("plot.tok.gt9.5000", "quote.tok.gt9.5000")
    return CrossValidatedTask(
        "subj",
        "subjectivity (Subj)",
        ("objective", "subjective"),
        files,
        10_000,
        fold,
        nltk_name="subjectivity",
    )


def cr(fold: int = 0) -> Task:
    """Negative vs. positive sentences of customer reviews (Hu and Liu 2004).

    Args:
        fold: Which of the ten folds is the test split, from 0.

    Raises:
        DataError: There is no such fold.
    """
    files = ("custrev.neg", "custrev.pos")
    # NLTK has the reviews that these sentences come from, but not the sentences.
    return CrossValidatedTask("cr", "customer reviews (CR)", _SENTIMENT, files, 3775, fold)
