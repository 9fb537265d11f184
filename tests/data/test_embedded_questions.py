"""The typed questions: format, classes, and a first word that does not reveal the class."""

from collections import Counter, defaultdict

import probe
import pytest
from embedded_files import PARTS, questions

FINE = {
    "ABBR": {"abb", "exp"},
    "DESC": {"def", "desc", "manner", "reason"},
    "ENTY": {"animal", "color", "cremat", "food", "lang", "product", "sport"},
    "HUM": {"desc", "gr", "ind", "title"},
    "LOC": {"city", "country", "mount", "other"},
    "NUM": {"count", "date", "dist", "money", "period"},
}


@pytest.fixture(scope="module")
def parts(embedded):
    return {part: questions(embedded, part) for part in PARTS}


def test_classes_are_those_of_trec_and_all_occur_in_train(parts):
    known = {f"{coarse}:{fine}" for coarse, names in FINE.items() for fine in names}
    assert {label for label, _ in parts["train"]} == known
    for part in ("dev", "test"):
        assert {label for label, _ in parts[part]} <= known
        assert {label.partition(":")[0] for label, _ in parts[part]} == FINE.keys()


def test_questions_end_in_a_question_mark_and_commands_in_a_stop(parts):
    for _, words in (row for part in PARTS for row in parts[part]):
        assert words[-1] == ("." if words[0] == "Name" else "?")
        assert words[0][0].isupper() or words[0] == "``"
        assert all(words)


def test_parts_share_no_question_and_all_words_are_in_train(parts):
    everything = [" ".join(words).lower() for part in PARTS for _, words in parts[part]]
    assert len(set(everything)) == len(everything)
    known = {word for _, words in parts["train"] for word in words}
    for part in ("dev", "test"):
        assert known.issuperset(word for _, words in parts[part] for word in words)


def test_the_first_word_is_not_enough(parts):
    classes = defaultdict(set)
    for label, words in parts["train"]:
        classes[words[0]].add(label.partition(":")[0])
    assert classes["What"] == FINE.keys()
    assert len(classes["Which"]) >= 3
    assert probe.first_word_accuracy() < 0.55


def test_the_class_follows_the_noun_that_is_asked_for(parts):
    """*What author wrote the novel* and *what novel did the author write* differ."""
    labels = {" ".join(words): label for label, words in parts["train"]}
    assert any(text.startswith("What author ") for text in labels)
    for text, label in labels.items():
        if text.startswith(("What author ", "Which author ")):
            assert label == "HUM:ind"
        if text.startswith(("What novel ", "Which novel ")):
            assert label == "ENTY:cremat"


def test_the_readme_states_the_counts(embedded, parts):
    readme = (embedded / "README.md").read_text(encoding="utf-8")
    for part in PARTS:
        coarse = Counter(label.partition(":")[0] for label, _ in parts[part])
        counts = [*(coarse[name] for name in FINE), len(parts[part])]
        assert f"| {part} | {' | '.join(map(str, counts))} |" in readme
