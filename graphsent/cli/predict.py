"""Classify or score sentences or pairs; with models of trees, classify every phrase."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from graphsent.cli.arguments.predict import FORMATS
from graphsent.cli.on_ray import run_on_ray
from graphsent.cli.outputs import DRAWN, output_of
from graphsent.cli.request import Request, check_out, load_requested, request_of
from graphsent.cli.sources import STDIN, name_of
from graphsent.cli.streams import (
    Answered,
    Input,
    answered,
    pairs_in,
    reading_of,
    singles_in,
)
from graphsent.cli.tally import Tally, say
from graphsent.cli.usage import UsageError, check_counts
from graphsent.models import Model, ParseReranker, RelatednessModel, Sentence
from graphsent.tasks.own.lines import UTF8
from graphsent.trees import iter_nbest, parse_nbest
from graphsent.trees.records import lines_of

__all__ = ["run", "write"]

_COMMAND = "predict"
_JSON = ("json", "jsonl")
_TREES = ("brackets", "trees")
_OF_TEXT = ("", ".txt", ".tsv")
_OF_CLASSES = (*_TREES, *DRAWN)


def run(arguments: Any) -> None:
    """Writes a prediction per sentence, tree or pair."""
    check_counts(arguments, "batch_size")
    request = request_of(arguments)
    if arguments.ray:
        run_on_ray(_COMMAND, arguments.format or "text", request, arguments)
        return
    check_out(request, arguments)
    _format(arguments)
    model = load_requested(request, arguments, _COMMAND)
    if isinstance(model, ParseReranker):
        _rerank(model, request, _format(arguments), arguments)
        return
    tally = write(model, request, arguments)
    if not tally.inputs and not tally.uneven:
        (first, *_) = request.files
        say(_COMMAND, f"{name_of(first)} is empty: there is nothing to predict")
    tally.close(quiet=_in_full(request, arguments))


def write(model: Model, request: Request, arguments: Any) -> Tally:
    """Writes a prediction per sentence, tree or pair, and returns the counts."""
    form = _format(arguments)
    _check_format(model, form)
    tally = Tally(_COMMAND, model, strict=arguments.strict, listed=arguments.unknown)
    reading = reading_of(_COMMAND, model, arguments)
    pieces: Iterable[list[Input]]
    if isinstance(model, RelatednessModel):
        first, second = request.pair(model, arguments.text_column)
        pieces = pairs_in((first, second), reading, tally)
    else:
        first = request.single(model)
        pieces = singles_in(first, reading)
    if form in _TREES:
        pieces = _trees_alone(pieces, form)
    in_full = model if _in_full(request, arguments) else None

    def predict(inputs: list[Any]) -> Iterable[Any]:
        return model.predict(inputs, arguments.batch_size)

    with output_of(form, arguments.out, in_full) as output:
        for piece in pieces:
            for each in answered(predict, piece, name_of(first), tally):
                output.add(each)
            sys.stdout.flush()
    return tally


def _in_full(request: Request, arguments: Any) -> bool:
    """Whether to print several lines per input: for sentences given as arguments."""
    return bool(request.texts) and _format(arguments) == "text"


def _format(arguments: Any) -> str:
    """The format asked for, or that of the output file's suffix."""
    suffix = Path(arguments.out or "").suffix.lower()
    form = "text" if suffix in _OF_TEXT else suffix.removeprefix(".")
    if arguments.format is None and form not in FORMATS:
        endings = ", ".join((".txt", *(f".{each}" for each in FORMATS if each != "text")))
        raise UsageError(
            f"--out {arguments.out}: expected a file name ending in {endings}, or --format"
        )
    return arguments.format or form


def _check_format(model: Any, form: str) -> None:
    if form not in _OF_CLASSES:
        return
    if isinstance(model, RelatednessModel):
        raise UsageError(f"--format {form} is for classes of nodes: pairs need text or json")
    if model.goal == "regression":
        raise UsageError(f"--format {form} is for classes of nodes: scores need text or json")


def _trees_alone(pieces: Iterable[list[Input]], form: str) -> Iterator[list[Input]]:
    for piece in pieces:
        if any(isinstance(each.value, Sentence) for each in piece):
            raise UsageError(
                f"--format {form} is for trees: sentences without trees need text or json"
            )
        yield piece


def _rerank(model: ParseReranker, request: Request, form: str, arguments: Any) -> None:
    """Writes the chosen tree of each n-best list."""
    if request.texts or len(request.files) != 1 or arguments.parser is not None:
        raise UsageError(
            f"the model {model.name!r} reads n-best lists: expected one file and no --parser"
        )
    if form in DRAWN:
        raise UsageError(f"--format {form} is for classes of nodes: n-best lists need text or json")
    for name in ("unknown", "input", "encoding"):
        if getattr(arguments, name) not in (None, False, "auto", UTF8):
            raise UsageError(f"--{name} is for sentences and trees: {model.name!r} reads lists")
    (file,) = request.files
    lists = parse_nbest(_numbered_lines(), STDIN) if file == "-" else iter_nbest(file)
    count = 0
    with output_of(form if form in _JSON else "text", arguments.out) as output:
        while piece := list(itertools.islice(lists, arguments.batch_size)):
            for ranked in model.predict(piece, arguments.batch_size):
                output.add(Answered(Input(0, ranked.parses), ranked))
            count += len(piece)
            sys.stdout.flush()
    if not count:
        say(_COMMAND, f"{name_of(file)} is empty: there is nothing to predict")


def _numbered_lines() -> Iterator[tuple[int, str]]:
    """The lines of standard input; raises a TreeError where they are not UTF-8."""
    stream: Any = sys.stdin.buffer  # typed without read1
    for lines in lines_of(stream, STDIN):
        for line in lines:
            if line.error is not None:
                raise line.error
            yield line.number, line.text
