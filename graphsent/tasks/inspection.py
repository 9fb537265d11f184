"""Statistics of the examples of a split: labels, lengths, tree shapes, repeated texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphsent.pairs import TreePair, sides
from graphsent.sentences import Sentence
from graphsent.tasks.own.splits import digest
from graphsent.tasks.parses import root_label, text_of

__all__ = ["SplitInspection", "describe_counts", "inspect_examples", "texts_in_train"]


@dataclass
class SplitInspection:
    """Statistics of one split.

    Attributes:
        examples: The number of examples.
        labels: Label (or score) -> number of examples with it.
        lengths: Number of words -> number of sentences with that many.
        depths: Depth (edges from the root to the deepest node) -> number of trees.
        arities: Number of children -> number of inner nodes with that many.
        phrases: The number of nodes of trees below the root.
        labelled_phrases: How many of these have a label.
        words: Word -> how often it occurs.
        texts: SHA-256 of the letters and digits of a text -> counts of the labels it occurs with.
    """

    examples: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    depths: Counter[int] = field(default_factory=Counter)
    arities: Counter[int] = field(default_factory=Counter)
    phrases: int = 0
    labelled_phrases: int = 0
    words: Counter[str] = field(default_factory=Counter)
    texts: dict[bytes, Counter[str]] = field(default_factory=dict)

    @property
    def repeated(self) -> int:
        """How many examples repeat an earlier text."""
        return self.examples - len(self.texts)

    @property
    def contradicted(self) -> int:
        """How many texts occur with different labels."""
        return sum(len(labels) > 1 for labels in self.texts.values())

    def shared_with(self, other: SplitInspection) -> int:
        """How many examples have a text that also occurs in another split."""
        return sum(
            sum(labels.values()) for text, labels in self.texts.items() if text in other.texts
        )

    def unknown_to(self, train: SplitInspection) -> Counter[str]:
        """The words that do not occur in train, with their counts."""
        return Counter({w: count for w, count in self.words.items() if w not in train.words})

    def to_dict(self) -> dict[str, Any]:
        """The statistics for JSON."""
        counts = {"lengths": self.lengths, "depths": self.depths, "arities": self.arities}
        of_phrases = {"phrases": self.phrases, "labelled_phrases": self.labelled_phrases}
        return {
            "examples": self.examples,
            "labels": dict(self.labels),
            **{name: describe_counts(found) for name, found in counts.items() if found},
            **(of_phrases if self.depths else {}),
            "different_words": len(self.words),
            "running_words": sum(self.words.values()),
            "repeated_texts": self.repeated,
            "texts_with_several_labels": self.contradicted,
        }


def inspect_examples(examples: Iterable[Any], label_names: Sequence[str]) -> SplitInspection:
    """Statistics of examples: sentences, trees, or pairs of these.

    Args:
        examples: Examples of a task.
        label_names: Names of the classes, by index; empty if labels are scores.
    """
    found = SplitInspection()
    for example in examples:
        is_pair = isinstance(example, TreePair)
        label = example.label if is_pair else root_label(example)
        if is_pair and not label_names:
            label = "" if example.score is None else f"{example.score:g}"
        elif label_names and label:
            label = label_names[int(label)]
        found.examples += 1
        found.labels[label] += 1
        found.texts.setdefault(_text(example), Counter())[label] += 1
        for each in sides(example):
            _add_sentence(found, each)
    return found


def texts_in_train(splits: Mapping[str, Iterable[Any]]) -> dict[str, int]:
    """How many examples of each other split have a text that also occurs in train.

    Letter case, punctuation and blanks do not matter.
    """
    texts = {
        split: Counter(map(_text, found)) for split, found in splits.items() if split != "train"
    }
    wanted = set().union(*texts.values())
    seen = wanted.intersection(map(_text, splits["train"]))
    return {
        split: sum(count for text, count in found.items() if text in seen)
        for split, found in texts.items()
    }


def describe_counts(counts: Counter[int]) -> dict[str, Any]:
    """Minimum, maximum, mean and 90th percentile of some numbers, and how often each occurs."""
    numbers = np.array(sorted(counts))
    times = np.array([counts[number] for number in numbers.tolist()])
    ninth = numbers[np.searchsorted(np.cumsum(times), 0.9 * times.sum())]
    return {
        "lowest": int(numbers[0]),
        "highest": int(numbers[-1]),
        "mean": round(float((numbers * times).sum() / times.sum()), 2),
        "nine_tenths_up_to": int(ninth),
        "counts": {str(number): counts[number] for number in numbers.tolist()},
    }


def _text(example: Any) -> bytes:
    """The SHA-256 of the letters and digits of an example."""
    return digest(list(map(text_of, sides(example))), 0)


def _add_sentence(found: SplitInspection, sentence: Any) -> None:
    found.lengths[len(sentence.words)] += 1
    found.words.update(sentence.words)
    if isinstance(sentence, Sentence):
        return
    found.depths[int(sentence.depths.max())] += 1
    children = sentence.num_children
    found.arities.update(children[children > 0].tolist())
    found.phrases += len(sentence.labels) - 1
    found.labelled_phrases += sum(map(bool, sentence.labels)) - bool(root_label(sentence))
