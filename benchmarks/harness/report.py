"""Writes tables and plots: a report of its own, and the marked blocks of a document.

A block of a document begins with ``<!-- benchmark: NAME -->`` and ends with
``<!-- end of benchmark -->``, each on a line; NAME is a section. Blocks of sections that were not
run stay as they are.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from graphsent._files import atomic_path

from . import plots
from .measuring import Results
from .options import SECTIONS
from .tables import section

BLOCK = r"(<!-- benchmark: {} -->\n).*?(<!-- end of benchmark -->)"


def check_document(path: Path, sections: Sequence[str]) -> None:
    """Ends the command unless the document is there and has a block for each section."""
    if not path.is_file():
        raise SystemExit(f"error: no file {path}")
    text = path.read_text(encoding="utf-8")
    missing = [name for name in sections if not _pattern(name).search(text)]
    if missing:
        raise SystemExit(
            f"error: {path} has no block for {', '.join(missing)}: expected a line "
            f"'<!-- benchmark: {missing[0]} -->' and a line '<!-- end of benchmark -->'"
        )


class Report:
    """Tables and plots of all sections that there is something to say about.

    Args:
        results: what was measured.
        directory: where plots go.
    """

    def __init__(self, results: Results, directory: Path) -> None:
        self.directory = directory
        self.tables: dict[str, str] = {}
        self.plots: dict[str, Path] = {}
        for name in SECTIONS:
            text = section(results, name)
            if not text:
                continue
            try:
                path = plots.draw(results, name, directory)
            except ImportError:
                path = None
                text += "\n\n*No plots: matplotlib is not installed.*"
            self.tables[name] = text
            if path is not None:
                self.plots[name] = path

    def write(self) -> str:
        """Writes ``propagation.md`` beside the plots; gives the text."""
        parts = [
            f"## {name}\n\n{SECTIONS[name]}\n\n{self._section(name, '')}" for name in self.tables
        ]
        text = "\n\n".join(["# Propagation", *parts]) + "\n"
        _write(self.directory / "propagation.md", text)
        return text

    def update(self, document: Path) -> None:
        """Replaces the blocks of what was measured; plots go to a directory beside the document."""
        directory = document.parent / document.stem
        text = document.read_text(encoding="utf-8")
        for name in self.tables:
            block = self._section(name, f"{document.stem}/")
            text = _pattern(name).sub(lambda match, new=block: f"{match[1]}{new}\n{match[2]}", text)
        for path in self.plots.values():
            directory.mkdir(exist_ok=True)
            shutil.copyfile(path, directory / path.name)
        _write(document, text)

    def _section(self, name: str, prefix: str) -> str:
        text = self.tables[name]
        if name in self.plots:
            text += f"\n\n![{SECTIONS[name]}]({prefix}{self.plots[name].name})"
        return text


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(BLOCK.format(re.escape(name)), re.DOTALL)


def _write(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
