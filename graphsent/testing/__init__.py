"""Contract tests for cells of your own, as those of the package pass them.

In a test module, with the class of a cell or a function of two sizes that makes one::

    from graphsent.testing import check_cell


    def test_my_cell():
        check_cell(MyCell)

or with a test for each check::

    @pytest.mark.parametrize("check", cell_checks(MyCell), ids=str)
    def test_my_cell(check):
        check()
"""

from graphsent.testing.checks import Check, cell_checks, check_cell
from graphsent.testing.example_graphs import example_graphs

__all__ = ["Check", "cell_checks", "check_cell", "example_graphs"]
