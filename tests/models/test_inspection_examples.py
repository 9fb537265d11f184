"""The examples in the documentation of the model inspection tools run."""

import doctest
import importlib
import pkgutil

import pytest

from graphsent.models import inspection

MODULES = [module.name for module in pkgutil.iter_modules(inspection.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"graphsent.models.inspection.{name}")
    assert doctest.testmod(module).failed == 0
