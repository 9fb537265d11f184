"""The benchmark of cells of a user's own: that it prints what it has measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from toy_treebank import write_treebank

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "own_cells.py"


def test_table(tmp_path):
    write_treebank(tmp_path)
    file = tmp_path / "table.md"
    command = [sys.executable, BENCHMARK, "--quick", "--data-dir", tmp_path, "--markdown", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert file.read_text() == done.stdout
    ratios = [float(line.split("|")[-2]) for line in done.stdout.splitlines()[2:]]
    assert len(ratios) == 8
    assert all(ratio > 0 for ratio in ratios)
