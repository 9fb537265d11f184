"""Downloads from a local server: complete, interrupted, damaged, missing; and copies."""

from __future__ import annotations

import hashlib
import io
import re
import threading
import zipfile
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from graphsent.cli import main
from graphsent.errors import DataError
from graphsent.tasks import TASKS, get_task
from graphsent.tasks import download as module
from graphsent.tasks.archives import iter_lines
from graphsent.tasks.download import download
from graphsent.tasks.sources import SOURCES, Source
from graphsent.tasks.transfer import DownloadError

NEGATIVE = "".join(f"a bad phone {number} .\n" for number in range(9000)).encode()
POSITIVE = NEGATIVE.replace(b"bad", b"good")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/"), data)
    return buffer.getvalue()


@dataclass
class Server:
    """The files of a server, its behaviour, and the requests it received."""

    files: dict[str, bytes]
    address: str = ""
    tag: str | None = '"1"'
    ranges: bool = True
    break_after: int | None = None
    requests: list[tuple[str, str | None]] = field(default_factory=list)


@pytest.fixture
def server(monkeypatch):
    state = Server({"/cr.neg": NEGATIVE, "/cr.pos": POSITIVE})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked = self.headers.get("Range")
            state.requests.append((self.path, asked))
            data = state.files.get(self.path)
            if data is None:
                self.send_error(404)
                return
            begin = 0
            if asked and state.ranges and self.headers.get("If-Range") == state.tag:
                begin = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
            if begin > len(data):
                self.send_error(416)
                return
            self.send_response(206 if begin else 200)
            self.send_header("Content-Length", str(len(data) - begin))
            if state.tag:
                self.send_header("ETag", state.tag)
            self.end_headers()
            end = len(data) if state.break_after is None else begin + state.break_after
            self.wfile.write(data[begin:end])

        def log_message(self, *_):
            pass

    monkeypatch.setenv("NO_PROXY", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        state.address = f"http://127.0.0.1:{http.server_port}"
        yield state
        http.shutdown()
        thread.join()


@pytest.fixture
def use(monkeypatch, tmp_path):
    """Replaces the sources of the task `cr`, with an empty cache."""
    monkeypatch.setenv("GRAPHSENT_CACHE", str(tmp_path / "cache"))

    def use(*sources):
        monkeypatch.setattr(module, "SOURCES", {"cr": sources})

    return use


@pytest.fixture
def files(server, use):
    """Two files, like those of CR."""
    found = [
        Source(f"{server.address}/cr.{end}", {f"cr/custrev.{end}": sha256(data)}, "free")
        for end, data in (("neg", NEGATIVE), ("pos", POSITIVE))
    ]
    use(*found)
    return found


def silent(_):
    pass


def get(tmp_path, **options):
    return download("cr", tmp_path / "data", echo=silent, **options)


def test_downloads_can_be_read(server, files, tmp_path):
    lines = []
    found = download("cr", tmp_path / "data", echo=lines.append)
    assert [path.read_bytes() for path in found] == [NEGATIVE, POSITIVE]
    counts = get_task("cr").load(tmp_path / "data", tree_kind="words").source.counts
    assert sum(counts.values()) == 18_000
    assert lines[0] == f"{server.address}/cr.neg (free)"
    download("cr", tmp_path / "data", echo=lines.append)
    assert lines[-1] == f"{found[1]}: already there"
    download("cr", tmp_path / "other", echo=silent)  # from the cache
    assert len(server.requests) == 2


@pytest.mark.parametrize("ranges", [True, False])
def test_an_interrupted_download_resumes(server, files, tmp_path, ranges):
    server.break_after = 100_000
    with pytest.raises(DownloadError, match=r"cannot download .*cr\.neg: .*try again later"):
        get(tmp_path)
    assert not (tmp_path / "data").exists()
    server.break_after, server.ranges = None, ranges
    assert get(tmp_path)[0].read_bytes() == NEGATIVE
    assert server.requests[1] == ("/cr.neg", "bytes=65536-")  # in whole pieces
    cache = tmp_path / "cache" / "downloads"
    assert {path.name for path in cache.iterdir()} == {"cr.neg", "cr.pos"}


@pytest.mark.parametrize("tag", ['"2"', None, 'W/"1"'])
def test_a_file_that_may_have_changed_is_not_resumed(server, files, tmp_path, tag):
    server.break_after = 100_000
    server.tag = '"1"' if tag == '"2"' else tag
    with pytest.raises(DownloadError):
        get(tmp_path)
    server.break_after, server.tag = None, tag
    assert get(tmp_path)[0].read_bytes() == NEGATIVE


def test_a_file_that_became_shorter(server, files, tmp_path):
    server.break_after = 100_000
    with pytest.raises(DownloadError):
        get(tmp_path)
    whole, server.files["/cr.neg"], server.break_after = server.files["/cr.neg"], b"short", None
    with pytest.raises(DownloadError, match="shorter than it was"):
        get(tmp_path)
    server.files["/cr.neg"] = whole
    assert get(tmp_path)[0].read_bytes() == NEGATIVE


def test_a_file_with_other_content_is_rejected_and_deleted(server, files, tmp_path):
    server.files["/cr.neg"] = NEGATIVE.replace(b"bad", b"BAD")
    with pytest.raises(DownloadError, match="is not the published file: expected SHA-256"):
        get(tmp_path)
    assert not (tmp_path / "data").exists()
    server.files["/cr.neg"] = NEGATIVE
    assert get(tmp_path)[0].read_bytes() == NEGATIVE


def test_a_damaged_file_in_the_cache_is_downloaded_again(server, files, tmp_path):
    get(tmp_path)
    (tmp_path / "cache" / "downloads" / "cr.neg").write_bytes(b"damaged")
    assert download("cr", tmp_path / "other", echo=silent)[0].read_bytes() == NEGATIVE


def test_a_file_that_no_longer_exists(server, files, tmp_path):
    del server.files["/cr.pos"]
    with pytest.raises(DownloadError, match=r"cannot download .*: 404 .*cr\.pos"):
        get(tmp_path)
    assert (tmp_path / "data" / "cr" / "custrev.neg").read_bytes() == NEGATIVE  # complete, so kept


def test_an_unreachable_server_is_a_download_error(use, tmp_path):
    use(Source("http://127.0.0.1:9/x", {"cr/x": None}, "free"))
    with pytest.raises(DownloadError, match=r"cannot download http://127\.0\.0\.1:9/x: "):
        get(tmp_path)


def test_files_with_other_content_are_never_replaced(server, files, tmp_path):
    path = tmp_path / "data" / "cr" / "custrev.neg"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"mine")
    with pytest.raises(DataError, match="exists, but is not the published file: move it away"):
        get(tmp_path)
    assert path.read_bytes() == b"mine"
    path.unlink()
    path.mkdir()
    with pytest.raises(DataError, match="exists, but is not the published file: move it away"):
        get(tmp_path)
    assert server.requests == []


