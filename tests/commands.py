"""Runs commands of graphsent within the process of a test, and reads what others print."""

from __future__ import annotations

import re
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


def without_compiling(printed: str) -> str:
    """Standard error without the messages of a slow machine while it compiles."""
    return re.sub(r"compiling .*; later runs reuse them\n", "", printed)
