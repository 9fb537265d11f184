"""The examples in the docstrings of graphsent.trees."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from graphsent import trees

MODULES = [module.name for module in pkgutil.iter_modules(trees.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_run(name):
    module = importlib.import_module(f"graphsent.trees.{name}")
    assert doctest.testmod(module).failed == 0


def test_public_names_exist_and_occur_once():
    assert len(set(trees.__all__)) == len(trees.__all__)
    assert all(hasattr(trees, name) for name in trees.__all__)
