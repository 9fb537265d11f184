"""Parse sentences, one per line, into a file of trees."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from graphsent._numbers import rounded
from graphsent._unpacking import format_suffix
from graphsent.cli.own_tasks import import_from_here
from graphsent.cli.sources import name_of, source_lines
from graphsent.cli.tables_in import TABLES, is_table, lines_of_table
from graphsent.cli.usage import UsageError, check_counts, check_target, counted, refuse
from graphsent.errors import DataError, FailedError, GraphsentError
from graphsent.parsing import load_parser
from graphsent.parsing.files import TextLine, partial_path, write_parses
from graphsent.tasks.own.examples import BadLine
from graphsent.tasks.own.reader import OwnFile, has_labels, read_examples
from graphsent.tasks.parses import text_of

__all__ = ["run"]


def run(arguments: Any) -> None:
    """Writes the trees."""
    _check(arguments)
    kind = "dependency" if format_suffix(arguments.out) == ".conllu" else "constituency"
    import_from_here(arguments.parser)
    parser = load_parser(arguments.parser, kind, arguments.num_threads)
    source = name_of(arguments.file)
    print(f"parser: {parser.source.parser}, {parser.source.version}", file=sys.stderr)
    start = time.perf_counter()
    with tqdm(unit=" lines", unit_scale=True, disable=not sys.stderr.isatty()) as progress:

        def report(number: int, error: GraphsentError) -> None:
            # Errors of the input itself already name their line.
            place = f"{source}:{number}"
            place = "" if str(error).startswith(place) else f"{place}: "
            with progress.external_write_mode(file=sys.stderr):
                print(f"graphsent parse: {place}{error}", file=sys.stderr)

        try:
            outcome = write_parses(
                arguments.out,
                _sentences(arguments),
                parser,
                split=arguments.split_sentences,
                batch_size=arguments.batch_size,
                overwrite=arguments.overwrite,
                on_bad=report,
                on_done=progress.update,
            )
        except KeyboardInterrupt as error:
            partial = partial_path(arguments.out)
            done = f"finished batches are in {partial}: run the same command to resume"
            done = done if partial.exists() else "no batch is finished"
            error.args = (f"interrupted; {done}",)
            raise
    seconds = rounded(time.perf_counter() - start, 1)
    before = f" ({outcome.before:,} of them before)" if outcome.before else ""
    lines = counted(outcome.lines, "line")
    done = f"parsed {lines} in {seconds} s{before}; wrote {arguments.out}"
    print(done, file=sys.stderr)  # trees may go to standard output, by --out /dev/stdout
    if outcome.bad:
        raise FailedError(f"{outcome.bad:,} of {outcome.lines:,} lines have no tree")


def _check(arguments: Any) -> None:
    for name in ("out", "parser"):
        if not getattr(arguments, name):
            raise UsageError(f"--{name} is missing")
    check_counts(arguments, "batch_size", "num_threads")
    if not is_table(arguments.file):
        why = f"needs a table ({', '.join(TABLES)}), got {arguments.file}"
        refuse(arguments, ("text_column", "label_column"), why)
    check_target(arguments.out, "--out", [arguments.file])


def _sentences(arguments: Any) -> Iterator[TextLine]:
    """The sentences of the input, with their labels if it is a table with a column of them."""
    path, texts = Path(arguments.file), (arguments.text_column,) if arguments.text_column else ()
    label, encoding = arguments.label_column, arguments.encoding
    rows = lines_of_table(arguments.file, encoding, texts, is_certain=bool(texts or label))
    if rows is None:
        return _lines(arguments)
    file = OwnFile(path, texts, label, input="text", encoding=encoding)
    if label or has_labels(file):
        return _rows(file)
    print(f"{path}: no column of labels; --label-column would name one", file=sys.stderr)
    return (TextLine(line.number, line.text, error=line.error) for line in rows)


def _rows(file: OwnFile) -> Iterator[TextLine]:
    """The rows of a table, each with a label."""
    for row in read_examples(file):
        if isinstance(row, BadLine):
            yield TextLine(row.line, "", "", DataError(row.message))
            continue
        text, *others = row.contents
        if others:
            raise DataError(
                f"{file.path}: found pairs of sentences: choose one column by --text-column"
            )
        yield TextLine(row.line, text_of(text), row.label)


def _lines(arguments: Any) -> Iterator[TextLine]:
    """The lines of the input, streamed."""
    for piece in source_lines(arguments.file, arguments.encoding):
        for line in piece:
            yield TextLine(line.number, line.text, error=line.error)