@pytest.fixture
def archive(server, use):
    """The files in an archive."""
    data = zipped(x__neg=NEGATIVE, x__pos=POSITIVE)
    server.files["/cr.zip"] = data
    source = Source(
        f"{server.address}/cr.zip",
        {"cr/custrev.neg": sha256(NEGATIVE), "cr/custrev.pos": sha256(POSITIVE)},
        "free",
        sha256=sha256(data),
        members={"cr/custrev.neg": "x/neg", "cr/custrev.pos": "x/pos"},
    )
    use(source)
    return source


def test_an_archive(server, archive, tmp_path):
    assert [path.read_bytes() for path in get(tmp_path)] == [NEGATIVE, POSITIVE]
    (tmp_path / "data" / "cr" / "custrev.pos").unlink()
    assert get(tmp_path)[1].read_bytes() == POSITIVE
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zipped(x__neg=NEGATIVE, x__pos=b"another"), r"cr\.zip/x/pos is not the published file"),
        (zipped(x__neg=NEGATIVE), "cannot read .*x/pos"),
        (b"no archive", "cannot read .*not a zip file"),
    ],
    ids=["other", "missing", "damaged"],  # those of archives would hold the time of day
)
def test_an_archive_without_a_checksum_is_checked_by_its_files(
    server, archive, use, tmp_path, content, message
):
    use(replace(archive, sha256=None))
    whole, server.files["/cr.zip"] = server.files["/cr.zip"], content
    with pytest.raises(DownloadError, match=f"is not the published file: .*{message}"):
        get(tmp_path)
    assert not (tmp_path / "data" / "cr" / "custrev.pos").exists()
    server.files["/cr.zip"] = whole  # the other one is no longer in the cache
    assert get(tmp_path)[1].read_bytes() == POSITIVE


def test_copies_from_a_directory_need_no_network(server, archive, use, tmp_path):
    origins = {
        "data": {"cr/custrev.neg": NEGATIVE, "cr/custrev.pos": POSITIVE},
        "loose": {"custrev.neg": NEGATIVE, "custrev.pos": POSITIVE},
        "unpacked": {"x/neg": NEGATIVE, "x/pos": POSITIVE},
        "archive": {"cr.zip": server.files["/cr.zip"]},
    }
    for name, found in origins.items():
        for path, data in found.items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_bytes(data)
        target, lines = tmp_path / f"from {name}", []
        copied = download("cr", target, from_dir=tmp_path / name, echo=lines.append)
        assert [path.read_bytes() for path in copied] == [NEGATIVE, POSITIVE]
        assert not any("unchecked" in line for line in lines)
    assert server.requests == []


def test_an_unchecked_copy_is_reported(archive, use, tmp_path):
    use(replace(archive, files={"cr/custrev.neg": None}))
    (tmp_path / "custrev.neg").write_bytes(b"whatever")
    lines = []
    download("cr", tmp_path / "data", from_dir=tmp_path, echo=lines.append)
    assert lines[0].endswith("custrev.neg, unchecked: only the checksum of cr.zip is known")
    download("cr", tmp_path / "data", from_dir=tmp_path, echo=lines.append)
    assert lines[1].endswith("custrev.neg: already there")


