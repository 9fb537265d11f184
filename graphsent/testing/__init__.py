"""Contract tests for custom cells, which the built-in cells also pass.

In a test module, with the class of a cell, or a function of two sizes that returns one::

    from graphsent.testing import check_cell


    def test_my_cell():
        check_cell(MyCell)

or with one test per check::

    @pytest.mark.parametrize("check", cell_checks(MyCell), ids=str)
    def test_my_cell(check):
        check()
"""

from graphsent.testing.checks import Check, cell_checks, check_cell
from graphsent.testing.example_graphs import example_graphs

__all__ = ["Check", "cell_checks", "check_cell", "example_graphs"]
