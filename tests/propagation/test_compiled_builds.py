"""Unusable compilers and libraries, unsafe directories, killed builds."""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from graphsent._cache import cache_directory
from graphsent._dgl import dgl
from graphsent.cells import NaryTreeLSTM, RecursiveCell
from graphsent.kernels import build as compiled_library
from graphsent.kernels import library as compiled
from graphsent.kernels import processes as compiled_builds
from graphsent.kernels.build import SHARED, build, options_of
from graphsent.kernels.library import kernels_in_use
from graphsent.kernels.structures import Structure, address_of, check_layout, fields_of
from graphsent.propagation.backends.c.library import _open, _text
from graphsent.propagation.found import find_recurrence

pytestmark = pytest.mark.skipif(not kernels_in_use(torch.float64), reason="there is no C compiler")

SCRIPTS = {
    "fails": "exit 1",
    "crashes": "kill -SEGV $$",
    "cannot run": "#! no shell at all",
    "writes nothing": "echo done",
    "empty": '> "$2"',
    "text": 'echo text > "$2"',
    "hangs": "sleep 60",
    "reads": "cat",
    "other symbols": "exec cp {other} $2",
    "other architecture": "exec cp {alien} $2",
    "cut": "exec cp {cut} $2",
}


@pytest.fixture(scope="module")
def useless(tmp_path_factory, built_library) -> dict[str, Path]:
    """Unusable libraries, by what is wrong with them."""
    directory = tmp_path_factory.mktemp("useless")
    files = {name: directory / f"{name}.so" for name in ("other", "alien", "cut")}
    source = directory / "other.c"
    source.write_text("int adadelta_rows(void) { return 0; }\n")
    compiler = next(filter(None, map(shutil.which, compiled_library.COMPILERS)))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", files["other"], source], check=True)
    content = built_library.read_bytes()
    files["cut"].write_bytes(content[: len(content) // 2])
    files["alien"].write_bytes(content[:18] + b"\x7f\x7f" + content[20:])
    return files


@pytest.fixture
def script_of(useless, monkeypatch):
    """The script of an unusable compiler."""
    monkeypatch.setattr(compiled_library, "LONGEST", 1.0)
    return lambda name: SCRIPTS[name].format(**useless)


def in_a_new_process() -> bool:
    compiled._load._made.clear()
    return kernels_in_use()


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_next_compiler_is_tried(name, script_of, empty_cache, compilers, quick_script):
    compilers(script_of(name), quick_script)
    assert kernels_in_use()
    assert len(list(empty_cache.iterdir())) == 1


@pytest.mark.parametrize("name", SCRIPTS)
def test_unusable_compilers(name, script_of, empty_cache, compilers, quick_script, caplog):
    compilers(script_of(name))
    assert not kernels_in_use()
    assert caplog.text.count("there are no compiled kernels for torch.float32: ") == 1
    assert "compiler_0" in caplog.text
    cell, graph = RecursiveCell(2, 3), dgl.graph(([0], [1]))
    reason = cell.explain(graph).reason
    assert reason.startswith("there are no compiled kernels")
    assert "compiler_0" in reason
    assert list(empty_cache.iterdir()) == []
    compilers(quick_script)  # as after an update of the system
    assert in_a_new_process()


@pytest.mark.parametrize(("frozen", "executable"), [(True, "false"), (False, "")])
def test_unusable_libraries_without_a_trial_run(
    frozen, executable, script_of, empty_cache, compilers, quick_script, monkeypatch
):
    """If Python is part of another program, no other process tries a library."""
    monkeypatch.setattr(sys, "frozen", frozen, raising=False)
    monkeypatch.setattr(sys, "executable", executable)
    compilers(script_of("other architecture"), script_of("other symbols"), quick_script)
    assert kernels_in_use()
    assert len(list(empty_cache.iterdir())) == 1


@pytest.mark.parametrize("kind", ["other", "alien"])
def test_unusable_libraries_in_the_cache(kind, useless, empty_cache, quick_compiler):
    library = build(options_of(torch.float32), Path)
    key = library.name.split("-")[0]
    library.unlink()
    shutil.copy(useless[kind], empty_cache / compiled_library._name(key, useless[kind]))
    assert in_a_new_process()
    assert [file.name for file in empty_cache.iterdir()] == [library.name]


@pytest.mark.parametrize("number", range(len(SHARED)))
def test_libraries_with_other_struct_layouts(
    number, empty_cache, quick_compiler, monkeypatch, caplog
):
    """Otherwise, C would read and write out of bounds."""
    kind = SHARED[number]
    more = [*kind._fields_, ("more", ctypes.c_int64)]
    changed = type(kind.__name__, (Structure,), {"_fields_": more})
    monkeypatch.setattr(compiled, "SHARED", [*SHARED[:number], changed, *SHARED[number + 1 :]])
    with caplog.at_level(logging.INFO):
        assert not kernels_in_use()
    assert f"expected struct {kind.__name__.lower()} of size and offsets [" in caplog.text


def test_a_library_without_layouts():
    with pytest.raises(AttributeError, match="layout_of_linear"):
        check_layout(ctypes.CDLL(None), SHARED)


def test_tensors_without_memory():
    assert address_of(torch.ones(1)) > 0
    assert not address_of(torch.ones(0))
    with pytest.raises(TypeError, match="expected a tensor in memory for compiled code"):
        address_of(torch.ones(1, device="meta"))


@pytest.mark.parametrize(
    ("in_c", "kinds"),
    [
        ("int64_t a, b;  // c, d;\n  void *p;", "iip"),
        ("int64_t a;\n  const int64_t *const *p, *const *q; int64_t b;", "ippi"),
        ("double a;", None),
        ("int64_t a; int b;", None),
    ],
)
def test_fields_of_structures(in_c, kinds):
    header = f"struct first {{ void *z; }};\n\nstruct pair {{\n  {in_c}\n}};\n"
    if kinds is None:
        with pytest.raises(ValueError, match="expected integers or pointers in struct pair, got"):
            fields_of("pair", header)
    else:
        found = fields_of("pair", header)
        assert [kind for _, kind in found] == [
            {"i": ctypes.c_int64, "p": ctypes.c_void_p}[kind] for kind in kinds
        ]


def test_walks_and_kernels_agree_on_teams_of_threads(tmp_path):
    """In kernels without OpenMP, the threads of a walk would not synchronize."""
    found = find_recurrence(NaryTreeLSTM(2, 2), torch.zeros(1, 2), {}, 2)
    compiler = next(filter(None, map(shutil.which, compiled_library.COMPILERS)))
    headers = Path(compiled_library.__file__).parent / "c"
    for name, text in (("kernels", '#include "kernels.c"'), ("walk", _text(found.recurrence))):
        (source := tmp_path / f"of_{name}.c").write_text(text)
        for teams in ([], ["-fopenmp"]):
            files = [source, "-o", tmp_path / f"{name}{len(teams)}.so", f"-I{headers}"]
            command = [compiler, *compiled_library._COMMAND, *options_of(torch.float32), *teams]
            subprocess.run([*command, "-O0", *files], check=True)
    for own, other in ("01", "10"):
        kernels = ctypes.CDLL(str(tmp_path / f"kernels{own}.so"))
        _open(kernels, tmp_path / f"walk{own}.so")
        with pytest.raises(OSError, match="are not both built with, or both without, OpenMP"):
            _open(kernels, tmp_path / f"walk{other}.so")


def test_each_compiler_is_tried_once_whatever_it_is_called(
    tmp_path, empty_cache, compilers, monkeypatch
):
    compilers(f"echo >> {tmp_path}/calls; exit 1")
    (path,) = compiled_library.COMPILERS
    (tmp_path / "same").symlink_to(path)
    monkeypatch.setattr(compiled_library, "COMPILERS", (str(tmp_path / "same"), path))
    assert not kernels_in_use()
    assert (tmp_path / "calls").read_text().count("\n") == 2  # with OpenMP, and without


def test_a_compiler_that_hangs_is_not_called_again(tmp_path, empty_cache, compilers, monkeypatch):
    monkeypatch.setattr(compiled_library, "LONGEST", 0.5)
    compilers(f"echo >> {tmp_path}/calls; sleep 60")
    assert not kernels_in_use()
    assert (tmp_path / "calls").read_text().count("\n") == 1


# Directories


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_cache_that_others_may_write_to(mode, empty_cache, quick_compiler, caplog):
    library = build(options_of(torch.float32), Path)
    empty_cache.chmod(mode)
    with caplog.at_level(logging.INFO):
        assert not kernels_in_use()
    assert f"others may write to {empty_cache}: set GRAPHSENT_CACHE to" in caplog.text
    assert list(empty_cache.iterdir()) == [library]
    empty_cache.chmod(0o755)
    assert in_a_new_process()


def test_new_caches_are_private(empty_cache, quick_compiler):
    before = os.umask(0)
    try:
        assert kernels_in_use()
    finally:
        os.umask(before)
    assert stat.S_IMODE(empty_cache.stat().st_mode) == 0o700


def test_generated_code_has_private_directories_of_its_own(empty_cache, quick_compiler):
    before = os.umask(0)
    try:
        library = build(options_of(torch.float32), Path, "of a cell")
    finally:
        os.umask(before)
    assert library.parents[1] == empty_cache / "recurrences"
    assert stat.S_IMODE(library.parent.stat().st_mode) == 0o700
    library.parent.chmod(0o777)
    with pytest.raises(OSError, match=f"others may write to {library.parent}"):
        build(options_of(torch.float32), Path, "of a cell")


@pytest.mark.skipif(not hasattr(os, "ST_NOEXEC"), reason="this system does not tell")
def test_a_cache_from_which_no_code_may_be_loaded(empty_cache, quick_compiler, monkeypatch, caplog):
    status = list(os.statvfs("."))
    status[8] |= os.ST_NOEXEC
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(status))
    with caplog.at_level(logging.INFO):
        assert not kernels_in_use()
    assert f"no code may be loaded from {empty_cache}: set GRAPHSENT_CACHE to" in caplog.text
    assert not quick_compiler.exists()


@pytest.mark.parametrize("home", ["", "relative", ".", "{tmp}/missing", "{tmp}/file"])
def test_an_invalid_home_is_not_written_to(home, tmp_path, empty_cache, monkeypatch, caplog):
    (tmp_path / "here").mkdir()
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", home.format(tmp=tmp_path))
    with caplog.at_level(logging.INFO):
        assert not kernels_in_use()
    assert "the user has no home directory" in caplog.text
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(RuntimeError, match="home"):
        cache_directory()


# Concurrent and interrupted builds

KILLED = """
import importlib.util, os, pathlib, sys
spec = importlib.util.spec_from_file_location("builds", sys.argv[1])
builds = importlib.util.module_from_spec(spec)
spec.loader.exec_module(builds)
with builds.only_builder(pathlib.Path(sys.argv[2]), 10) as room:
    builds.run(["sh", "-c", 'echo > "$0"; echo $$; exec sleep 60', room / "kernels.so"], room, 60)
"""


def wait_for(condition) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_leftovers_of_killed_builds_are_removed_by_the_next(empty_cache, quick_compiler):
    empty_cache.mkdir(parents=True)
    command = [sys.executable, "-c", KILLED, compiled_builds.__file__, empty_cache]
    process = subprocess.Popen(command)
    wait_for(lambda: list(empty_cache.glob("*/kernels.so")))
    process.send_signal(signal.SIGKILL)
    process.wait()
    (left,) = empty_cache.iterdir()
    compiler = int((left / "said").read_text())
    try:
        assert kernels_in_use()
        assert [file.suffix for file in empty_cache.iterdir()] == [".so"]
    finally:
        os.kill(compiler, signal.SIGKILL)  # it has outlived its parent


def test_interrupted_builds_leave_nothing(empty_cache, compilers, tmp_path, monkeypatch):
    compilers(f'echo > "$2"; echo $$ > {tmp_path}/number; exec sleep 60')

    def interrupt(self, timeout=None):
        if timeout is None:
            return wait(self)
        wait_for(lambda: (tmp_path / "number").exists() and (tmp_path / "number").read_text())
        raise KeyboardInterrupt

    wait = subprocess.Popen.wait
    monkeypatch.setattr(subprocess.Popen, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        kernels_in_use()
    assert list(empty_cache.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "number").read_text()), 0)


