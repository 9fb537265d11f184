"""The custom cells benchmark: the measurements are printed."""

from __future__ import annotations

import importlib

from toy_treebank import write_treebank


def test_a_ratio_for_every_cell_and_pass_is_printed(tmp_path, capsys):
    write_treebank(tmp_path)
    file = tmp_path / "table.md"
    main = importlib.import_module("own_cells").main
    assert main(["--quick", f"--data-dir={tmp_path}", f"--markdown={file}"]) == 0
    text = capsys.readouterr().out
    assert file.read_text() == text
    ratios = [float(line.split("|")[-2]) for line in text.splitlines()[2:]]
    assert len(ratios) == 8
    assert all(ratio > 0 for ratio in ratios)
