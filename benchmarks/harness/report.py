"""Writes tables: a report of its own, and the marked blocks of documents.

A block of a document begins with ``<!-- benchmark: NAME -->`` and ends with
``<!-- end of benchmark -->``, each on a line; NAME is a section, or ``speed`` for the first table
of ``training``. Blocks of sections that were not run stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from graphsent._files import atomic_path

from . import tables, training_tables
from .measuring import Results, Row
from .options import SECTIONS

TABLES: dict[str, Callable[[Sequence[Row]], str]] = {
    "training": training_tables.training,
    **{name: getattr(tables, name) for name in SECTIONS if name != "training"},
}
BLOCK = r"(<!-- benchmark: {} -->\n).*?(<!-- end of benchmark -->)"


def check_documents(paths: Sequence[Path], sections: Sequence[str]) -> None:
    """Ends the command unless the documents are there and one has a block for each section."""
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


class Report:
    """Tables of all sections that there is something to say about.

    Args:
        results: what was measured.
        directory: where the report goes.
    """

    def __init__(self, results: Results, directory: Path) -> None:
        self.directory = directory
        tables = {name: _with_notes(results, name, TABLES[name]) for name in SECTIONS}
        self.tables = {name: text for name, text in tables.items() if text}
        self.speed = _with_notes(results, "training", training_tables.speed)

    def write(self) -> str:
        """Writes ``propagation.md``; gives the text."""
        parts = [f"## {name}\n\n{SECTIONS[name]}\n\n{text}" for name, text in self.tables.items()]
        text = "\n\n".join(["# Speed", *parts]) + "\n"
        _write(self.directory / "propagation.md", text)
        return text

    def update(self, document: Path) -> None:
        """Replaces the blocks of what was measured."""
        text = document.read_text(encoding="utf-8")
        for name, block in {**self.tables, "speed": self.speed}.items():
            if block:
                text = _pattern(name).sub(lambda m, new=block: f"{m[1]}{new}\n{m[2]}", text)
        _write(document, text)


def _with_notes(results: Results, name: str, table: Callable[[Sequence[Row]], str]) -> str:
    """A table with notes and the machine; empty if nothing is known of a section."""
    rows, notes = results.of(name), results.notes.get(name, [])
    parts = [table(rows)] if rows else []
    parts += [f"*{note}*" for note in notes]
    parts = [part for part in parts if part]
    return "\n\n".join([*parts, _caption(results, name)]) if parts else ""


def _caption(results: Results, name: str) -> str:
    """Where and how it was measured, in a line."""
    machine, options = results.machine, results.options
    packages, threads = machine["packages"], options["threads"]
    if name == "training":
        vectors = " and ".join(options["vectors"]) or "random vectors"
        what = f"after {options['steps']} steps, {vectors}"
    else:
        what = f"{options['in_feats']} / {options['hidden_feats']}"
    return (
        f"<sub>{machine['processor']}, {machine['instructions']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, load {machine['load_before']} before, "
        f"{'with' if machine['kernels'] else 'without'} compiled kernels; "
        f"Python {machine['python']}, torch {packages['torch']}, DGL {packages['dgl']}; "
        f"{options['corpus']}, {what}, float32, {threads} thread{'s' if threads > 1 else ''}, "
        f"{options['clock']} clock, up to {options['rounds']} rounds</sub>"
    )


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(BLOCK.format(re.escape(name)), re.DOTALL)


def _write(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
