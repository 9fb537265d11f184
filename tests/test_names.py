"""Messages about unknown names."""

from __future__ import annotations

from graphsent._names import message_of, unknown


def test_a_few_names_are_all_listed():
    message = unknown("model", "treelsm", ["nbow", "treelstm"])
    expected = "unknown model 'treelsm': expected one of nbow, treelstm; did you mean 'treelstm'?"
    assert message == expected


def test_the_most_similar_of_many_names_are_listed():
    names = [f"{model}-{task}" for model in ("nbow", "dcnn", "treelstm") for task in "abcdefgh"]
    message = unknown("configuration", "treelsm-a", names)
    assert message.startswith("unknown configuration 'treelsm-a': expected one of 24, such as ")
    assert message.endswith("; did you mean 'treelstm-a'?")
    assert message.count("treelstm-") == 6
    assert "nbow" not in message


def test_messages_of_exceptions_are_one_line_and_never_empty():
    assert message_of(OSError("no\n  answer")) == "no answer"
    assert message_of(TimeoutError()) == "TimeoutError"
