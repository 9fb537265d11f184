from __future__ import annotations

import errno
import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from graphsent._cache import cache_directory
from graphsent._files import (
    atomic_path,
    leftovers,
    recover,
    replaced_directory,
    write_atomically,
    write_json,
)
from graphsent.contextual import load_encoder
from graphsent.errors import DataError, GraphsentError
from graphsent.tasks.data_dir import resolve_data_dir
from graphsent.tasks.download import download
from graphsent.tasks.parses import resolve_parses_dir


def test_the_file_appears_with_its_parents_when_the_block_ends(tmp_path):
    path = tmp_path / "a" / "b" / "trees.txt.gz"
    with atomic_path(path) as temporary:
        temporary.write_text("new")
        assert temporary.parent == path.parent
        assert temporary.name.endswith(".txt.gz")
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_keeps_the_old_file_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def write_half() -> None:
        with atomic_path(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_copied_here_is_named(tmp_path):
    path = tmp_path / "file"

    def copy() -> None:
        with atomic_path(path) as temporary:
            raise OSError(errno.ENOSPC, "No space left", "elsewhere/source", None, str(temporary))

    with pytest.raises(OSError, match="No space left") as it:
        copy()
    assert (it.value.filename, it.value.filename2) == (str(path), None)


def test_a_link_is_kept_and_its_target_written(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there" / "file")
    for text in ("first", "second"):
        with atomic_path(link) as temporary:
            temporary.write_text(text)
        assert link.is_symlink()
        assert (tmp_path / "there" / "file").read_text() == text
    assert len([*tmp_path.rglob("*")]) == 3


@pytest.mark.skipif(os.name == "nt", reason="permissions")
@pytest.mark.parametrize("mode", [0o600, 0o755])
def test_a_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_and_devices_are_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor() as pool:
        read = pool.submit(path.read_text)
        with atomic_path(path) as target:
            target.write_text("text")
        assert path.is_fifo()
        assert read.result(10) == "text"
    assert [*tmp_path.iterdir()] == [path]


def test_json_keeps_characters_and_the_bytes_of_paths_that_are_no_text(tmp_path):
    content = {"word": "caf\N{LATIN SMALL LETTER E WITH ACUTE}", "path": os.fsdecode(b"caf\xe9")}
    write_json(tmp_path / "file.json", content)
    text = (tmp_path / "file.json").read_text(encoding="utf-8")
    assert content["word"] in text
    assert os.fsencode(json.loads(text)["path"]) == b"caf\xe9"


@pytest.mark.skipif(os.name == "nt", reason="processes that are gone")
@pytest.mark.parametrize("name", [".{}-file", ".file.{}.new"])
def test_leftovers_of_another_computer_are_kept_unless_nobody_else_writes(tmp_path, name):
    path = tmp_path / "file"
    (tmp_path / name.format("123456789@00000000")).touch()  # alive there, as far as we know
    (tmp_path / name.format("123456789")).touch()
    recover(path)
    assert [process for _, process in leftovers(tmp_path, "file")] == [None]
    recover(path, alone=True)
    assert list(tmp_path.iterdir()) == []


def test_what_another_thread_of_the_process_is_writing_is_kept(tmp_path):
    with atomic_path(tmp_path / "file") as file, replaced_directory(tmp_path / "model") as model:
        file.touch()
        for name in ("file", "model"):
            recover(tmp_path / name)  # as one that reads
        assert file.exists()
        assert model.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "model"]


def test_containers_with_the_same_process_id_write_to_files_of_different_names(
    tmp_path, monkeypatch
):
    path = tmp_path / "file"
    with atomic_path(path) as first:
        first.write_text("first")
        monkeypatch.setattr("graphsent._files._computer", lambda: "00000000")
        with atomic_path(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"


@pytest.mark.parametrize(
    "find",
    [load_encoder, resolve_data_dir, partial(resolve_parses_dir, data_dir=Path())],
    ids=["encoder", "data", "parses"],
)
def test_the_home_directory_of_an_unknown_user_is_no_directory(find):
    with pytest.raises(GraphsentError, match="~nobody"):
        find("~nobody-of-this-name/there")


def test_the_name_of_an_unknown_user_is_part_of_a_path_to_write(tmp_path, monkeypatch):
    """As in a shell."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHSENT_CACHE", "~nobody-of-this-name/cache")
    assert cache_directory() == tmp_path / "~nobody-of-this-name" / "cache"
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match="empty"):
        download("cr", "~nobody-of-this-name/data", from_dir=empty)
