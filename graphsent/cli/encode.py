"""Encode sentences or trees as vectors."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from graphsent._files import atomic_path, this_process
from graphsent.cli.on_ray import run_on_ray
from graphsent.cli.outputs import text_stream
from graphsent.cli.request import Request, check_out, load_requested, request_of
from graphsent.cli.sources import name_of
from graphsent.cli.streams import (
    Answered,
    answered,
    reading_of,
    singles_in,
)
from graphsent.cli.tally import Tally, say
from graphsent.cli.usage import UsageError, check_counts, check_ending, counted
from graphsent.models import Model, ParseReranker

__all__ = ["run", "write"]

_COMMAND = "encode"
_SUFFIXES = (".npy", ".npz", ".jsonl")

Add = Callable[[Answered], None]


def run(arguments: Any) -> None:
    """Writes one vector per sentence or tree."""
    check_counts(arguments, "batch_size")
    request = request_of(arguments)
    if arguments.ray:
        run_on_ray(_COMMAND, "npz", request, arguments)
        return
    check_ending(arguments.out, "--out", _SUFFIXES)
    check_out(request, arguments)
    tally = write(load_requested(request, arguments, _COMMAND), request, arguments)
    if not tally.inputs:
        say(_COMMAND, f"{name_of(request.files[0])} is empty: there is nothing to encode")
    tally.close()


def write(model: Model, request: Request, arguments: Any) -> Tally:
    """Writes one vector per sentence or tree, and returns the counts."""
    if isinstance(model, ParseReranker):
        raise UsageError(f"the model {model.name!r} reranks parses and cannot encode sentences")
    tally = Tally(_COMMAND, model, strict=arguments.strict, listed=arguments.unknown)
    source = request.single(model)
    pieces = singles_in(source, reading_of(_COMMAND, model, arguments))

    def encode(sentences: list[Any]) -> np.ndarray:
        return model.encode(sentences, arguments.batch_size, show_progress_bar=False)

    with _output(arguments.out, model.num_features) as add:
        for piece in pieces:
            for each in answered(encode, piece, name_of(source), tally):
                add(each)
            sys.stdout.flush()
    return tally


@contextmanager
def _output(path: str | None, width: int) -> Iterator[Add]:
    """A function that writes a vector; an output file is replaced once all are written."""
    suffix = Path(path).suffix.lower() if path else ".jsonl"
    if path is None or suffix == ".jsonl":
        with text_stream(path) as stream:
            yield lambda each: print(json.dumps(_object(each), ensure_ascii=False), file=stream)
        return
    rows = np.full((1, width), np.nan, np.float32)
    lines: list[int] = []

    with atomic_path(path) as temporary:
        # Both names are patterns that the cleanup after a killed process recognizes.
        rows_beside = temporary.with_name(f".{Path(path).name}.{this_process()}.new")
        array = temporary if suffix == ".npy" else rows_beside
        try:
            with array.open("wb") as file:
                _write_header(file, (0, width))

                def add(each: Answered) -> None:
                    rows[0] = np.nan if each.errors else each.answer
                    file.write(rows.tobytes())
                    lines.append(each.input.line)

                yield add
                file.seek(0)
                _write_header(file, (len(lines), width))  # as long as the first: NumPy pads headers
            if suffix == ".npz":
                _write_archive(temporary, array, lines)
        finally:
            if array != temporary:
                array.unlink(missing_ok=True)
    print(f"wrote {path}: {counted(len(lines), 'vector')} of length {width}")


def _write_header(stream: BinaryIO, shape: tuple[int, int]) -> None:
    """Writes the header of a float32 array, with room for the number of rows to grow."""
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f4", "fortran_order": False, "shape": shape}
    )


def _write_archive(path: Path, vectors: Path, lines: list[int]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        archive.write(vectors, "vectors.npy")
        with archive.open("lines.npy", "w", force_zip64=True) as stream:
            np.lib.format.write_array(stream, np.array(lines, np.int64))


def _object(each: Answered) -> dict[str, Any]:
    if each.errors:
        return {"line": each.input.line, "error": "; ".join(each.errors)}
    text = " ".join(each.input.words)
    return {"text": text, "vector": [round(value, 6) for value in each.answer.tolist()]}
