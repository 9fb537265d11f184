"""`graphsent predict --ray` and `graphsent encode --ray`."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from commands import status_of

from graphsent.cli import main, on_ray
from graphsent.cli.predict import write
from graphsent.cli.request import Request

TREE = "(4 (2 (2 the) (2 film)) (4 (2 is) (4 good)))\n"
OTHER = "(0 (2 (2 the) (2 film)) (0 (2 is) (0 awful)))\n"


class RayError(Exception):
    """Stands in for the errors of Ray, whose texts have the traceback of a worker."""


@pytest.fixture
def files(tmp_path):
    """Three files, one with a bad line."""
    directory = tmp_path / "files"
    directory.mkdir()
    (directory / "a.txt").write_text(TREE + OTHER)
    (directory / "b.txt").write_text(OTHER + "(4 (2 the)\n" + TREE)
    (directory / "c.txt").write_text(TREE)
    return directory


@pytest.fixture
def unmapped(monkeypatch):
    """Stands in for Ray with one local worker; returns the rows that it was given."""
    given = []

    class Ray:
        is_initialized = staticmethod(lambda: True)
        exceptions = SimpleNamespace(RayError=RayError)

    def predict(rows, command, request, arguments):
        worker = on_ray.Worker(command, request, vars(arguments))
        given.append([worker(row) for row in rows])

    monkeypatch.setitem(__import__("sys").modules, "ray", Ray)
    monkeypatch.setattr(on_ray, "_map", predict)
    return given


def test_each_file_has_the_same_results_as_by_itself(trained, files, tmp_path, capsys, unmapped):
    out = tmp_path / "out"
    arguments = ["predict", str(trained), str(files), "--ray", "--format=jsonl", f"--out={out}"]
    assert main(arguments) == 1
    assert "1 of 3 files have bad inputs: see" in capsys.readouterr().err
    assert "b.txt:2:1: the bracket" in (out / "b.txt.jsonl.errors").read_text()
    for name in ("a.txt", "b.txt", "c.txt"):
        main(["predict", str(trained), str(files / name), "--format=jsonl"])
        assert (out / f"{name}.jsonl").read_text() == capsys.readouterr().out
    (rows,) = unmapped
    assert [(row["inputs"], row["bad"]) for row in rows] == [(2, 0), (3, 1), (1, 0)]


def test_files_with_results_are_skipped(trained, files, tmp_path, capsys, unmapped):
    out = tmp_path / "out"
    (files / "b.txt").unlink()
    arguments = ["predict", str(trained), str(files), "--ray", f"--out={out}"]
    assert main(arguments) == 0
    (out / "a.txt.text").unlink()
    assert main(arguments) == 0
    assert main(arguments) == 0
    assert "2 of 2 files already have results" in capsys.readouterr().out
    assert [len(rows) for rows in unmapped] == [2, 1]
    assert main([*arguments, "--input=trees"]) == 2
    assert "holds results of another model, or with other options" in capsys.readouterr().err


def test_a_file_of_any_name_has_results(trained, files, tmp_path, unmapped):
    (files / "b.txt").rename(files / "about")
    out = tmp_path / "out"
    main(["predict", str(trained), str(files), "--ray", "--format=json", f"--out={out}"])
    assert len(json.loads((out / "about.json").read_text())) == 3


def test_workers_may_have_another_working_directory(
    trained, files, tmp_path, monkeypatch, unmapped
):
    load = on_ray.load_requested
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def load_elsewhere(*arguments):
        with monkeypatch.context() as patch:
            patch.chdir(elsewhere)
            return load(*arguments)

    monkeypatch.setattr(on_ray, "load_requested", load_elsewhere)
    monkeypatch.chdir(trained.parent)
    (files / "b.txt").unlink()
    assert main(["predict", trained.name, str(files), "--ray", f"--out={tmp_path / 'out'}"]) == 0


def test_a_directory_without_results_takes_other_options(trained, files, tmp_path, unmapped):
    (files / "b.txt").unlink()
    arguments = ["predict", str(trained), str(files), "--ray", f"--out={tmp_path / 'out'}"]
    main([*arguments, "--encoding=nobody"])
    assert all("unknown encoding" in row["error"] for row in unmapped[0])
    assert main(arguments) == 0
    assert (tmp_path / "out" / "a.txt.text").is_file()


def test_the_suffix_of_a_link_determines_the_format(trained, tmp_path, unmapped):
    """Files of the Hugging Face Hub's cache are links to others that are named by digests."""
    (tmp_path / "0a1b").write_text("id,text\n1,a good film\n")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.csv").symlink_to("../0a1b")
    out = tmp_path / "out"
    main(["predict", str(trained), str(tmp_path / "files"), "--ray", f"--out={out}"])
    assert [row["inputs"] for row in unmapped[0]] == [1]  # without the header


def test_a_file_that_cannot_be_read_has_no_results(trained, files, tmp_path, unmapped):
    (files / "d.txt.gz").write_bytes(b"no gzip")
    out = tmp_path / "out"
    main(["predict", str(trained), str(files), "--ray", f"--out={out}"])
    assert "d.txt.gz" in unmapped[0][3]["error"]
    assert not (out / "d.txt.gz.text").exists()


def test_errors_are_those_of_the_last_results(trained, files, tmp_path, unmapped):
    out = tmp_path / "out"
    arguments = ["predict", str(trained), str(files), "--ray", f"--out={out}"]
    assert main(arguments) == 1
    assert (out / "b.txt.text.errors").is_file()
    (files / "b.txt").write_text(TREE)
    (out / "b.txt.text").unlink()
    assert main(arguments) == 0
    assert not (out / "b.txt.text.errors").exists()


