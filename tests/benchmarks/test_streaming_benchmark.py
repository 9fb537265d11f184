"""The shards benchmark: it measures both contenders, and prints the measurements."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs the benchmark with these arguments."""
    environment = {name: value for name, value in os.environ.items() if name != "GRAPHSENT_DATA"}
    return subprocess.run(
        [sys.executable, REPOSITORY / "benchmarks" / "streaming.py", *map(str, arguments)],
        env={**environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_shards_and_memory_are_timed_in_each_turn(tmp_path):
    done = run(
        f"--data-dir={REPOSITORY / 'data'}",
        "--only=nbow",
        "--turns=3",
        "--embedding-dim=4",
        f"--json={tmp_path / 'rows.json'}",
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert list(rows) == ["nbow"]
    assert set(rows["nbow"]) == {"shards", "memory"}
    assert all(len(values) == 3 and min(values) > 0 for values in rows["nbow"].values())
    assert "| nbow | " in done.stdout


def test_a_missing_data_directory_is_an_error(tmp_path):
    main = importlib.import_module("streaming").main
    with pytest.raises(SystemExit, match=r"^error: .*nothing"):
        main([f"--data-dir={tmp_path / 'nothing'}"])
