"""The sequences benchmark: it compares equal computations, and prints the measurements."""

from __future__ import annotations

import importlib
import json

import pytest
from toy_treebank import write_treebank


@pytest.fixture
def main():
    return importlib.import_module("sequences").main


def test_every_contender_has_positive_times_and_a_row(main, tmp_path, capsys):
    write_treebank(tmp_path)
    files = [f"--json={tmp_path / 'rows.json'}", f"--markdown={tmp_path / 'tables.md'}"]
    main(["--quick", f"--data-dir={tmp_path}", *files])
    figures = json.loads((tmp_path / "rows.json").read_text())
    rows = {row["setting"]: row["seconds"] for row in figures["rows"]}
    assert set(rows["lstm, phrases, after 4 steps"]) == {"graphsent", "torch"}
    layers = [row for row in figures["rows"] if row["table"] == "layer"]
    assert len(layers) == 8
    assert all(set(row["seconds"]) == {"graphsent", "packed", "padded"} for row in layers)
    assert all(min(taken) > 0 for row in rows.values() for taken in row.values())
    tables = (tmp_path / "tables.md").read_text()
    assert tables in capsys.readouterr().out
    assert all(f"| {setting} |" in tables for setting in rows)


def test_a_missing_data_directory_is_an_error(main, tmp_path):
    with pytest.raises(SystemExit, match=r"^error: .*nothing"):
        main(["--quick", f"--data-dir={tmp_path / 'nothing'}"])