def test_errors_are_known_if_a_worker_is_killed_after_its_results(
    trained, files, tmp_path, capsys, monkeypatch, unmapped
):
    out = tmp_path / "out"
    arguments = ["predict", str(trained), str(files), "--ray", f"--out={out}"]

    def killed(*arguments):
        found = write(*arguments)
        request = arguments[1]
        if request.files[0].endswith("b.txt"):
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patch:
        patch.setattr("graphsent.cli.predict.write", killed)
        assert main(arguments) == 130
    assert {path.name for path in out.iterdir()} >= {"a.txt.text", "b.txt.text"}
    assert not (out / "c.txt.text").exists()
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert "2 of 3 files already have results" in captured.out
    assert "1 of 3 files have bad inputs" in captured.err


def test_models_on_the_hub_are_told_apart(trained, files, tmp_path, capsys, monkeypatch, unmapped):
    (files / "b.txt").unlink()
    other = shutil.copytree(trained / "model", tmp_path / "other")
    with (other / "config.json").open("a") as file:
        file.write("\n")
    arguments = ["predict", "hf://some/model", str(files), "--ray", f"--out={tmp_path / 'out'}"]
    for directory, code in ((trained / "model", 0), (trained / "model", 0), (other, 2)):
        for module in ("cli.on_ray", "models.registry"):
            name = f"graphsent.{module}.local_directory"
            monkeypatch.setattr(name, lambda name, it=directory: it)
        assert main(arguments) == code
    assert "holds results of another model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ray"], "--ray: --out DIRECTORY is missing"),
        (["--ray", "--out=o", "--workers=0"], "--workers: expected at least 1, got 0"),
        (["--ray", "--out=o", "--strict"], "--strict is for a single file"),
    ],
)
def test_arguments_that_conflict_with_ray(trained, files, capsys, arguments, message, unmapped):
    with pytest.raises(SystemExit):
        main(["predict", str(trained), str(files), *arguments])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--input=text"], 2, "reads trees and needs --parser NAME"),
        (["--parser=nobody"], 2, "unknown parser 'nobody'"),
        (["--format=svg"], 2, "--format svg has a file per sentence"),
        (["--damaged"], 2, "damaged or changed since it was saved"),
    ],
)
def test_mistakes_are_found_before_workers_start(
    trained, files, tmp_path, capsys, unmapped, arguments, status, message
):
    run, out = shutil.copytree(trained, tmp_path / "run"), tmp_path / "out"
    if arguments == ["--damaged"]:
        arguments = []
        (run / "model" / "model.safetensors").write_bytes(b"")
    found = status_of(["predict", str(run), str(files), "--ray", f"--out={out}", *arguments])
    (line,) = capsys.readouterr().err.splitlines()
    assert (found, message in line) == (status, True)
    assert unmapped == []
    assert not out.exists()


def test_a_worker_that_fails_is_one_line(trained, files, tmp_path, capsys, monkeypatch, unmapped):
    def fail(*arguments):
        raise RayError("Traceback (most recent call last):\n  ...\nValueError: no memory\n")

    monkeypatch.setattr(on_ray, "_map", fail)
    assert main(["predict", str(trained), str(files), "--ray", f"--out={tmp_path / 'out'}"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "graphsent predict: a worker of Ray failed: RayError; --debug shows where"


def test_a_ray_that_does_not_start_is_one_line(
    trained, files, tmp_path, capsys, monkeypatch, unmapped
):
    def init(**options):
        raise Exception("The node timed out during startup. It may be overloaded.\nSee its logs.")

    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr("ray.init", init, raising=False)
    assert main(["predict", str(trained), str(files), "--ray", f"--out={tmp_path / 'out'}"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    reason = "The node timed out during startup. It may be overloaded"
    assert line == f"graphsent predict: Ray did not start: {reason}; --debug shows where"


def test_results_go_to_a_separate_directory(trained, files, capsys, unmapped):
    with pytest.raises(SystemExit):
        main(["predict", str(trained), str(files), "--ray", f"--out={files}/."])
    assert "expected a directory other than that of the input files" in capsys.readouterr().err
    assert len([*files.iterdir()]) == 3


def test_a_model_that_cannot_read_the_files_is_a_usage_error(trained, tmp_path):
    arguments = {
        "device": "cpu",
        "encoder": None,
        "engine": "auto",
        "format": "text",
        "input": "text",
        "model_class": None,
        "text_column": None,
        "parser": None,
        "strict": False,
        "unknown": False,
    }
    worker = on_ray.Worker("predict", Request(str(trained), (), ()), arguments)
    row = worker({"file": "a.txt", "target": str(tmp_path / "a.txt.text")})
    assert row["misused"]
    assert "reads trees and needs --parser NAME" in row["error"]


@pytest.mark.slow
def test_two_workers_of_ray(trained, files, tmp_path, capsys):
    pytest.importorskip("ray.data")
    for number in range(4):
        shutil.copy(files / "a.txt", files / f"more-{number}.txt")
    out = tmp_path / "out"
    arguments = [str(trained), str(files), "--ray", "--workers=2", f"--out={out}"]
    assert main(["predict", *arguments, "--format=jsonl"]) == 1
    captured = capsys.readouterr()
    assert "7/7 " in captured.out
    assert "1 of 7 files have bad inputs" in captured.err
    lines = (out / "b.txt.jsonl").read_text().splitlines()
    assert [("error" in json.loads(line)) for line in lines] == [False, True, False]

    (files / "b.txt").unlink()
    vectors = tmp_path / "vectors"
    assert main(["encode", *arguments[:-1], f"--out={vectors}"]) == 0
    assert np.load(vectors / "a.txt.npz")["vectors"].shape == (2, 6)
