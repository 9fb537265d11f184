"""Locks between processes."""

import subprocess
import sys

import pytest

_FORKED = """
import os, sys
from contextlib import ExitStack
from graphsent._locks import locked

def is_free():
    try:
        with locked(sys.argv[1], BlockingIOError()):
            return True
    except BlockingIOError:
        return False

lock = ExitStack()
assert lock.enter_context(locked(sys.argv[1])) or sys.exit(77)  # no locks here
reader, writer = os.pipe()
child = os.fork()
if not child:
    if sys.argv[2] == "leaves":
        lock.close()
    else:
        os.close(writer)
        os.read(reader, 1)  # until the parent ends
    os._exit(0)
if sys.argv[2] == "leaves":
    os.waitpid(child, 0)
assert not is_free()
lock.close()
assert is_free()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs os.fork")
@pytest.mark.parametrize("child", ["leaves", "stays"])
def test_a_forked_process_neither_releases_nor_keeps_the_lock(child, tmp_path):
    command = [sys.executable, "-c", _FORKED, str(tmp_path), child]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode == 77:
        pytest.skip("needs a file system with locks")
    assert (done.returncode, done.stderr) == (0, "")
