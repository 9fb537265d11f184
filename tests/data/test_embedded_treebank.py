"""The sentiment treebank: format, rules, and the properties it is designed for."""

import re
from collections import Counter, defaultdict
from itertools import pairwise

import probe
import pytest
from embedded_files import PARTS, bracketed, conllu, leaves, nodes, treebank
from sentiment_oracle import OPERATORS, expected_labels


@pytest.fixture(scope="module")
def trees(embedded):
    return {part: treebank(embedded, part) for part in PARTS}


def words(tree):
    return [leaf.word for leaf in leaves(tree)]


def bag(tree):
    return tuple(sorted(word.lower() for word in words(tree)))


def test_trees_are_binary_with_labels_0_to_4(trees):
    for tree in (tree for part in PARTS for tree in trees[part]):
        assert 3 <= len(leaves(tree)) <= 30
        for node in nodes(tree):
            assert len(node.children) == (0 if node.word else 2)
            assert node.label in {"0", "1", "2", "3", "4"}


def test_sentences_look_like_sentences(trees):
    for tree in (tree for part in PARTS for tree in trees[part]):
        tokens = words(tree)
        assert tokens[0][0].isupper()
        assert tokens[-1] in {".", "!", "?"}
        assert tree.children[1].word == tokens[-1]  # final punctuation is attached at the top
        for article, following in pairwise(tokens):
            if article.lower() in {"a", "an"}:
                vowel = following[0] in "aeiou" and following != "useless"
                vowel = vowel or following == "hour"
                assert (article.lower() == "an") == vowel, tokens


@pytest.mark.parametrize("part", PARTS)
def test_labels_follow_from_the_documented_rules(embedded, trees, part):
    parses = conllu(embedded / "parses" / f"sentiment.{part}.conllu.gz")
    for tree, parse in zip(trees[part], parses, strict=True):
        tags = [word.tag for word in parse.words]
        assert expected_labels(tree, tags) == [int(node.label) for node in nodes(tree)], str(tree)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("(x (x (x good) (x (x but) (x boring))) (x .))", 1),
        ("(x (x (x boring) (x (x but) (x good))) (x .))", 3),
        ("(x (x (x (x not) (x bad)) (x (x and) (x funny))) (x .))", 3),
        ("(x (x (x bad) (x (x and) (x (x not) (x funny)))) (x .))", 1),
        ("(x (x (x it) (x (x could) (x (x have) (x (x been) (x superb))))) (x .))", 1),
        ("(x (x (x it) (x (x never) (x (x fails) (x (x to) (x (x bore) (x us)))))) (x .))", 1),
    ],
)
def test_the_oracle_knows_what_people_mean(text, label):
    tree = bracketed(text)
    values = {"good": 3, "boring": 1, "bad": 1, "funny": 3, "superb": 4, "bore": 1}
    verbs = {"could", "been", "have", "fails", "bore"}

    def labelled(node):
        children = tuple(map(labelled, node.children))
        return node._replace(label=str(values.get(node.word, 2)), children=children)

    tags = ["VB" if word in verbs else "X" for word in words(tree)]
    assert expected_labels(labelled(tree), tags)[0] == label


def test_a_phrase_has_the_same_label_everywhere(trees):
    seen = {}
    for tree in (tree for part in PARTS for tree in trees[part]):
        for node in nodes(tree):
            text = " ".join(words(node)).lower()
            assert seen.setdefault(text, node.label) == node.label, text


def test_parts_share_no_sentence_and_all_words_are_in_train(trees):
    sentences = {part: [" ".join(words(tree)).lower() for tree in trees[part]] for part in PARTS}
    everything = [sentence for part in PARTS for sentence in sentences[part]]
    assert len(set(everything)) == len(everything)
    known = {word for tree in trees["train"] for word in words(tree)}
    for part in ("dev", "test"):
        assert known.issuperset(word for tree in trees[part] for word in words(tree))


def test_no_bag_of_words_can_pass_65_percent(trees):
    labels = defaultdict(Counter)
    for tree in trees["test"]:
        labels[bag(tree)][tree.label] += 1
    best = sum(max(counts.values()) for counts in labels.values())
    assert best / len(trees["test"]) <= 0.65


def test_logistic_regression_on_words_stays_below_60_percent():
    assert 0.4 < probe.logistic_accuracy(probe.sentences, probe.unigrams) < 0.6


def test_neutral_words_and_phrases_are_neutral(trees):
    labels = defaultdict(set)
    for tree in trees["train"]:
        for node in nodes(tree):
            labels[" ".join(words(node))].add(node.label)
    for phrase in ("the", "film", "the film", "of", "on Monday", "very", "not", "my sister"):
        assert labels[phrase] == {"2"}
    assert labels["superb"] == {"4"}
    assert labels["bland"] == {"1"}


def _scopes(node, modifiers):
    """Words beside a phrase that ends in one of the modifiers, on either side of it."""
    for inner in nodes(node):
        if inner.children:
            left, right = inner.children
            if left.word.lower() in modifiers:
                yield from (word.lower() for word in words(right))


def test_held_out_combinations_are_in_dev_and_test_alone(embedded, trees):
    readme = (embedded / "README.md").read_text(encoding="utf-8")
    lists = re.findall(r"^\* \*([a-z\s]+)\* are never in the scope of", readme, re.MULTILINE)
    degrees = f"{OPERATORS['intensify']} {OPERATORS['diminish']}".split()
    negations = ["not", "n't", "never", "hardly", "no", "nobody", "rarely", "less", "without"]
    for modifiers, held_out in zip((negations, degrees), lists, strict=True):
        held_out = set(held_out.split())
        found = {
            part: {word for tree in trees[part] for word in _scopes(tree, modifiers)}
            for part in PARTS
        }
        assert not found["train"] & held_out
        assert found["dev"] & held_out
        assert len(found["test"] & held_out) > len(held_out) / 2


def test_the_readme_states_the_counts(embedded, trees):
    readme = (embedded / "README.md").read_text(encoding="utf-8")
    for part in PARTS:
        roots = Counter(tree.label for tree in trees[part])
        counts = [len(trees[part]), *(roots[label] for label in "01234")]
        counts.append(sum(len(nodes(tree)) for tree in trees[part]))
        assert f"| {part} | {' | '.join(map(str, counts))} |" in readme
        bags = defaultdict(set)
        for tree in trees[part]:
            bags[bag(tree)].add(tree.label)
        twins = sum(len(bags[bag(tree)]) > 1 for tree in trees[part])
        assert f"| {twins} |" in readme
