"""Trees are told from raw text in brackets."""

from __future__ import annotations

import pytest

from graphsent.trees.recognition import begins_as_tree, may_be_tree, may_continue


@pytest.mark.parametrize(
    "text",
    [
        "(S film)",
        "(3 film)",
        " ( NN\n film)",
        "(-LRB- film)",
        "(pos film)",
        "(very_positive film)",
        "(S (A the) (B film))",
        "((the) (film))",
        "((S (NP film) (VP ends)))",
        "((NP film) (VP ends))",
        "( (pos (pos good) (pos film)) )",
        "( (root (det the) (obj film)) )",
        "(fair_-LRB-so-so-RRB- film)",
        "(root (det the) (obj film))",
        "(root (det the))",
    ],
)
def test_trees(text):
    assert may_be_tree(text, ("pos", "very positive", "fair (so-so)"))


@pytest.mark.parametrize(
    "text",
    [
        "(not good)",
        "(Not good)",
        "(not very good)",
        "(good)",
        "(I agree)",
        "(A masterpiece)",
        "(neg film)",
        "((not good))",
        "((so good) (bad film))",
        "(很 好)",
        "()",
        "(",
        "(awful film",
        "the film",
        "the film (really)",
        ":(",
        "",
    ],
)
def test_raw_text(text):
    assert not may_be_tree(text, ("pos",))
    assert not begins_as_tree(text, ("pos",))


@pytest.mark.parametrize(
    "text", ["(S (A film)", "((the) (film)", "((NP film)", "(pos (A film)))", "(\n(A"]
)
def test_broken_trees(text):
    assert begins_as_tree(text, ("pos",))


@pytest.mark.parametrize(
    "text", ["(awful (really) film", "(3 stars", "(neg (A film)", "((not good)", "film ("]
)
def test_text_with_unmatched_brackets(text):
    assert not begins_as_tree(text, ("pos",))


@pytest.mark.parametrize(
    "line", ["(", "(S", "(s (np film)", "( (root (det the)", "((the)", "(NN film", "((pos good)"]
)
def test_first_lines_of_trees(line):
    assert may_continue(line, ("pos",))


@pytest.mark.parametrize(
    "line",
    ["(: happy film", "( laughing film", "(very\u00a0much so", "((so good)", "(so) good (film"],
)
def test_lines_of_raw_text(line):
    assert not may_continue(line, ("pos",))
