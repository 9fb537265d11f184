"""The examples in the documentation of the cells run."""

import doctest
import importlib
import pkgutil

import pytest

from graphsent import cells
from graphsent.graphs import fields

MODULES = [module.name for module in pkgutil.iter_modules(cells.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"graphsent.cells.{name}")
    assert doctest.testmod(module).failed == 0


def test_every_cell_has_an_example():
    for name in set(cells.__all__) - {"TreeCell", "SlottedCell"}:
        kind = getattr(cells, name)
        if issubclass(kind, (cells.TreeCell, cells.BiTreeLSTM)):
            assert ">>>" in kind.__doc__, name


def test_edge_data_are_those_of_our_graphs():
    assert cells.SlottedCell.slot_name == fields.CHILD_INDEX
    assert cells.TreeNet.slot_name == fields.KIND
