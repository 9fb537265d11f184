"""Type checkers know the package, as it is installed, in a script of a user."""

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


@pytest.mark.slow
@pytest.mark.parametrize("checker", COMMANDS)
def test_a_script_of_a_user(checker, tmp_path):
    program = Path(sys.executable).with_name(checker)
    if not program.exists():
        pytest.skip(f"{checker} is not installed: make types")
    shutil.copy(REPOSITORY / "tests" / "typing" / "user.py", tmp_path)
    # As in site-packages, where py.typed counts, and nothing but the package is beside it.
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
