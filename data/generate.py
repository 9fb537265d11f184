"""Makes the synthetic corpora of this directory; README.md describes them.

``python data/generate.py --out DIR`` writes the files below DIR (``--out data`` renews the
committed ones), ``python data/generate.py --check`` compares the committed files with what the
grammar makes, byte for byte (compressed ones after decompression). Python 3.10 or later,
standard library only.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

from grammar.corpora import make_files

HERE = Path(__file__).resolve().parent
FOLDERS = ("sentiment", "questions", "relatedness", "parses")


def encoded(name: str, content: str) -> bytes:
    """The bytes of a file; compressed ones carry neither a time nor a file name."""
    if not name.endswith(".gz"):
        return content.encode()
    buffer = BytesIO()
    # gzip.compress would write a header that depends on the Python version.
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as file:
        file.write(content.encode())
    return buffer.getvalue()


def decoded(path: Path) -> bytes:
    """The uncompressed bytes of a file (compressed ones depend on the version of zlib)."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Writes files below ``folder``, with line feeds on every system."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(name, content))


def differences(folder: Path, files: Mapping[str, str]) -> list[str]:
    """What is missing, superfluous or different below ``folder``."""
    present = {
        path.relative_to(folder).as_posix()
        for name in FOLDERS
        for path in (folder / name).rglob("*")
        if path.is_file()
    }
    problems = [f"missing: {name}" for name in files if name not in present]
    problems += [f"not made by the grammar: {name}" for name in sorted(present - files.keys())]
    problems += [
        f"differs: {name}"
        for name, content in files.items()
        if name in present and decoded(folder / name) != content.encode()
    ]
    return problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; 0 if all is well, 1 if ``--check`` finds a difference."""
    parser = argparse.ArgumentParser(description="Make the synthetic corpora, or check them.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--out", type=Path, metavar="DIR", help="write the files below DIR")
    action.add_argument("--check", action="store_true", help="compare the committed files")
    options = parser.parse_args(arguments)
    files = make_files()
    if options.out:
        write(options.out, files)
        return 0
    problems = differences(HERE, files)
    print("\n".join(problems) or "The files are what the grammar makes.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
