"""The store of shards: written once per content, atomically, by one process."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from shard_examples import sentences, trees

from graphsent.errors import DataError
from graphsent.models import NBoW
from graphsent.sentences import Sentence
from graphsent.shards import ShardSet, ShardsFailed, mapped
from graphsent.vocabulary import Vocabulary

COLLATE = NBoW(Vocabulary([]), 3, 4).collate
SIZE = 10


class Source:
    """Sentences that count how often they are read."""

    def __init__(self, count: int = 35, seed: int = 0) -> None:
        self.all = sentences(count, random.Random(seed))
        self.num_read = 0

    def __call__(self):
        for each in self.all:
            self.num_read += 1
            yield each


def shards(**about) -> ShardSet:
    return ShardSet("toy-train", about, shard_size=SIZE)


def test_shards_are_written_once():
    source = Source()
    found = shards().open(source, COLLATE)[:]
    assert found == source.all
    assert source.num_read == 35
    assert shards().open(source, COLLATE)[:] == source.all
    assert source.num_read == 35


def test_location_of_shards(cache):
    first, other = shards(sha256="1"), shards(sha256="2")
    assert first.directory != other.directory
    assert first.directory.parent == cache / "shards"
    assert first.directory.name.startswith("toy-train-")
    first.open(Source(), COLLATE)
    names = sorted(path.name for path in first.directory.iterdir())
    assert names == [*(f"{n:06d}.safetensors" for n in range(4)), "about.json", "index.safetensors"]
    assert json.loads((first.directory / "about.json").read_text())["sha256"] == "1"
    assert first.num_bytes() == sum(path.stat().st_size for path in first.directory.iterdir())


@pytest.mark.parametrize("at", [0, 1, 2, 4])  # complete shards, of four
def test_interrupted_writing_resumes(monkeypatch, at):
    write, written = mapped.write_arrays, []

    def interrupted(path, arrays, about):
        if len(written) == at:
            raise KeyboardInterrupt
        written.append(path.name)
        write(path, arrays, about)

    expected = shards(other=1).open(Source(), COLLATE)
    monkeypatch.setattr("graphsent.shards.store.write_arrays", interrupted)
    with pytest.raises(KeyboardInterrupt):
        shards().open(Source(), COLLATE)
    monkeypatch.setattr("graphsent.shards.store.write_arrays", write)
    calls = []
    found = shards().open(Source(), lambda chunk: calls.append(len(chunk)))
    assert sum(calls) == 35 - min(35, at * SIZE)
    assert found[:] == expected[:]
    assert found.word_counts == expected.word_counts
    for path in shards().directory.glob("*.safetensors"):
        assert path.read_bytes() == (shards(other=1).directory / path.name).read_bytes()


KILLED = """
    import os, random, signal, sys
    from shard_examples import sentences
    from graphsent.models import NBoW
    from graphsent.shards import ShardSet
    from graphsent.vocabulary import Vocabulary

    def source():
        for number, each in enumerate(sentences(35, random.Random(0))):
            if number == int(sys.argv[1]):
                os.kill(os.getpid(), signal.SIGKILL)
            yield each

    collate = NBoW(Vocabulary([]), 3, 4).collate
    found = ShardSet("toy-train", {}, shard_size=10).open(source, collate, echo=print)
    print(len(found), sum(found.word_counts.values()))
