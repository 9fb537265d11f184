"""The sentence pairs: format, and scores and judgments that follow from the parses."""

from collections import Counter
from fractions import Fraction

import probe
import pytest
from embedded_files import PARTS, conllu, pairs
from relatedness_oracle import event_of, expected_judgment, expected_score


@pytest.fixture(scope="module")
def parts(embedded):
    return {part: pairs(embedded, part) for part in PARTS}


def events(embedded, part):
    files = [embedded / "parses" / f"relatedness.{part}.{side}.conllu.gz" for side in "ab"]
    return zip(*([event_of(sentence) for sentence in conllu(file)] for file in files), strict=True)


@pytest.mark.parametrize("part", PARTS)
def test_scores_follow_from_the_documented_rule(embedded, parts, part):
    for row, (first, second) in zip(parts[part], events(embedded, part), strict=True):
        difference = Fraction(row[3]) - expected_score(first, second)
        assert abs(difference) <= Fraction(5, 100), row


@pytest.mark.parametrize("part", PARTS)
def test_judgments_follow_from_the_documented_rule(embedded, parts, part):
    for row, (first, second) in zip(parts[part], events(embedded, part), strict=True):
        assert row[4] == expected_judgment(first, second), row


def test_rows_are_like_those_of_sick(parts):
    numbers = [int(row[0]) for part in PARTS for row in parts[part]]
    assert numbers == list(range(1, 1451))
    for _, first, second, score, judgment in (row for part in PARTS for row in parts[part]):
        assert first != second
        assert first[0].isupper()
        assert not first.endswith(".")
        assert 1 <= float(score) <= 5
        assert len(score) == 3
        assert judgment in {"ENTAILMENT", "NEUTRAL", "CONTRADICTION"}


def test_parts_share_no_sentence_and_all_words_are_in_train(parts):
    sentences = {part: {text for row in parts[part] for text in row[1:3]} for part in PARTS}
    assert not sentences["train"] & sentences["dev"]
    assert not sentences["train"] & sentences["test"]
    assert not sentences["dev"] & sentences["test"]
    words = {part: set(" ".join(sentences[part]).split()) for part in PARTS}
    assert words["dev"] | words["test"] <= words["train"]


def test_the_same_words_in_other_roles_have_another_score(parts):
    """A dog chases a cat, a cat chases a dog: the same words, but not the same meaning."""
    bags = [
        (sorted(first.lower().split()), sorted(second.lower().split()), float(score))
        for part in PARTS
        for _, first, second, score, _ in parts[part]
    ]
    equal = [score for first, second, score in bags if first == second]
    assert min(equal) < 4
    assert max(equal) == 5
    assert probe.overlap_correlation() < 0.65


def test_all_judgments_are_frequent_and_scores_spread(parts):
    for part in PARTS:
        counts = Counter(row[4] for row in parts[part])
        assert min(counts.values()) > 0.15 * len(parts[part])
        assert {int(float(row[3])) for row in parts[part]} == {1, 2, 3, 4, 5}


def test_the_readme_states_the_counts(embedded, parts):
    readme = (embedded / "README.md").read_text(encoding="utf-8")
    for part in PARTS:
        counts = Counter(row[4] for row in parts[part])
        mean = sum(float(row[3]) for row in parts[part]) / len(parts[part])
        columns = [len(parts[part]), counts["NEUTRAL"], counts["ENTAILMENT"]]
        text = " | ".join(map(str, (part, *columns, counts["CONTRADICTION"], f"{mean:.2f}")))
        assert f"| {text} |" in readme
