"""Predicting or encoding the files of a directory with Ray Data, one file per worker at a time.

Each worker loads the model once. It writes the results of a file atomically, so that the same
command resumes after an interruption. Errors in the input go to a file beside the results, which is
written before them.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import logging
import sys
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from graphsent._files import full_path, sha256, write_json
from graphsent.cli.request import Request, load_requested
from graphsent.cli.streams import reading_of
from graphsent.cli.usage import UsageError, check_counts, counted, refuse
from graphsent.errors import DataError, FailedError, GraphsentError
from graphsent.models import ParseReranker
from graphsent.models.base.hub import is_on_hub, local_directory
from graphsent.pretrained import PACKAGED
from graphsent.training import RunDirectory

__all__ = ["run_on_ray"]

_ABOUT = ".about.json"  # hidden files have no results that could have this name
_ERRORS = ".errors"
_PICTURES = ("png", "svg")
# Options that the results depend on, besides the model.
_LASTING = ("input", "parser", "text_column", "encoding")


def run_on_ray(command: str, form: str, request: Request, arguments: Any) -> None:
    """Processes each file of a directory that has no results yet.

    Args:
        command: ``"predict"`` or ``"encode"``, whose module processes a file.
        form: Output format, the suffix of result files.
        request: The model and the directory.
        arguments: The arguments of the command.

    Raises:
        UsageError: A directory is missing, or the model does not read such files.
        DataError: There are no files, or existing results are of another model or other options.
        GraphsentError: The model or the parser cannot be loaded.
        FailedError: Ray did not start, inputs were bad, or files could not be read.
    """
    import ray  # pyright: ignore[reportMissingImports]

    files = _files(request, arguments)
    out = Path(arguments.out).resolve()
    if out == Path(request.files[0]).resolve():
        raise UsageError("--out: expected a directory other than that of the input files")
    if request.run is not None and not is_on_hub(request.run):
        # Workers of a cluster may have another working directory.
        request = request._replace(run=full_path(request.run))
    _check(load_requested(request, arguments, command), command, form, arguments)
    about = {"command": command, "format": form, "model": _digest(request.run or str(PACKAGED))}
    _check_out(out, {**about, **{name: getattr(arguments, name) for name in _LASTING}})
    rows = [{"file": full_path(each), "target": str(out / f"{each.name}.{form}")} for each in files]
    missing = [row for row in rows if not Path(row["target"]).exists()]
    if len(missing) < len(rows):
        print(f"{len(rows) - len(missing)} of {len(rows)} files already have results")
    if missing:
        is_own = not ray.is_initialized()
        if is_own:
            try:
                ray.init(log_to_driver=False, logging_level="ERROR")
            except Exception as error:  # Exception itself, too, if it takes too long
                reason = str(error).partition("\n")[0].rstrip(".")
                raise FailedError(f"Ray did not start: {reason}; --debug shows where") from error
        try:
            _map(missing, command, request, arguments)
        except ray.exceptions.RayError as error:
            reason = type(error).__name__
            raise FailedError(f"a worker of Ray failed: {reason}; --debug shows where") from error
        finally:
            if is_own:
                ray.shutdown()
    errors = [Path(row["target"] + _ERRORS) for row in rows]
    bad = [path for path in errors if path.exists() and path.stat().st_size]
    if bad:
        raise FailedError(f"{len(bad)} of {len(rows)} files have bad inputs: see {bad[0]}")


class Worker:
    """Processes files with one model; Ray Data maps it over rows that name the files.

    Args:
        command: The command whose module processes a file.
        request: The model.
        arguments: The arguments of the command.
    """

    def __init__(self, command: str, request: Request, arguments: dict[str, Any]) -> None:
        self._write = importlib.import_module(f"graphsent.cli.{command}").write
        self._request = request
        self._arguments = arguments
        self._model = load_requested(request, argparse.Namespace(**arguments), command)

    def __call__(self, row: dict[str, str]) -> dict[str, Any]:
        """Processes the file of a row; returns the counts of all and bad inputs, or an error."""
        target = Path(row["target"])
        request = self._request._replace(files=(row["file"],))
        arguments = argparse.Namespace(**{**self._arguments, "out": row["target"]})
        found = {"file": row["file"], "inputs": 0, "bad": 0, "error": "", "misused": False}
        errors = Path(f"{target}{_ERRORS}")
        try:
            # Errors are written before the results, whose presence marks the file as done.
            with (
                errors.open("w", encoding="utf-8") as said,
                redirect_stderr(said),
                redirect_stdout(io.StringIO()),
            ):
                tally = self._write(self._model, request, arguments)
            if not tally.bad:
                errors.unlink(missing_ok=True)
        except (GraphsentError, OSError, UsageError) as error:
            errors.unlink(missing_ok=True)
            return {**found, "error": str(error), "misused": isinstance(error, UsageError)}
        return {**found, "inputs": tally.inputs, "bad": tally.bad}


def _map(rows: list[dict[str, str]], command: str, request: Request, arguments: Any) -> None:
    """Has workers process the files, and prints a line after each."""
    import ray.data  # pyright: ignore[reportMissingImports]

    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    ray.data.DataContext.get_current().enable_progress_bars = False
    workers = arguments.workers or int(ray.cluster_resources().get("CPU", 1))
    # Workers receive one block, that is one file, at a time.
    done = ray.data.from_items(rows, override_num_blocks=len(rows)).map(
        Worker,
        fn_constructor_args=(command, request, vars(arguments)),
        compute=ray.data.ActorPoolStrategy(size=min(workers, len(rows))),
        num_cpus=1,
    )
    start = time.perf_counter()
    inputs, failed = 0, []
    for number, row in enumerate(done.iter_rows(), 1):
        if row["misused"]:
            raise UsageError(row["error"])
        if row["error"]:
            failed.append(row["file"])
            print(f"graphsent {command}: {row['error']}", file=sys.stderr)
            continue
        inputs += row["inputs"]
        rate = inputs / (time.perf_counter() - start)
        bad = f", {row['bad']:,} bad" if row["bad"] else ""
        print(
            f"{number}/{len(rows)} {row['file']}: {counted(row['inputs'], 'input')}{bad}; "
            f"{rate:,.0f} per second",
            flush=True,
        )
    if failed:
        raise FailedError(f"{len(failed)} of {len(rows)} files have no results: {failed[0]}")


def _check(model: Any, command: str, form: str, arguments: Any) -> None:
    """Finds mistakes before Ray starts, which every worker would report otherwise.

    Raises:
        UsageError: The model does not read such files, or the format has several files.
    """
    if isinstance(model, ParseReranker):
        raise UsageError(f"the model {model.name!r} reads n-best lists: --ray needs another model")
    if form in _PICTURES:
        raise UsageError(f"--format {form} has a file per sentence and cannot be used with --ray")
    reading_of(command, model, arguments)


def _files(request: Request, arguments: Any) -> list[Path]:
    """The files of the directory, except hidden ones."""
    of_one_file = ("strict", "unknown")
    refuse(arguments, of_one_file, "is for a single file and cannot be used with --ray")
    check_counts(arguments, "workers")
    if arguments.out is None:
        raise UsageError("--ray: --out DIRECTORY is missing")
    if len(request.files) != 1 or not Path(request.files[0]).is_dir():
        raise UsageError("--ray: expected a model and a directory of files")
    found = sorted(Path(request.files[0]).iterdir())
    files = [path for path in found if path.is_file() and not path.name.startswith(".")]
    if not files:
        raise DataError(f"{request.files[0]}: expected files, found none")
    return files


def _check_out(out: Path, about: dict[str, Any]) -> None:
    """Records in the output directory what its results are computed with.

    Raises:
        DataError: Existing results were computed with something else.
    """
    path = out / _ABOUT
    if not path.exists() or [*out.iterdir()] == [path]:  # there are no results
        write_json(path, about, indent=2)
        return
    before = None
    with suppress(OSError, ValueError):
        before = json.loads(path.read_text(encoding="utf-8"))
    if before != about:
        raise DataError(f"{out} holds results of another model, or with other options")


def _digest(run: str) -> str | None:
    """The SHA-256 of a model's configuration, which contains those of its other files."""
    directory = RunDirectory(local_directory(run))
    config = (directory.model if directory.model.is_dir() else directory.path) / "config.json"
    return sha256(config) if config.is_file() else None
