"""Streams of model inputs and of errors in them, for predict and encode."""

from __future__ import annotations

import json
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from graphsent.cli.own_tasks import import_from_here
from graphsent.cli.sources import Source, name_of
from graphsent.cli.tally import Tally, say
from graphsent.cli.trees_in import Given, Reading, ReadTexts, given_in, sides_in
from graphsent.cli.usage import UsageError
from graphsent.errors import GraphsentError, GraphsentWarning
from graphsent.models import Sentence
from graphsent.trees import TreeError
from graphsent.trees.errors import TextOutsideTree

__all__ = [
    "Answered",
    "Input",
    "answered",
    "pairs_in",
    "reading_of",
    "singles_in",
]

_AT_ONCE = 1024  # inputs whose results are in memory at once


class Input(NamedTuple):
    """A tree, sentence or pair and the line where it begins; or the errors in its place."""

    line: int
    value: Any
    errors: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[Any, ...]:
        """The sentence or tree, or both of a pair."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    @property
    def words(self) -> list[str]:
        """All of its words."""
        return [word for each in self.sentences for word in each.words]


class Answered(NamedTuple):
    """An input with the model's answer, or with errors."""

    input: Input
    answer: Any
    errors: tuple[str, ...] = ()


def reading_of(command: str, model: Any, arguments: Any) -> Reading:
    """How the model reads the inputs of a command."""
    return Reading(
        _reader_of_texts(command, model, arguments),
        model.node_labels,
        arguments.input,
        arguments.text_column or (),
        arguments.encoding,
    )


def _reader_of_texts(command: str, model: Any, arguments: Any) -> ReadTexts | None:
    """The function by which the model reads raw text; None if it reads only trees."""
    if model.tree_kind == "words" and not (arguments.parser or model.reads_text):
        return _noting_tables(
            command, lambda texts: [Sentence(model.tokenize(text)) for text in texts]
        )
    if arguments.parser:
        import_from_here(arguments.parser)
        with _saying_warnings(command):
            model.parser = arguments.parser
    if model.reads_text:
        return _noting_tables(command, lambda texts: _parsed(command, model, texts))
    if arguments.input == "text":
        raise UsageError(
            f"--input text: the model {model.name!r} reads trees and needs --parser NAME"
        )
    return None


def _noting_tables(command: str, read: ReadTexts) -> ReadTexts:
    """Warns once if texts look like rows of a table, which would be read as words.

    That is, about the first text if it is a JSON object, and about a tab.
    """
    is_first, noted = True, False

    def noting(texts: list[str]) -> Sequence[Any]:
        nonlocal is_first, noted
        if is_first and _is_object(texts[0]):
            say(
                command,
                "a JSON object is read as words of a sentence: name the column of a table on "
                f"standard input by --text-column, or the file *.jsonl: {texts[0][:60]!r}",
            )
        is_first = False
        tabbed = next((text for text in texts if "\t" in text), None)
        if tabbed is not None and not noted:
            noted = True
            say(
                command,
                "a tab is read as a space, and a label before it as words of the sentence, unless "
                f"the file is named *.tsv: {tabbed[:60]!r}",
            )
        return read(texts)

    return noting


def _is_object(text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _parsed(command: str, model: Any, texts: list[str]) -> list[Any]:
    """The trees of texts, by a parser that is loaded on first use."""
    with _saying_warnings(command):
        return model.parse(texts)


@contextmanager
def _saying_warnings(command: str) -> Iterator[None]:
    """Prints the warnings of the package, one line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GraphsentWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, GraphsentWarning):
            say(command, str(warning.message))


def singles_in(source: Source, reading: Reading) -> Iterator[list[Input]]:
    """Streams single inputs of a model, in pieces, see :func:`given_in`."""
    for piece in given_in(source, reading):
        yield [Input(each.line, each.content, _errors(source, each, reading)) for each in piece]


def pairs_in(
    sources: tuple[Source, Source], reading: Reading, tally: Tally
) -> Iterator[list[Input]]:
    """Streams pairs from two files in step, so that neither is read far ahead of the other.

    Two files that are the same table are one table of pairs.
    """
    first, second = sources
    if isinstance(first, str) and first == second:
        pieces = sides_in(first, reading)
    else:
        pieces = [given_in(source, reading, one_each=True) for source in sources]
    waiting: list[deque[Given]] = [deque(), deque()]
    counts = [0, 0]
    ended = False
    while not ended:
        side = int(len(waiting[1]) < len(waiting[0]))
        piece = next(pieces[side], None)
        ended = piece is None
        waiting[side].extend(piece or ())
        counts[side] += len(piece or ())
        both = min(map(len, waiting))
        yield [
            Input(
                pair[0].line,
                tuple(each.content for each in pair),
                _errors_of_both(sources, pair, reading),
            )
            for pair in ((waiting[0].popleft(), waiting[1].popleft()) for _ in range(both))
        ]
    for side in (0, 1):
        counts[side] += sum(map(len, pieces[side]))
    if counts[0] != counts[1]:
        first, second = map(name_of, sources)
        tally.uneven = (
            f"{first} has {counts[0]} inputs and {second} {counts[1]}: expected equal numbers"
        )


def _errors_of_both(
    paths: Sequence[Source], pair: Sequence[Given], reading: Reading
) -> tuple[str, ...]:
    both = zip(paths, pair, strict=True)
    found = (error for path, each in both for error in _errors(path, each, reading))
    return tuple(dict.fromkeys(found))  # a row of a table is bad on both sides


def _errors(path: Source, given: Given, reading: Reading) -> tuple[str, ...]:
    """The error of an input, with its place; none if it is valid."""
    error = given.content
    if not isinstance(error, GraphsentError):
        return ()
    named = isinstance(error, TreeError) and error.source is not None
    message = str(error) if named else f"{name_of(path)}:{given.line}: {error}"
    if isinstance(error, TextOutsideTree) and error.column == 1:
        if reading.read_texts is None:
            message += "; this model reads parse trees: raw text needs --parser"
        else:
            message += "; this model reads raw text without --input trees"
    return (message,)


def answered(
    compute: Callable[[list[Any]], Iterable[Any]],
    piece: list[Input],
    name: str,
    tally: Tally,
) -> Iterator[Answered]:
    """The answer to each input, in order; bad inputs are reported and have errors instead.

    Args:
        compute: Returns one answer per valid input of a list.
        piece: The inputs.
        name: The name of their file, for errors.
        tally: Counts the inputs.
    """
    for begin in range(0, len(piece), _AT_ONCE):
        inputs = piece[begin : begin + _AT_ONCE]
        answers = iter(_answers(compute, [each.value for each in inputs if not each.errors]))
        for each in inputs:
            answer, errors = (None, each.errors) if each.errors else (next(answers), ())
            if isinstance(answer, GraphsentError):  # valid, but not for this model
                errors = (f"{name}:{each.line}: {answer}",)
            if errors:
                tally.add_bad(errors)
            else:
                tally.add(each.words)
                tally.note_kind(f"{name}:{each.line}", each.sentences)
            yield Answered(each, None if errors else answer, errors)


def _answers(predict: Callable[[list[Any]], Iterable[Any]], inputs: list[Any]) -> list[Any]:
    """A prediction per input, or the error that the model raises for it."""
    try:
        return list(predict(inputs))
    except GraphsentError as error:
        if len(inputs) == 1:
            return [error]
    half = len(inputs) // 2
    return [*_answers(predict, inputs[:half]), *_answers(predict, inputs[half:])]
