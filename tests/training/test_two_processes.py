"""Two processes that train together equal one with batches of twice the size."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
import torch
import two_processes

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows cannot fork")

SCRIPT = Path(two_processes.__file__)
TRAIN, BATCH = two_processes.TRAIN, two_processes.BATCH


def results(out: Path) -> dict[str, list[dict]]:
    """The results of one process and of two, by case."""
    folders = [SCRIPT.parents[2], SCRIPT.parents[1], os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    command = [sys.executable, str(SCRIPT), str(out)]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert result.returncode == 0, result.stderr
    return {
        name: [torch.load(out / f"{name}-{count}.pt", weights_only=True) for count in (1, 2)]
        for name in two_processes.CASES
    }


def test_two_processes_equal_one_with_the_doubled_batch(tmp_path):
    """One test, since two workers of pytest would each train all models."""
    found = results(tmp_path)
    for name, (one, two) in found.items():
        print(name)  # is shown if a check fails
        check_figures(one, two)
        check_batches(one, two)
    (one,), (first, second) = (result["ranks"] for result in found["shuffled"])
    assert one["first_draws"] == first["first_draws"]  # as without others
    assert len({*first["first_draws"], *second["first_draws"]}) == 4


def check_figures(one: dict, two: dict) -> None:
    """Weights and metrics are the same."""
    assert one["steps"] == two["steps"] == 2 * -(-TRAIN // BATCH)
    for ours, theirs in zip(one["weights"].items(), two["weights"].items(), strict=True):
        assert ours[0] == theirs[0]
        torch.testing.assert_close(ours[1], theirs[1], rtol=1e-4, atol=1e-5)
    for ours, theirs in zip(one["figures"], two["figures"], strict=True):
        assert {"loss", *ours} == theirs.keys()
        assert ours == pytest.approx(theirs, rel=1e-4)


def check_batches(*found: dict) -> None:
    """Every example is seen once an epoch, in the same batches."""
    (one,), (first, second) = (result["ranks"] for result in found)
    for whole, *shares in zip(one["seen"], first["seen"], second["seen"], strict=True):
        assert sorted(chain(*whole)) == list(range(TRAIN))
        for batch, *parts in zip(whole, *shares, strict=True):
            # A batch of one: the second process also computes it, but it does not count.
            parts = parts[: len(batch)]
            assert sorted(batch) == sorted(chain(*parts))
            assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert one["seen"][0] != one["seen"][1]
