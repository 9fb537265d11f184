"""The documentation of the cells, and names that they share with the graphs."""

from graphsent import cells
from graphsent.graphs import fields


def test_every_cell_has_an_example():
    for name in set(cells.__all__) - {"TreeCell", "SlottedCell"}:
        kind = getattr(cells, name)
        if issubclass(kind, (cells.TreeCell, cells.BiTreeLSTM)):
            assert ">>>" in kind.__doc__, name


def test_edge_data_are_those_of_our_graphs():
    assert cells.SlottedCell.slot_name == fields.CHILD_INDEX
    assert cells.TreeNet.slot_name == fields.KIND
