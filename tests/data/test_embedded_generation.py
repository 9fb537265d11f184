"""The files are what the generator makes, and it notices when they are not."""

import generate
import pytest


@pytest.fixture(scope="module")
def made():
    return generate.make_files()


def test_the_committed_files_are_what_the_grammar_makes(embedded, made):
    assert generate.differences(embedded, made) == []


def test_files_are_written_and_checked(tmp_path, made):
    few = {name: made[name] for name in ("sentiment/dev.txt", "parses/sentiment.dev.trees.gz")}
    generate.write(tmp_path, few)
    assert generate.differences(tmp_path, few) == []
    (tmp_path / "sentiment" / "dev.txt").write_bytes(b"(2 x)\n")
    (tmp_path / "parses" / "sentiment.dev.trees.gz").unlink()
    (tmp_path / "sentiment" / "more.txt").write_bytes(b"")
    assert generate.differences(tmp_path, few) == [
        "missing: parses/sentiment.dev.trees.gz",
        "not made by the grammar: sentiment/more.txt",
        "differs: sentiment/dev.txt",
    ]


def test_compressed_files_have_no_time_and_no_name():
    header = generate.encoded("x.gz", "text")[:10]
    assert header[3] == 0  # no optional fields
    assert header[4:8] == bytes(4)


def test_the_command(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(generate, "make_files", lambda: {"sentiment/a.txt": "a\n"})
    assert generate.main(["--out", str(tmp_path)]) == 0
    assert (tmp_path / "sentiment" / "a.txt").read_bytes() == b"a\n"
    monkeypatch.setattr(generate, "HERE", tmp_path)
    assert generate.main(["--check"]) == 0
    assert "what the grammar makes" in capsys.readouterr().out
    (tmp_path / "sentiment" / "a.txt").unlink()
    assert generate.main(["--check"]) == 1
    assert "missing: sentiment/a.txt" in capsys.readouterr().out
