"""Writes tables: to a report, and to the marked blocks of documents.

A block of a document begins with ``<!-- benchmark: NAME -->`` and ends with
``<!-- end of benchmark -->``, each on its own line; NAME is a section, or ``speed`` for the first
table of ``training``. Blocks of sections that were not run are unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from graphsent._files import write_atomically

from . import tables
from .measuring import Results, Row
from .options import SECTIONS

BLOCK = r"(<!-- benchmark: {} -->\n).*?(<!-- end of benchmark -->)"


def check_documents(paths: Sequence[Path], sections: Sequence[str]) -> None:
    """Exits unless the documents exist and have a block for each section."""
    for path in paths:
        if not path.is_file():
            raise SystemExit(f"error: no file {path}")
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    missing = [name for name in sections if not _pattern(name).search(text)]
    if missing:
        names = " or ".join(map(str, paths))
        raise SystemExit(
            f"error: {names} has no block for {', '.join(missing)}: expected a line "
            f"'<!-- benchmark: {missing[0]} -->' and a line '<!-- end of benchmark -->'"
        )


def report(results: Results, directory: Path, documents: Sequence[Path]) -> str:
    """Writes ``propagation.md`` and replaces blocks of documents; returns the report."""
    blocks = {name: _block(results, name, getattr(tables, name)) for name in SECTIONS}
    parts = [f"## {name}\n\n{SECTIONS[name]}\n\n{text}" for name, text in blocks.items() if text]
    text = "\n\n".join(["# Speed", *parts]) + "\n"
    write_atomically(directory / "propagation.md", text)
    blocks["speed"] = _block(results, "training", tables.speed)
    for document in documents:
        page = document.read_text(encoding="utf-8")
        for name, block in blocks.items():
            if block:
                page = _pattern(name).sub(lambda m, new=block: f"{m[1]}{new}\n{m[2]}", page)
        write_atomically(document, page)
    return text


def _block(results: Results, name: str, table: Callable[[Sequence[Row]], str]) -> str:
    """A table with notes and machine description; empty if the section was not run."""
    rows = [row for row in results.rows if row.section == name]
    notes = [f"*{note}*" for note in results.notes.get(name, [])]
    parts = [part for part in (table(rows) if rows else "", *notes) if part]
    return "\n\n".join([*parts, _caption(results, name)]) if parts else ""


def _caption(results: Results, name: str) -> str:
    """Where and how it was measured, in one line."""
    machine, options = results.machine, results.options
    packages, threads = machine["packages"], options["threads"]
    if name == "training":
        vectors = " and ".join(options["vectors"]) or "random vectors"
        what = f"after {options['steps']} steps, {vectors}"
    else:
        what = f"{options['in_feats']} / {options['hidden_feats']}"
    return (
        f"<sub>{machine['processor']}, {machine['instructions']}, "
        f"{_counted(machine['cores'], 'core')}, {machine['memory_gib']} GiB, "
        f"load {machine['load_before']} at the start, "
        f"{'with' if machine['kernels'] else 'without'} compiled kernels; "
        f"Python {machine['python']}, torch {packages['torch']}, DGL {packages['dgl']}; "
        f"{options['corpus']}, {what}, float32, {_counted(threads, 'thread')}, "
        f"{options['clock']} clock, up to {options['rounds']} rounds</sub>"
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(BLOCK.format(re.escape(name)), re.DOTALL)
