"""The cells of the package pass the checks that cells of users are to pass."""

from __future__ import annotations

import pytest
from cell_contract import ROWS

CHECKS = [pytest.param(check, id=f"{row.name}-{check}") for row in ROWS for check in row.checks()]


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check):
    check()
