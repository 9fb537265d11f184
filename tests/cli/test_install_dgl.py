"""The command that installs DGL, with pip and wheel replaced by recorders of their calls."""

from __future__ import annotations

import hashlib
import importlib.metadata
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphsent.cli import main


@pytest.fixture
def asked(monkeypatch):
    """The recorded calls, without DGL installed; pip downloads an empty wheel."""
    commands: list[list[str]] = []

    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    def run(command: list[str], *, check: bool) -> SimpleNamespace:
        assert command[:2] == [sys.executable, "-m"]
        commands.append(command[2:])
        if command[2:4] == ["pip", "download"]:
            (Path(command[-1]) / "dgl-2.1.0-cp312-cp312-any.whl").touch()
            commands[-1].append(Path(command[command.index("-r") + 1]).read_text())
        return SimpleNamespace(returncode=int(command[3] == fails))

    fails = ""

    def failing(subcommand: str) -> None:
        nonlocal fails
        fails = subcommand

    monkeypatch.setattr(importlib.metadata, "version", absent)
    monkeypatch.setattr(subprocess, "run", run)
    return SimpleNamespace(commands=commands, failing=failing)


def python(monkeypatch, minor: int, platform: str = "linux") -> None:
    monkeypatch.setattr(sys, "version_info", (3, minor, 0, "final", 0))
    monkeypatch.setattr(sys, "platform", platform)


@pytest.mark.parametrize("minor", [10, 11, 12])
def test_pip_installs_an_available_wheel(asked, capsys, monkeypatch, minor):
    python(monkeypatch, minor)
    assert main(["install-dgl"]) == 0
    assert asked.commands == [
        ["pip", "install", "--no-deps", "--only-binary=:all:", "dgl==2.1.0"],
    ]
    assert capsys.readouterr().out == "DGL 2.1.0 is installed; pip uninstall dgl removes it\n"


@pytest.mark.parametrize(
    ("platform", "version"), [("linux", "2.1.0"), ("darwin", "2.2.0"), ("win32", "2.2.1")]
)
def test_otherwise_the_wheel_for_3_12_is_checked_and_retagged(
    asked, monkeypatch, platform, version
):
    python(monkeypatch, 13, platform)
    assert main(["install-dgl"]) == 0
    download, tags, install = asked.commands
    assert download[:4] == ["pip", "download", "--python-version", "3.12"]
    assert "--require-hashes" in download
    name, *hashes = download[-1].split()
    assert name == f"dgl=={version}"
    length = len(hashlib.sha256().hexdigest())
    assert hashes
    assert all(len(each.removeprefix("--hash=sha256:")) == length for each in hashes)
    assert tags[:2] == ["wheel", "tags"]
    assert {"--python-tag=py3", "--abi-tag=none"} < set(tags)
    assert install[:4] == ["pip", "install", "--no-deps", "--no-index"]
    assert install[-1] == f"dgl=={version}"


@pytest.mark.parametrize(("subcommand", "module"), [("download", "pip"), ("tags", "wheel")])
def test_failures_are_named(asked, capsys, monkeypatch, subcommand, module):
    python(monkeypatch, 14)
    asked.failing(subcommand)
    assert main(["install-dgl"]) == 1
    message = f"graphsent install-dgl: DGL is not installed: {module} {subcommand} failed"
    assert capsys.readouterr().err.startswith(message)


def test_platforms_without_wheels_are_named(asked, capsys, monkeypatch):
    python(monkeypatch, 13, "freebsd14")
    assert main(["install-dgl"]) == 1
    assert "DGL has no wheels for freebsd14" in capsys.readouterr().err
    assert asked.commands == []


def test_without_pip_it_says_how_to_get_it(asked, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["install-dgl"]) == 1
    assert "python -m ensurepip" in capsys.readouterr().err


def test_an_installed_dgl_is_left_alone(capsys, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "2.2.1")
    assert main(["install-dgl"]) == 0
    assert capsys.readouterr().out == "DGL 2.2.1 is already installed\n"
