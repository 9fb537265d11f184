"""Type checkers accept the package, and see its types in a user's script."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
COMMANDS = {
    "mypy": [
        "--follow-imports=silent",
        "--warn-unused-ignores",
        "--python-executable",
        sys.executable,
    ],
    "pyright": ["--pythonpath", sys.executable],
}


pytestmark = [pytest.mark.slow, pytest.mark.parametrize("checker", COMMANDS)]


def program_of(checker: str) -> Path:
    program = Path(sys.executable).with_name(checker)
    if not program.exists():
        pytest.skip(f"{checker} is not installed: make types")
    return program


def test_the_package_passes_type_checkers(checker):
    """With the settings in ``pyproject.toml``."""
    interpreter = COMMANDS[checker][-2:]
    done = subprocess.run(
        [program_of(checker), *interpreter],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout


def test_a_users_script_is_type_checked(checker, tmp_path):
    program = program_of(checker)
    shutil.copy(REPOSITORY / "tests" / "typing" / "user.py", tmp_path)
    # As in site-packages, where py.typed matters, with nothing but the package.
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "graphsent").symlink_to(REPOSITORY / "graphsent")
    (tmp_path / "pyrightconfig.json").write_text(
        '{"extraPaths": ["site"], "exclude": ["site"], "enableTypeIgnoreComments": true,'
        ' "reportUnnecessaryTypeIgnoreComment": "error"}'
    )
    done = subprocess.run(
        [program, *COMMANDS[checker], "user.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": "site"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
