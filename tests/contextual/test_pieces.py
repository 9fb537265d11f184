"""Which subword pieces belong to which word."""

from __future__ import annotations

import pytest
import torch
from toy_encoder import LONGEST, Tokenizer

from graphsent.contextual import WordSpan
from graphsent.contextual.pieces import read_pieces

TOKENIZER = Tokenizer()


def tokenize(texts):
    found = TOKENIZER(texts, padding=False, truncation=False)
    return found["input_ids"], found["offset_mapping"]


def whole(text: str) -> WordSpan:
    words = tuple(text.split())
    return WordSpan(words, 0, len(words))


def read(*spans: WordSpan, pooling: str = "mean", longest: int = LONGEST, divide=tokenize):
    return read_pieces(spans, divide, longest=longest, pooling=pooling, padding=0)


def places(pieces) -> list[list[tuple[int, int]]]:
    """Chunk and position of the pieces of each word."""
    width = pieces.ids.shape[1]
    lists = pieces.terms.tensor_split(pieces.first[1:]) if len(pieces.first) else []
    of_words = [[divmod(term, width) for term in part.tolist()] for part in lists]
    return [of_words[word] for word in pieces.words.tolist()]


def test_words_have_the_pieces_that_begin_in_them():
    pieces = read(whole("abcde fg"))  # ab cd e fg
    assert places(pieces) == [[(0, 1), (0, 2), (0, 3)], [(0, 4)]]
    assert places(read(whole("abcde fg"), pooling="first")) == [[(0, 1)], [(0, 4)]]


def test_a_word_without_a_beginning_has_the_piece_that_reaches_into_it():
    # "do" and "n't" are "don't": do n' t; "a" and "." are "a.", one piece.
    assert places(read(whole("do n't"))) == [[(0, 1)], [(0, 2), (0, 3)]]
    assert places(read(whole("a ."))) == [[(0, 1)], [(0, 1)]]


def test_a_piece_may_have_the_space_before_its_word():
    def divide(texts):
        assert texts == ["a film"]
        return [[7, 8]], [[(0, 1), (1, 6)]]

    assert places(read(whole("a film"), divide=divide)) == [[(0, 0)], [(0, 1)]]
    assert places(read(WordSpan(("\N{NO-BREAK SPACE}",), 0, 1))) == [[]]


def test_a_word_that_has_no_pieces_has_zeros():
    def divide(texts):
        return [[7, 8]], [[(0, 1), (4, 5)]]

    pieces = read(whole("a \x01 b"), divide=divide)
    assert places(pieces) == [[(0, 0)], [], [(0, 1)]]
    pooled = pieces.pooled(torch.ones(1, 2, 3))
    assert pooled.tolist() == [[1.0] * 3, [0.0] * 3, [1.0] * 3]


def test_a_sentence_without_pieces_is_one_of_padding():
    pieces = read(whole("\x01"), divide=lambda texts: ([[]], [[]]))
    assert pieces.ids.tolist() == [[0]]
    assert pieces.mask.tolist() == [[1]]
    assert pieces.pooled(torch.ones(1, 1, 3)).tolist() == [[0.0] * 3]


def test_padding_and_the_mean():
    pieces = read(whole("abcd e"), whole("f"))
    assert pieces.ids.shape == (2, 5)
    assert pieces.mask.tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert pieces.ids[1, 3:].tolist() == [0, 0]
    hidden = torch.arange(10.0).view(2, 5, 1)
    assert pieces.pooled(hidden).flatten().tolist() == [1.5, 3.0, 6.0]
    assert pieces.pooled(hidden.bfloat16()).dtype == torch.float32
    assert all(part.is_meta for part in pieces.to("meta"))


def test_equal_sentences_are_read_once_and_phrases_are_sliced():
    sentence = ("a", "b", "c")
    pieces = read(WordSpan(sentence, 1, 3), whole("d"), WordSpan(sentence, 0, 1), whole("d"))
    assert len(pieces.ids) == 2
    assert places(pieces) == [[(0, 2)], [(0, 3)], [(1, 1)], [(0, 1)], [(1, 1)]]


@pytest.mark.parametrize("longest", [4, 5, 8])
def test_long_sentences_are_read_in_chunks(longest):
    pieces = read(whole("aa bb cc dd ee"), longest=longest)
    assert pieces.mask.sum(1).max() <= longest
    numbers = [pieces.ids[part, place] for ((part, place),) in places(pieces)]
    assert numbers == [Tokenizer.number(2 * letter) for letter in "abcde"]
    assert len(read(whole("aa bb"), longest=4).ids) == 1


def test_a_word_that_is_too_long_is_truncated():
    pieces = read(whole("abcdefgh i"), longest=3)
    assert places(pieces) == [[(0, 1), (0, 2)], [(1, 1)]]


def test_no_words():
    for spans in ((), (WordSpan((), 0, 0),)):
        pieces = read(*spans)
        assert pieces.ids.shape[0] == len(pieces.words) == 0