def test_interruptions_just_after_a_process_has_ended(empty_cache, quick_compiler, monkeypatch):
    def interrupt(self, timeout=None):
        status = wait(self, timeout)
        if timeout is not None and "-c" in self.args:  # the trial of a library
            raise KeyboardInterrupt
        return status

    wait = subprocess.Popen.wait
    monkeypatch.setattr(subprocess.Popen, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        kernels_in_use()
    assert list(empty_cache.iterdir()) == []


def test_processes_of_compilers_that_hang_are_ended(empty_cache, compilers, tmp_path, monkeypatch):
    monkeypatch.setattr(compiled_library, "LONGEST", 0.5)
    compilers(f"sleep 60 & echo $! > {tmp_path}/number; wait")
    assert not kernels_in_use()
    number = int((tmp_path / "number").read_text())

    def ended() -> bool:
        try:  # the system takes its time; a zombie has also ended
            return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            return True

    if sys.platform == "linux":
        wait_for(ended)


def test_files_of_compilers_are_in_the_cache(empty_cache, compilers, quick_script, tmp_path):
    compilers(f'echo > "$TMPDIR/object.o"; echo "$TMPDIR" > {tmp_path}/room; ' + quick_script)
    assert kernels_in_use()
    assert Path((tmp_path / "room").read_text().strip()).parent == empty_cache
    assert len(list(empty_cache.iterdir())) == 1


@pytest.mark.slow
def test_only_one_of_several_processes_builds(empty_cache, compilers, quick_script, tmp_path):
    """A process waits for another one, and loads what that has built."""
    compilers("sleep 0.3\n" + quick_script)
    script = (
        "import sys, torch\n"
        "from graphsent.kernels import build as compiled_library\n"
        "compiled_library.COMPILERS = sys.argv[1:]\n"
        "assert compiled_library.build(compiled_library.options_of(torch.float32), str)\n"
    )
    command = [sys.executable, "-c", script, *compiled_library.COMPILERS]
    processes = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    assert (tmp_path / "calls").read_text().count("\n") == 1
    assert len(list(empty_cache.iterdir())) == 1


def test_another_process_that_builds_for_too_long(empty_cache, quick_compiler, monkeypatch, caplog):
    monkeypatch.setattr(compiled_library, "LONGEST", 0.2)
    empty_cache.mkdir(parents=True)
    with compiled_builds.only_builder(empty_cache, 0.2), caplog.at_level(logging.INFO):
        assert not kernels_in_use()
    assert "another process has been building for 0.2 s" in caplog.text
    assert in_a_new_process()


def test_file_systems_without_locks(empty_cache, quick_compiler, monkeypatch):
    import fcntl

    def fail(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fail)
    empty_cache.mkdir(parents=True)
    other = empty_cache / f"{compiled_builds._PREFIX}of_another"
    other.mkdir()
    assert kernels_in_use()
    assert other.exists()  # it may be working


def test_only_the_beginning_of_a_long_output_is_in_the_message(tmp_path):
    script = "import sys; sys.exit('the first error' + 100_000 * ', another')"
    with pytest.raises(RuntimeError, match="exit status 1: the first error") as it:
        compiled_builds.run((sys.executable, "-c", script), tmp_path, 60.0)
    assert len(str(it.value)) < 3000
