"""Sentiment of tweets: Sentiment140."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.tasks.archives import iter_lines
from graphsent.tasks.corpus import SPLITS, WORDS, Corpus
from graphsent.tasks.sentence_task import SentenceTask
from graphsent.tasks.sst import sst2
from graphsent.tasks.task import Task
from graphsent.tokenizers import tokenize_tweet

__all__ = ["twitter"]

_TEST = "twitter/testdata.manual.2009.06.14.csv"
_HELD_OUT = 0.1
_NUM_COLUMNS = 6
# Polarity -> class; neutral tweets, which only test has, are left out.
_CLASSES = {"0": "0", "2": None, "4": "1"}

_EMBEDDED = Corpus(
    "sentiment",
    "embedded synthetic sentiment treebank",
    {split: f"sentiment/{split}.txt" for split in SPLITS},
    own_kinds=(WORDS,),
)


class TweetTask(SentenceTask):
    """Negative vs. positive tweets (Go, Bhayani and Huang 2009).

    Training tweets were labelled by their emoticons, test tweets by hand. No tweets are embedded:
    without Sentiment140, the embedded treebank is read.

    Args:
        split_seed: Seed of the dev split, which is held out of train.
    """

    name = "twitter"
    tokenizer = "tweet"
    label_names = ("negative", "positive")
    ordered_classes = True

    def __init__(self, split_seed: int) -> None:
        self.split_seed = split_seed
        self.options: Mapping[str, int] = {"split_seed": split_seed}
        self.corpora = (
            _corpus("Sentiment140", 1_600_000),
            _corpus("Sentiment140, a sample of 20,000 tweets", 20_000),
            _EMBEDDED,
        )

    def read_sentences(self, path: Path) -> Iterator[Sentence]:
        """The tweets of a file: polarity, id, date, query, user and text, all in quotes.

        The embedded treebank stands in for tweets: its sentences are lowercased, and neutral ones
        left out.

        Raises:
            DataError: A row is not of this form.
            TreeError: A tree of the treebank is malformed.
        """
        if path.suffix == ".txt":
            for tree in sst2().iter_examples(path):
                if tree.labels[0]:
                    yield Sentence([word.lower() for word in tree.words], tree.labels[0])
            return
        rows = csv.reader(f"{line}\n" for line in iter_lines(path))
        try:
            for row in rows:
                if len(row) != _NUM_COLUMNS or row[0] not in _CLASSES:
                    raise DataError(
                        f"{path}:{rows.line_num}: expected {_NUM_COLUMNS} columns, the first of "
                        f"them 0, 2 or 4, got {','.join(row)[:80]!r}"
                    )
                label = _CLASSES[row[0]]
                if label is not None:
                    yield Sentence(tokenize_tweet(row[-1]), label)
        except csv.Error as error:
            message = f"{path}:{rows.line_num}: {error}: is a quote never closed?"
            raise DataError(message) from None


def twitter(split_seed: int = 0) -> Task:
    """Negative vs. positive tweets.

    Args:
        split_seed: Seed of the dev split, a tenth of the training tweets.
    """
    return TweetTask(split_seed)


def _corpus(title: str, num_train: int) -> Corpus:
    dev = round(_HELD_OUT * num_train)
    return Corpus(
        "twitter",
        title,
        {
            "train": f"twitter/training.{num_train}.processed.noemoticon.csv",
            "test": _TEST,
        },
        {"train": num_train - dev, "dev": dev, "test": 359},
        own_kinds=(WORDS,),
        held_out=_HELD_OUT,
    )