def test_a_data_directory_that_cannot_be_written_is_no_fault_of_the_archive(
    server, archive, tmp_path
):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cr").touch()
    with pytest.raises(OSError, match=r"data.cr"):
        get(tmp_path)
    assert (tmp_path / "cache" / "downloads" / "cr.zip").exists()


def test_a_sample_stands_in_for_a_file_that_a_directory_lacks(archive, use, tmp_path):
    sums = {"cr/custrev.few": hashlib.sha256(b"a few").hexdigest()}
    use(replace(archive, samples={"cr/custrev.neg": next(iter(sums.items()))}))
    (tmp_path / "custrev.pos").write_bytes(POSITIVE)
    (tmp_path / "custrev.few").write_bytes(b"a few")
    lines = []
    copied = download("cr", tmp_path / "data", from_dir=tmp_path, echo=lines.append)
    assert [path.name for path in copied] == ["custrev.few", "custrev.pos"]
    assert copied[0].read_bytes() == b"a few"
    assert lines[0].endswith("custrev.few, a sample of custrev.neg")
    (tmp_path / "custrev.neg").write_bytes(NEGATIVE)
    download("cr", tmp_path / "data", from_dir=tmp_path, echo=silent)
    assert (tmp_path / "data" / "cr" / "custrev.neg").read_bytes() == NEGATIVE
    (tmp_path / "custrev.few").write_bytes(b"others")
    (tmp_path / "custrev.neg").unlink()
    with pytest.raises(DataError, match=r"custrev\.few is not the published file"):
        download("cr", tmp_path / "other", from_dir=tmp_path, echo=silent)


def test_files_that_a_directory_lacks(archive, tmp_path):
    origin = tmp_path / "origin"
    with pytest.raises(DataError, match="to copy from is not a directory"):
        get(tmp_path, from_dir=origin)
    origin.mkdir()
    with pytest.raises(DataError, match=r"has none of: cr/custrev\.neg, custrev\.neg, cr\.zip"):
        get(tmp_path, from_dir=origin)
    (origin / "custrev.neg").write_bytes(b"another")
    with pytest.raises(DataError, match=r"custrev\.neg is not the published file: expected SHA"):
        get(tmp_path, from_dir=origin)
    (origin / "custrev.neg").unlink()
    (origin / "cr.zip").write_bytes(b"another")
    with pytest.raises(DataError, match=r"cr\.zip is not the published file"):
        get(tmp_path, from_dir=origin)
    assert not list(tmp_path.glob("data/**/*.*"))


def test_the_command(server, files, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("GRAPHSENT_DATA", raising=False)
    data = tmp_path / "data"
    assert main(["download", "cr", f"--data-dir={data}"]) == 0
    assert f"--data-dir {data}" in capsys.readouterr().out
    del server.files["/cr.pos"]
    monkeypatch.setenv("GRAPHSENT_CACHE", str(tmp_path / "empty"))
    assert main(["download", "cr", f"--data-dir={tmp_path / 'other'}"]) == 1
    assert capsys.readouterr().err.startswith("graphsent download: cannot download ")
    assert main(["download", "crr", f"--data-dir={data}"]) == 2
    assert "did you mean 'cr'?" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["download", "cr"])
    assert "--data-dir DIR is missing" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(set(TASKS) - {"own"}))
def test_a_missing_corpus_is_to_be_downloaded_if_it_can_be(name, tmp_path, monkeypatch):
    monkeypatch.delenv("GRAPHSENT_PARSES", raising=False)
    (tmp_path / "parses").mkdir()
    with pytest.raises(DataError, match="no corpus for this task") as caught:
        get_task(name).load(tmp_path)
    advice = f"; to get it: graphsent download {name} --data-dir DIR"
    assert (advice in str(caught.value)) == (name in SOURCES)


def test_sources_are_those_of_tasks():
    assert set(SOURCES) <= set(TASKS)
    for task, sources in SOURCES.items():
        names = {name for source in sources for name in source.files}
        corpora = [corpus.all_files() for corpus in get_task(task).corpora]
        assert any(
            all(any(f"{file}/".startswith(f"{name}/") for name in names) for file in files)
            for files in corpora
        )
        for source in sources:
            assert source.url.startswith("https://")
            assert source.known_sha256 is None or re.fullmatch(r"[0-9a-f]{64}", source.known_sha256)
            assert set(source.members or source.files) == set(source.files)


@pytest.mark.data
def test_the_real_files_are_the_published_ones(data_dir, tmp_path):
    for task in ("cr", "mr", "sick", "sst5", "subj", "trec", "twitter"):
        download(task, tmp_path, from_dir=data_dir, echo=silent)
    tweets = get_task("twitter").load(tmp_path, ("test",), tree_kind="words")
    assert len(tweets.splits["test"]) == 359
    sums = dict(reversed(line.split()) for line in iter_lines(data_dir / "SHA256SUMS"))
    for sources in SOURCES.values():
        for source in sources:
            for name, expected in source.files.items():
                assert expected == sums.get(name)
