"""The benchmark of sequences: that it compares equals, and prints what it has measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from toy_treebank import write_treebank

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "sequences.py"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The benchmark with these arguments."""
    return subprocess.run(
        [sys.executable, BENCHMARK, *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_tables(tmp_path):
    write_treebank(tmp_path)
    files = [f"--json={tmp_path / 'rows.json'}", f"--markdown={tmp_path / 'tables.md'}"]
    done = run("--quick", f"--data-dir={tmp_path}", *files)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "rows.json").read_text())
    rows = {row["setting"]: row["seconds"] for row in figures["rows"]}
    assert set(rows["lstm, phrases, after 4 steps"]) == {"graphsent", "torch"}
    layers = [row for row in figures["rows"] if row["table"] == "layer"]
    assert len(layers) == 8
    assert all(set(row["seconds"]) == {"graphsent", "packed", "padded"} for row in layers)
    assert all(min(taken) > 0 for row in rows.values() for taken in row.values())
    tables = (tmp_path / "tables.md").read_text()
    assert tables in done.stdout
    assert all(f"| {setting} |" in tables for setting in rows)


def test_no_data(tmp_path):
    done = run("--quick", f"--data-dir={tmp_path / 'nothing'}")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "error: " in done.stderr
