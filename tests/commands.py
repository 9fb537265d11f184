"""Runs commands of graphsent within the process of a test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from graphsent.cli import main


def status_of(arguments: Iterable[Any]) -> Any:
    """The exit status, whether ``main`` returns it or exits with it, as for wrong arguments."""
    try:
        return main(list(map(str, arguments)))
    except SystemExit as stopped:
        return stopped.code


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[Any, str, str]:
    """Exit status, standard output and standard error."""
    status = status_of(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err
