"""The cells of the package pass the checks for custom cells."""

from __future__ import annotations

import pytest
from cell_contract import ROWS

CHECKS = [pytest.param(check, id=f"{row.name}-{check}") for row in ROWS for check in row.checks()]


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check):
    check()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_checkpoints_without_compiled_kernels(row, monkeypatch):
    monkeypatch.setenv("GRAPHSENT_KERNELS", "0")
    checks = [check for check in row.checks() if str(check).startswith("checkpointing")]
    assert checks
    for check in checks:
        check()
