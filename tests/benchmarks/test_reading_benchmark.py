"""The reading benchmark: the measurements are printed and written."""

from __future__ import annotations

import importlib
import json

import pytest
from toy_treebank import write_treebank


@pytest.fixture
def main():
    return importlib.import_module("reading").main


def test_every_way_has_a_row(main, tmp_path, capsys):
    write_treebank(tmp_path)
    file = tmp_path / "new" / "seconds.json"
    main([f"--data-dir={tmp_path}", "--rounds=2", f"--json={file}"])
    seconds = json.loads(file.read_text())["seconds"]
    assert {"read the file", "sibling, batch 25", "one graph per tree, batch 256"} < set(seconds)
    assert all(len(taken) == 2 and min(taken) > 0 for taken in seconds.values())
    printed = capsys.readouterr().out
    assert all(f"| {name} |" in printed for name in seconds)


def test_a_missing_data_directory_is_an_error(main, tmp_path):
    with pytest.raises(SystemExit, match=r"^error: .*nothing"):
        main([f"--data-dir={tmp_path / 'nothing'}"])
