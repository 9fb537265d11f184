"""Question classification: the TREC questions of Li and Roth, and the embedded questions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from graphsent._names import check_choice
from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.tasks.archives import iter_lines
from graphsent.tasks.corpus import SPLITS, WORDS, Corpus, CorpusSource, parse_files
from graphsent.tasks.sentence_task import SentenceTask
from graphsent.tasks.task import Task

__all__ = ["trec"]

_FINE = {
    "ABBR": "abb exp",
    "DESC": "def desc manner reason",
    "ENTY": "animal body color cremat currency dismed event food instru lang letter other plant "
    "product religion sport substance symbol techmeth termeq veh word",
    "HUM": "desc gr ind title",
    "LOC": "city country mount other state",
    "NUM": "code count date dist money ord other perc period speed temp volsize weight",
}
_COARSE_NAMES = tuple(_FINE)
_FINE_NAMES = tuple(f"{coarse}:{fine}" for coarse in _FINE for fine in _FINE[coarse].split())
_NEGATION = re.compile(r"(?<=\S)n\s+'t(?!\S)")  # at the end of a verb, as in don 't
_HELD_OUT = 0.1
_COUNTS = {"train": 4907, "dev": 545, "test": 500}
_REPEATED = "10 of the 500 test questions are also among the training questions"
# They are in QuestionBank, on which the parser was trained.
_SEEN = "the parser of these trees was trained on 498 of the 500 test questions"
# Places of the corpus: in NLTK's archive, unpacked by NLTK, and under its authors' file names.
# NLTK's own reader decodes train.txt, which is Latin-1, as ISO-8859-2.
_PLACES = (
    {
        "train": "nltk_data/corpora/qc.zip/qc/train.txt",
        "test": "nltk_data/corpora/qc.zip/qc/test.txt",
    },
    {"train": "nltk_data/corpora/qc/train.txt", "test": "nltk_data/corpora/qc/test.txt"},
    {"train": "trec/train_5500.label", "test": "trec/TREC_10.label"},
)


class QuestionTask(SentenceTask):
    """The kind of answer that a question asks for (Li and Roth 2002).

    Args:
        label_names: The classes, coarse or fine.
        split_seed: Seed of the dev split, which is held out of train.
        options: Options that the task was made with.
    """

    name = "trec"

    def __init__(
        self, label_names: tuple[str, ...], split_seed: int, options: Mapping[str, str | int]
    ) -> None:
        self.label_names = label_names
        self.split_seed = split_seed
        self.options = dict(options)
        self.corpora = (*map(_trec, _PLACES), _embedded())
        self._classes = {name: str(index) for index, name in enumerate(label_names)}

    def read_sentences(self, path: Path) -> Iterator[Sentence]:
        """The questions of a file: ``COARSE:fine``, a space, the tokens.

        Negated verbs are tokenized as in the Penn Treebank, which parsers expect: *don 't* becomes
        *do n't*.

        Raises:
            DataError: A line is not of this form, or its class is unknown.
        """
        for number, line in enumerate(iter_lines(path), start=1):
            label, *words = _NEGATION.sub(" n't", line).split() or [""]
            if label not in _FINE_NAMES or not words:
                raise DataError(
                    f"{path}:{number}: expected a question class such as NUM:date, a space and "
                    f"a question, got {line!r}"
                )
            name = label if label in self._classes else label.partition(":")[0]
            yield Sentence(words, self._classes[name])

    def remarks(self, source: CorpusSource) -> tuple[str, ...]:
        """Why TREC's test questions are easier than new ones; nothing for other corpora."""
        if not source.is_published:
            return ()
        return (_REPEATED, _SEEN) if source.tree_kind == "constituency" else (_REPEATED,)


def trec(classes: str = "coarse", split_seed: int = 0) -> Task:
    """Question classification.

    Args:
        classes: ``"coarse"``, six classes, or ``"fine"``, fifty.
        split_seed: Seed of the dev split, 545 of the 5452 training questions. The embedded
            questions have their own dev split.

    Raises:
        DataError: ``classes`` is neither.
    """
    names = {"coarse": _COARSE_NAMES, "fine": _FINE_NAMES}
    check_choice("classes", classes, names, DataError)
    return QuestionTask(names[classes], split_seed, {"classes": classes, "split_seed": split_seed})


def _trec(files: Mapping[str, str]) -> Corpus:
    parses = {"train": ["trec.train"], "dev": ["trec.train"], "test": ["trec.test"]}
    return Corpus(
        "trec",
        "TREC questions",
        files,
        _COUNTS,
        parse_files(parses),
        own_kinds=(WORDS,),
        held_out=_HELD_OUT,
    )


def _embedded() -> Corpus:
    name, title = "questions", "embedded synthetic questions"
    files = {split: f"{name}/{split}.txt" for split in SPLITS}
    parses = parse_files({split: [f"{name}.{split}"] for split in SPLITS})
    return Corpus(name, title, files, {}, parses, own_kinds=(WORDS,))