"""


def process(at: int, cache: Path) -> subprocess.Popen[str]:
    path = os.pathsep.join(sys.path)
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(at)],
        env={**os.environ, "PYTHONPATH": path, "GRAPHSENT_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_killed_process_leaves_what_is_complete(cache):
    with process(27, cache) as killed:
        assert killed.wait() == -signal.SIGKILL
    assert len(list(shards().directory.glob("0*.safetensors"))) == 2
    source = Source()
    assert shards().open(source, COLLATE)[:] == source.all


def test_two_processes_at_once(cache):
    with process(99, cache) as first, process(99, cache) as second:
        outputs = [each.communicate()[0].splitlines()[-1] for each in (first, second)]
        assert first.returncode == second.returncode == 0
    assert outputs[0] == outputs[1]
    source = Source(0)
    source.all = sentences(35, random.Random(0))
    assert shards().open(source, COLLATE)[:] == source.all
    assert source.num_read == 0


def test_one_process_waits_for_another(monkeypatch):
    source, lines = Source(), []

    def echo(line):
        lines.append(line)
        os.close(held)  # the other process is done

    directory = shards().directory
    directory.mkdir(parents=True)
    fcntl = pytest.importorskip("fcntl")
    held = os.open(directory, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert shards().open(source, COLLATE, echo=echo)[:] == source.all
    assert lines == [f"another process is writing the shards in {directory}: waiting for it"]


@pytest.mark.parametrize("name", ["000001.safetensors", "index.safetensors"])
@pytest.mark.parametrize("damage", ["removed", "cut", "emptied", "other", "header", "list"])
def test_damaged_shards_are_rewritten(name, damage):
    source = Source()
    shards().open(source, COLLATE)
    path = shards().directory / name
    data = path.read_bytes()
    if damage == "removed":
        path.unlink()
    else:
        damaged = {
            "cut": data[:-9],
            "emptied": b"",
            "other": b"x" * len(data),
            "header": data.replace(b'"shape"', b'"shapf"'),
            "list": (2).to_bytes(8, "little") + b"[]",
        }
        path.write_bytes(damaged[damage])
    assert shards().open(source, COLLATE)[:] == source.all
    assert path.read_bytes() == data


@pytest.mark.parametrize("name", ["000000.safetensors", "000001.safetensors", "index.safetensors"])
def test_changed_contents_are_noticed_and_rewritten(name):
    source = Source()
    shards().open(source, COLLATE)
    path = shards().directory / name
    data = path.read_bytes()
    arrays = mapped.MappedFile(path).arrays
    place = data.rindex(arrays["words"].tobytes())
    path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    read = shards().open(source, COLLATE)
    if name != "index.safetensors":
        with pytest.raises(ShardsFailed, match=rf"{name}: damaged.* written again"):
            read[:]
    assert shards().open(source, COLLATE)[:] == source.all
    assert path.read_bytes() == data


def test_changed_contents_are_rewritten_after_an_interruption():
    source = Source()
    shards().open(source, COLLATE)
    (shards().directory / "index.safetensors").unlink()  # the last file that is written
    path = shards().directory / "000001.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert shards().open(source, COLLATE)[:] == source.all
    assert path.read_bytes() == data


def test_a_shard_in_the_place_of_another_is_rewritten():
    source = Source()
    shards().open(source, COLLATE)
    first, second = (shards().directory / f"00000{number}.safetensors" for number in (0, 1))
    data = second.read_bytes()
    second.write_bytes(first.read_bytes())
    assert shards().open(source, COLLATE)[:] == source.all
    assert second.read_bytes() == data


def test_a_full_disk(monkeypatch):
    def full(path, *_):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("graphsent.shards.store.write_arrays", full)
    with pytest.raises(ShardsFailed, match=r"cannot keep shards in .*: No space left .*_CACHE"):
        shards().open(Source(), COLLATE)


def test_a_cache_that_cannot_be_written(cache):
    cache.write_text("a file")
    with pytest.raises(ShardsFailed, match=r"cannot keep shards in .*GRAPHSENT_CACHE"):
        shards().open(Source(), COLLATE)


def test_examples_that_shards_cannot_hold():
    mixed = [Sentence(["a"]), *trees(1, random.Random(0))]
    with pytest.raises(DataError, match="one kind, or pairs of them, got Sentence and Tree"):
        shards().open(lambda: iter(mixed), COLLATE)
    mixed = [*sentences(SIZE, random.Random(0)), *trees(1, random.Random(0))]
    with pytest.raises(DataError, match=r"expected examples of one kind, got .* after"):
        shards(other=0).open(lambda: iter(mixed), COLLATE)
    with pytest.raises(DataError, match="got dict"):
        shards(other=1).open(lambda: iter([{"a": 1}]), lambda chunk: None)
    with pytest.raises(DataError, match="toy-train: no examples"):
        shards(other=2).open(lambda: iter([]), COLLATE)


def test_another_kind_after_complete_shards_is_an_error_each_time():
    mixed = [*sentences(SIZE, random.Random(0)), *trees(1, random.Random(0))]
    for _ in range(2):  # the second time, the first shard is there
        with pytest.raises(DataError, match=r"expected examples of one kind, got .* after"):
            shards().open(lambda: iter(mixed), COLLATE)


def test_errors_of_reading_leave_what_is_complete():
    source = Source()

    def broken():
        yield from source.all[:25]
        raise DataError("line 26: broken")

    with pytest.raises(DataError, match="line 26: broken"):
        shards().open(broken, COLLATE)
    assert len(list(shards().directory.glob("0*"))) == 2
    assert shards().open(source, COLLATE)[:] == source.all


def test_progress_is_shown_only_while_shards_are_written(capsys):
    shards().open(Source(), COLLATE, progress=True)
    assert "writing shards of toy-train" in capsys.readouterr().err
    shards().open(Source(), COLLATE, progress=True)
    assert not capsys.readouterr().err
