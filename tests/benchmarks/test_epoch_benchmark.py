"""The epoch benchmark: it names all parts, and they add up."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from toy_treebank import write_treebank

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "epoch.py"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs the benchmark with these arguments."""
    return subprocess.run(
        [sys.executable, BENCHMARK, *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_shares_of_all_parts_add_up_to_the_epoch(tmp_path):
    write_treebank(tmp_path)
    done = run(f"--data-dir={tmp_path}", f"--json={tmp_path / 'shares.json'}")
    assert done.returncode == 0, done.stderr
    seconds = json.loads((tmp_path / "shares.json").read_text())
    assert set(seconds) > {"graphs and schedules", "look-up of words", "forward", "backward"}
    assert all(value > 0 for value in seconds.values())
    total = next(line for line in done.stdout.splitlines() if line.startswith("epoch:"))
    assert f"{sum(seconds.values()):.2f} s, batches of 25, shuffled" in total
    assert "epoch 2/2" in done.stdout


def test_missing_vectors_are_reported_without_a_traceback(tmp_path, monkeypatch):
    write_treebank(tmp_path)
    missing = tmp_path / "nothing.txt"
    arguments = ["epoch.py", f"--data-dir={tmp_path}", "--vectors", str(missing)]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit, match=f"^error: {missing}: "):
        importlib.import_module("epoch").main()
