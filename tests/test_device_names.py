"""Devices by name."""

from __future__ import annotations

import pytest
import torch

from graphsent._devices import find_device


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.mark.parametrize("name", ["cpu", "cuda", "cuda:0", "cuda:1"])
def test_devices_that_exist(two_gpus, name):
    assert find_device(name) == torch.device(name)


@pytest.mark.parametrize("name", ["cuda:2", "cuda:128", "cuda:256", "cuda:99999999999999999999"])
def test_gpus_that_do_not_exist(two_gpus, name):  # torch reads 256 as 0
    with pytest.raises(ValueError, match=f"{name} is not available; torch sees 2 GPUs"):
        find_device(name)


@pytest.mark.parametrize(
    "name", ["", "tpu", "mps", "meta", "cuda:-1", "cuda:x", "cuda:01", "cpu:1"]
)
def test_other_names(two_gpus, name):
    with pytest.raises(ValueError, match=f"expected cpu, cuda or cuda:N, got '{name}'"):
        find_device(name)
