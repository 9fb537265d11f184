"""Detokenization: text from words."""

from __future__ import annotations

import pytest

from graphsent.contextual.spacing import text_of_words


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("", ""),
        ("a film", "a film"),
        ("They do n't stop .", "They don't stop."),
        ("`` It 's fine , '' he said .", '"It\'s fine," he said.'),
        ("costs $ 5 -LRB- or 5 % -RRB- !", "costs $5 (or 5%)!"),
        ("an actor\\/director : the dogs ' -LSB- sic -RSB-", "an actor/director: the dogs' [sic]"),
        (". a", ". a"),
        ("-- a -- b ...", "-- a -- b..."),
        ("Ca N'T", "CaN'T"),
    ],
)
def test_text_and_places(words, text):
    found, spans = text_of_words(words.split())
    assert found == text
    assert len(spans) == len(words.split())
    ends = [0, *(end for _, end in spans)]
    for (begin, end), before in zip(spans, ends, strict=False):
        assert text[before:begin].strip() == ""
        assert text[begin:end].strip() == text[begin:end] != ""
