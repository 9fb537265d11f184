"""Which data directory is used."""

from __future__ import annotations

import re

import pytest

import graphsent
from graphsent.errors import DataError
from graphsent.tasks import resolve_data_dir
from graphsent.tasks.parses import resolve_parses_dir


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv("GRAPHSENT_DATA", raising=False)
    monkeypatch.delenv("GRAPHSENT_PARSES", raising=False)


def test_the_argument_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHSENT_DATA", str(tmp_path / "variable"))
    assert resolve_data_dir(tmp_path) == tmp_path
    assert resolve_data_dir(str(tmp_path)) == tmp_path


def test_the_variable_comes_second(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHSENT_DATA", str(tmp_path))
    assert resolve_data_dir() == tmp_path


def test_the_embedded_data_come_last(repository):
    assert resolve_data_dir() == repository / "data"


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_a_given_directory_must_exist(tmp_path, monkeypatch, how):
    missing = tmp_path / "missing"
    monkeypatch.setenv("GRAPHSENT_DATA", str(missing))
    what = {
        "argument": "the given data directory",
        "variable": "the data directory named by GRAPHSENT_DATA",
    }[how]
    with pytest.raises(DataError, match=f"{what} is not a directory: {re.escape(str(missing))}"):
        resolve_data_dir(missing if how == "argument" else None)


def test_no_data_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(graphsent, "__file__", str(tmp_path / "graphsent" / "__init__.py"))
    message = "none was given, GRAPHSENT_DATA is not set, and the embedded data are neither in"
    with pytest.raises(DataError, match=message):
        resolve_data_dir()


def test_data_inside_an_installed_package_come_before_those_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr(graphsent, "__file__", str(tmp_path / "graphsent" / "__init__.py"))
    beside, inside = tmp_path / "data", tmp_path / "graphsent" / "data"
    (beside / "sentiment").mkdir(parents=True)
    assert resolve_data_dir() == beside
    inside.mkdir(parents=True)  # without data
    assert resolve_data_dir() == beside
    (inside / "sentiment").mkdir()
    assert resolve_data_dir() == inside


def test_parses_are_searched_in_and_beside_the_data(tmp_path, monkeypatch):
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    with pytest.raises(DataError, match="no parses directory: none was given"):
        resolve_parses_dir(None, data_dir)
    for place in (tmp_path / "parses", data_dir / "parses", tmp_path / "elsewhere"):
        place.mkdir()
    assert resolve_parses_dir(None, data_dir) == data_dir / "parses"
    (data_dir / "parses").rmdir()
    assert resolve_parses_dir(None, data_dir) == tmp_path / "parses"
    monkeypatch.setenv("GRAPHSENT_PARSES", str(tmp_path / "elsewhere"))
    assert resolve_parses_dir(None, data_dir) == tmp_path / "elsewhere"
    assert resolve_parses_dir(tmp_path, data_dir) == tmp_path
    with pytest.raises(DataError, match="the given parses directory is not a directory"):
        resolve_parses_dir(tmp_path / "missing", data_dir)
