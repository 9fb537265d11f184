"""Contents of wheel and sdist: the wheel is built from the sdist and used outside the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
NOT_SOURCES = shutil.ignore_patterns(
    ".git", ".venv*", ".*_cache", "build", "dist", "runs", "*.egg-info", "__pycache__", "_build"
)
BUILD = "from setuptools import build_meta; build_meta.build_{kind}({target!r})"


def run(script: str, directory: Path, *paths: Path) -> str:
    """Runs a script elsewhere, with packages from some directories instead of the checkout."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHSENT_")}
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=directory,
        env={**variables, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    """The unpacked source distribution."""
    directory = tmp_path_factory.mktemp("sdist")
    source = directory / "source"
    shutil.copytree(REPOSITORY, source, ignore=NOT_SOURCES)
    run(BUILD.format(kind="sdist", target=str(directory)), source)
    (archive,) = directory.glob("graphsent-*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(directory / "unpacked", filter="data")
    (unpacked,) = (directory / "unpacked").iterdir()
    return unpacked


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory) -> Path:
    """The unpacked wheel, as pip lays it out."""
    directory = tmp_path_factory.mktemp("wheel")
    run(BUILD.format(kind="wheel", target=str(directory)), sdist)
    (archive,) = directory.glob("graphsent-*.whl")
    assert archive.stat().st_size < 20_000_000
    with zipfile.ZipFile(archive) as file:
        file.extractall(directory / "site")
    return directory / "site"


def files(directory: Path) -> set[str]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix() for path in found}


@pytest.mark.parametrize("part", ["benchmarks", "data", "docs", "graphsent", "notebooks", "tests"])
def test_the_sdist_carries_the_repository(sdist, part):
    here = {each for each in files(REPOSITORY / part) if not _is_made(each)}
    assert files(sdist / part) == here


def _is_made(path: str) -> bool:
    return bool({"__pycache__", "_build", ".ipynb_checkpoints"} & set(path.split("/")))


def test_the_sdist_carries_what_make_needs(sdist):
    names = {"CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "constraints.txt", "setup.py"}
    assert names < {path.name for path in sdist.iterdir()}


def test_the_wheel_carries_the_package_its_kernels_and_the_embedded_data(wheel):
    package = files(REPOSITORY / "graphsent")
    data = {f"data/{each}" for each in files(REPOSITORY / "data") if not each.endswith(".py")}
    expected = {each for each in package | data if not _is_made(each) and "/." not in each}
    assert files(wheel / "graphsent") == expected
    assert {path.name for path in wheel.iterdir()} == {"graphsent", _dist_info(wheel).name}
    assert (_dist_info(wheel) / "licenses" / "LICENSE").is_file()


def _dist_info(wheel: Path) -> Path:
    (found,) = wheel.glob("*.dist-info")
    return found


def test_the_wheel_finds_its_data_from_anywhere(wheel, tmp_path):
    script = """
import graphsent
from graphsent.tasks import get_task
from graphsent.tasks.data_dir import embedded_data_dir
print(graphsent.__file__)
print(embedded_data_dir())
print([len(trees) for trees in get_task("sst5").load(splits=("dev", "test")).splits.values()])
"""
    package = wheel / "graphsent"
    printed = run(script, tmp_path, wheel).splitlines()
    assert printed == [str(package / "__init__.py"), str(package / "data"), "[500, 1000]"]


def test_the_wheel_predicts_with_its_model(wheel, tmp_path):
    script = """
from graphsent.cli import main
raise SystemExit(main(["predict", "A film of great charm", "A dull mess", "--format", "jsonl"]))
"""
    names = [json.loads(line)["name"] for line in run(script, tmp_path, wheel).splitlines()]
    assert [name.split()[-1] for name in names] == ["positive", "negative"]
