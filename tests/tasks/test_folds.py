"""Assigning a corpus to folds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsent.errors import DataError
from graphsent.tasks.folds import deal, fold_split

TEXTS = [f"sentence number {number} ." for number in range(307)]
LABELS = ["0" if number < 100 else "1" for number in range(307)]


def test_folds_have_equal_sizes_and_class_shares():
    folds = deal(TEXTS, LABELS, 10)
    assert set(np.bincount(folds).tolist()) == {30, 31}
    for label, count in Counter(LABELS).items():
        sizes = np.bincount(folds[np.array(LABELS) == label], minlength=10)
        assert set(sizes.tolist()) <= {count // 10, count // 10 + 1}


def test_folds_never_change():
    # Published results depend on them.
    assert deal(TEXTS, LABELS, 10)[:12].tolist() == [9, 1, 0, 5, 1, 6, 9, 3, 0, 4, 8, 6]


def test_the_order_of_the_file_does_not_matter():
    backwards = deal(TEXTS[::-1], LABELS[::-1], 10)[::-1]
    np.testing.assert_array_equal(backwards, deal(TEXTS, LABELS, 10))


@given(
    st.lists(st.tuples(st.sampled_from("aAb é?1"), st.sampled_from("01")), min_size=1),
    st.integers(2, 3),
)
def test_one_text_is_in_one_fold(examples, num_folds):
    texts, labels = zip(*examples, strict=True)
    folds = deal(texts, labels, num_folds)
    letters = ["".join(filter(str.isalnum, text.lower())) for text in texts]
    assert len(set(zip(letters, folds.tolist(), strict=True))) == len(set(letters))
    # Also if a text has several classes, the order does not matter.
    assert deal(texts[::-1], labels[::-1], num_folds).tolist() == folds[::-1].tolist()


def test_a_text_with_several_classes_is_dealt_with_the_first():
    several = deal([*TEXTS, *TEXTS[:100]], [*LABELS, *["1"] * 100], 10)
    np.testing.assert_array_equal(several[:307], deal(TEXTS, LABELS, 10))


def test_one_text_in_two_unicode_normalization_forms():
    first, second = deal(["café .", "cafe\u0301", *TEXTS], ["0", "0", *LABELS], 10)[:2]
    assert first == second


def test_every_example_is_in_test_once_and_dev_is_a_tenth_of_the_rest():
    splits = np.array([fold_split(TEXTS, LABELS, 10, fold) for fold in range(10)])
    assert ((splits == "test").sum(axis=0) == 1).all()
    for split in splits:
        counts = Counter(split.tolist())
        rest = counts["train"] + counts["dev"]
        assert abs(counts["dev"] - rest / 10) < 1
        positive = np.mean(np.array(LABELS)[split == "dev"] == "1")
        assert positive == pytest.approx(207 / 307, abs=0.03)


def test_repeated_texts_are_in_one_split():
    split = fold_split([*TEXTS, *TEXTS], [*LABELS, *LABELS], 10, 4)
    np.testing.assert_array_equal(split[:307], split[307:])


def test_one_fold_is_rejected():
    with pytest.raises(DataError, match="expected at least two folds, got 1"):
        deal(TEXTS, LABELS, 1)
