"""Turns the notebooks into exercises by removing the solutions.

A cell tagged ``solution`` keeps only its leading comments, which state what to write. The cell
after it checks the answer. The notebooks themselves contain the solutions.

    python notebooks/exercises.py --out exercises
    python notebooks/exercises.py 01_trees_as_graphs 05_treenet --out exercises
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import nbformat

from graphsent._names import unknown

HERE = Path(__file__).resolve().parent
TAG = "solution"
YOUR_CODE = "...  # your code"


def exercise(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy of a notebook without its solutions."""
    copy = nbformat.from_dict(notebook)
    for cell in copy.cells:
        if TAG in cell.metadata.get("tags", ()):
            lines = itertools.takewhile(lambda line: line.startswith("#"), cell.source.split("\n"))
            cell.source = "\n".join([*lines, YOUR_CODE])
            cell.metadata["tags"] = ["exercise"]
    return copy


def main() -> None:
    """Writes the exercise notebooks."""
    known = sorted(path.stem for path in HERE.glob("*.ipynb"))
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    names = f"Notebooks, all by default: {', '.join(known)}."
    parser.add_argument("names", nargs="*", metavar="NAME", help=names)
    parser.add_argument("--out", type=Path, default=Path("exercises"), help="Output directory.")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in known:
            parser.error(unknown("notebook", name, known))
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or known:
        notebook = exercise(nbformat.read(HERE / f"{name}.ipynb", as_version=4))
        nbformat.write(notebook, arguments.out / f"{name}.ipynb")
        print(f"wrote {arguments.out / name}.ipynb")


if __name__ == "__main__":
    main()
