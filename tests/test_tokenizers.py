"""Raw text is tokenized, and tokenized text is unchanged."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize import TreebankWordTokenizer

from graphsent import tokenizers
from graphsent.tokenizers import TOKENIZERS, tokenize_treebank
from graphsent.trees import read_trees


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("They support it.", "They support it ."),
        ("Wow!!! (Really?)", "Wow ! ! ! ( Really ? )"),
        ('"It\'s dull," he said; "isn\'t it?"', "`` It 's dull , '' he said ; `` is n't it ? ''"),
        ("“It’s fine…” — I can’t say", "`` It 's fine ... '' -- I ca n't say"),
        ("a 'quoted film' of the '70s", "a ` quoted film ' of the '70s"),
        ("The actors' film", "The actors ' film"),
        ("'tis'twas", "'t is 't was"),
        ("Mr. Smith, of the U.S. army", "Mr. Smith , of the U.S. army"),
        (" \t ", ""),
    ],
)
def test_punctuation_is_split_off(text, words):
    assert tokenize_treebank(text) == words.split()
    assert TOKENIZERS["treebank"] is tokenize_treebank


@pytest.mark.parametrize(
    "words",
    [
        "`` It 's dull , '' he said ; `` is n't it ? ''",
        "-LRB- not -RRB- an actor\\/director -- of the '60s ... , '' no",
        "He ca n't . ''",
    ],
)
def test_tokenized_text_is_unchanged(words):
    assert tokenize_treebank(words) == words.split()


class OfNLTK(TreebankWordTokenizer):
    """Omits the rule that turns a lone '' into an opening quote."""

    STARTING_QUOTES = (
        (re.compile(r"^\""), r"``"),
        (re.compile(r"(``)"), r" \1 "),
        (re.compile(r"([ (\[{<])\""), r"\1 `` "),
    )


PIECES = "a b can't cannot wanna gimme d'ye more'n 'tis 'twas gotta ''  ``  ' \" ` . ... -- , :"
PIECES = [*PIECES.split(" "), *"0$;()[]{}<>?!\n\té", "'S", "'ll", "N'T", "I'd", "U.S.", "3,000"]


@given(st.lists(st.sampled_from(PIECES)).map("".join) | st.text(max_size=20))
def test_the_rules_are_those_of_nltk(text):
    text = " ".join(text.split())
    plain = tokenizers._IN_SINGLE_QUOTES.sub(r" ` \1 ' ", text.translate(tokenizers._ASCII))
    assert tokenize_treebank(text) == OfNLTK().tokenize(plain)


@pytest.mark.parametrize("space", ["\n", "\t", "\u00a0", "  ", "\u3000"])
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_any_whitespace_counts_as_a_space(tokenizer, space):
    text = "They don't say it's \"good\", but 555 1234"
    tokenize = TOKENIZERS[tokenizer]
    assert tokenize(text.replace(" ", space)) == tokenize(text)


def test_only_whitespace():
    assert TOKENIZERS["whitespace"](" good,  film.\t(yes)\n") == ["good,", "film.", "(yes)"]


def test_real_tokenized_sentences_are_unchanged(data_dir):
    trees = read_trees(data_dir / "sst" / "dev.txt") + read_trees(data_dir / "sst" / "test.txt")
    sentences = [list(tree.words) for tree in trees]
    same = sum(tokenize_treebank(" ".join(words)) == words for words in sentences)
    assert same > 0.995 * len(sentences)
