"""What predict and encode are to do: their model, and the files or sentences it reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch

from graphsent._devices import find_device
from graphsent._files import recover
from graphsent.cli.own_tasks import class_asked_for
from graphsent.cli.sources import Source
from graphsent.cli.tables_in import TABLES, is_table
from graphsent.cli.tally import say
from graphsent.cli.usage import UsageError, check_target
from graphsent.models import Model
from graphsent.models.base.hub import is_on_hub
from graphsent.pretrained import PACKAGED, load

__all__ = ["Request", "check_out", "device_of", "load_requested", "request_of"]


class Request(NamedTuple):
    """The model of a command, and the files or sentences it is to read."""

    run: str | None  # None for the bundled model
    files: tuple[str, ...]
    texts: tuple[str, ...]  # sentences given as arguments

    def single(self, model: Model) -> Source:
        """The source of a model of single sentences.

        Raises:
            UsageError: There are two files.
        """
        if self.texts:
            return self.texts
        if len(self.files) != 1:
            raise UsageError(
                f"expected one file for the model {model.name!r}, got two: "
                f"{self.files[0]}, {self.files[1]}"
            )
        return self.files[0]

    def pair(self, model: Model, columns: Sequence[str] | None) -> tuple[Source, Source]:
        """The sources of the first and second sentences of a model of pairs; twice the same table.

        Args:
            model: The model.
            columns: The columns asked for, by which standard input is a table.

        Raises:
            UsageError: There are not exactly two, nor one table, or both are standard input.
        """
        files = self.files
        if not files[1:] and any(is_table(each) or (each == "-" and columns) for each in files):
            return files[0], files[0]
        if len(self.texts or files) != 2:
            raise UsageError(
                f"the model {model.name!r} reads pairs of sentences: expected two files, one of "
                "first and one of second sentences, or a table of both"
            )
        if self.texts:
            return (self.texts[0],), (self.texts[1],)
        if files[0] == files[1] == "-":
            raise UsageError("only one of the two files can be standard input")
        return files[0], files[1]


def request_of(arguments: Any) -> Request:
    """Sorts the arguments of a command into the run and the files or sentences.

    An argument that contains a space and names no file is a sentence; beside such a sentence, so is
    an argument without a space. A model is a directory, so a file in its place is an input.

    Raises:
        UsageError: There are both files and sentences, or there is no such model.
    """
    if arguments.workers is not None and not arguments.ray:
        raise UsageError("--workers needs --ray")
    if arguments.ray and device_of(arguments).type != "cpu":
        raise UsageError("--device: the workers of --ray run on CPUs")
    given = [] if arguments.run is None else [arguments.run, *arguments.inputs]
    run = given.pop(0) if given and not _is_input(given[0]) else None
    if run is not None and not is_on_hub(run):
        with suppress(OSError):
            recover(Path(run).absolute())  # a model that a killed process left renamed
        if not os.path.exists(run):
            raise UsageError(f"no such run, model or file: {run}")
    beside = any(map(_is_sentence, given))  # there are sentences; others may have one word
    texts = [each for each in given if _is_sentence(each) or (beside and not _is_input(each))]
    files = [each for each in given if each not in texts]
    if files and texts:
        raise UsageError(f"expected files or sentences, got both: {files[0]}, {texts[0]!r}")
    if not given:
        files = ["-"]
    has_table = any(each == "-" or is_table(each) for each in files)
    if arguments.text_column and not has_table and not arguments.ray:
        other = files[0] if files else "sentences"
        raise UsageError(
            f"--text-column needs a table ({', '.join(TABLES)}, or standard input), got {other}"
        )
    if len(files) > 2:
        raise UsageError(f"expected one file, or two for pairs, got {len(files)}")
    return Request(run, tuple(files), tuple(texts))


def _is_input(argument: str) -> bool:
    is_file = os.path.exists(argument) and not os.path.isdir(argument)  # or a pipe
    return argument == "-" or is_file or _is_sentence(argument)


def _is_sentence(argument: str) -> bool:
    return len(argument.split()) != 1 and not os.path.exists(argument)


def check_out(request: Request, arguments: Any) -> None:
    """Checks that ``--out`` can be written without overwriting an input.

    Raises:
        UsageError: It is a directory, or would overwrite an input or a file of the model.
    """
    run = Path(request.run or PACKAGED)
    model = run.rglob("*") if os.path.isdir(run) else ()
    check_target(arguments.out, "--out", (*request.files, *model))


def load_requested(request: Request, arguments: Any, command: str) -> Model:
    """Loads the model asked for, on the device asked for.

    Raises:
        UsageError: There is no such device.
    """
    device = device_of(arguments)
    if request.run is None:
        say(command, "no RUN given: using the bundled model of English sentiment")
    model = load(request.run, arguments.encoder, class_asked_for(arguments))
    model.engine = arguments.engine
    return model.to(device)


def device_of(arguments: Any) -> torch.device:
    """The device asked for.

    Raises:
        UsageError: There is no such device.
    """
    try:
        return find_device(arguments.device)
    except ValueError as error:
        raise UsageError(f"--device: {error}") from None
