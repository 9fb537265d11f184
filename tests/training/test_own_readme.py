"""The example with your own data in the guide runs as written."""

from __future__ import annotations

import re

THINGS = ("film", "play", "book", "song", "plot", "cast", "scene", "score", "end", "idea")


def test_the_example_runs(repository, tmp_path, monkeypatch, capsys):
    text = (repository / "docs" / "guide" / "own_data.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"<!-- own data: .*? -->\n```python\n(.*?)```", text, re.DOTALL)
    assert len(code.strip().split("\n")) <= 5
    lines = [f"{label}\ta {label} {thing}\n" for thing in THINGS for label in ("good", "bad")]
    (tmp_path / "my.tsv").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    exec(compile(code.replace('"kimcnn"', '"nbow"'), "own_data.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[-1] in ("good", "bad")
