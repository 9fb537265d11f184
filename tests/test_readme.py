"""Blocks of the README run as typed; commands in the documentation use existing arguments."""

from __future__ import annotations

import configparser
import importlib
import io
import re
import shlex
from pathlib import Path

import pytest

from graphsent.cli import COMMANDS, main
from graphsent.cli.usage import CommandParser

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = sorted([*REPOSITORY.glob("docs/*.md"), *REPOSITORY.glob("docs/guide/*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page: Path, language: str) -> list[str]:
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [code for name, code in found if name == language]


def commands(code: str) -> list[list[str]]:
    """The words of each line; in a pipe, of each program."""
    lines = code.replace("\\\n", " ").split("\n")
    words = [shlex.split(line, comments=True) for line in lines]
    pipes = [" ".join(map(shlex.quote, line)).split(" '|' ") for line in words if line]
    return [shlex.split(program) for pipe in pipes for program in pipe]


def run(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in commands(code):
        match words:
            case ["echo", text]:
                monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
            case ["graphsent", *arguments]:
                assert main(arguments) == 0
            case _:
                pytest.fail(f"not a command of graphsent: {words}")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """An empty working directory, with only the embedded data."""
    monkeypatch.chdir(tmp_path)
    for name in ("DATA", "PARSES"):
        monkeypatch.delenv(f"GRAPHSENT_{name}", raising=False)


def test_installation_names_existing_targets_and_extras():
    config = configparser.ConfigParser()
    config.read(REPOSITORY / "setup.cfg", encoding="utf-8")
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    make, pip, *_ = blocks(REPOSITORY / "README.md", "")
    *targets, activation = commands(make)
    for _, target in targets:
        assert f"\n{target}:" in makefile
    assert activation == [".", ".venv/bin/activate"]
    torch, package, dgl = commands(pip)
    assert torch == ["pip", "install", "torch"]
    assert package == ["pip", "install", ".[all]"]
    assert "all" in config["options.extras_require"]
    assert dgl[1] in COMMANDS


def test_the_block_that_predicts(monkeypatch, capsys):
    run(blocks(REPOSITORY / "README.md", "")[2], monkeypatch)
    assert capsys.readouterr().out.startswith("positive\t")


def test_the_block_in_python(capsys):
    (code,) = blocks(REPOSITORY / "README.md", "python")
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("very positive ")


@pytest.mark.slow
def test_the_block_that_trains(monkeypatch, capsys):
    run(blocks(REPOSITORY / "README.md", "")[3], monkeypatch)
    printed = capsys.readouterr().out
    assert "root accuracy" in printed
    assert printed.splitlines()[-1].endswith("The film is not bad")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_in_the_documentation_use_existing_arguments(page):
    for code in blocks(page, ""):
        for words in commands(code):
            name, *arguments = (
                words[words.index("graphsent") + 1 :] if "graphsent" in words else [""]
            )
            if name not in COMMANDS or any(":" in each for each in arguments):
                continue  # another program, or a custom module
            takes = importlib.import_module(f"graphsent.cli.arguments.{name.replace('-', '_')}")
            parser = CommandParser(name, takes.__doc__, arguments, getattr(takes, "COMMON", ()))
            takes.add_arguments(parser)
            parser.parse()
