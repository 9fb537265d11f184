"""Slabs of memory are reused once nobody uses them, and not before."""

import gc

import pytest
import torch

from graphsent.propagation import memory
from graphsent.propagation.memory import empty, kept_bytes, release

LIKE = torch.zeros(1)


@pytest.fixture(autouse=True, scope="module")
def no_garbage():
    """Slabs in cycles of earlier tests would be freed at any time."""
    gc.collect()


@pytest.fixture(autouse=True)
def no_slabs(no_garbage):
    release()
    yield
    release()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("shape", [(0, 3), (2, 3), (300, 400), (7, 100, 101)])
def test_shapes_and_types(shape, dtype):
    tensor = empty(*shape, like=torch.zeros(1, dtype=dtype))
    assert tensor.shape == shape
    assert tensor.dtype == dtype
    assert tensor.is_contiguous()
    tensor.fill_(1)
    assert bool((tensor == 1).all())


def test_a_slab_is_reused_after_its_last_tensor_is_freed():
    tensor = empty(1000, 100, like=LIKE)
    address, view = tensor.data_ptr(), tensor[3:5].t()
    del tensor
    other = empty(1000, 100, like=LIKE)
    assert other.data_ptr() != address
    assert kept_bytes() == 0
    del view
    assert kept_bytes() > 0
    assert empty(1001, 100, like=LIKE).data_ptr() == address


def test_small_tensors_have_no_slab():
    empty(10, 10, like=LIKE)
    assert kept_bytes() == 0


def test_limit(monkeypatch):
    monkeypatch.setattr(memory, "LARGEST_TOTAL", 1_000_000)
    tensors = [empty(500, 300, like=LIKE) for _ in range(3)]
    del tensors
    assert 600_000 <= kept_bytes() <= 1_000_000


def test_beyond_the_limit_the_sizes_used_last_are_kept(monkeypatch):
    monkeypatch.setattr(memory, "LARGEST_TOTAL", 1_000_000)
    addresses = [empty(rows, 100, like=LIKE).data_ptr() for rows in (600, 900, 600, 1200)]
    assert kept_bytes() <= 1_000_000
    assert empty(600, 100, like=LIKE).data_ptr() == addresses[0]
    assert empty(1200, 100, like=LIKE).data_ptr() == addresses[-1]


def test_a_slab_beyond_the_limit_displaces_no_others(monkeypatch):
    monkeypatch.setattr(memory, "LARGEST_TOTAL", 1_000_000)
    empty(500, 300, like=LIKE)
    kept = kept_bytes()
    empty(1000, 300, like=LIKE)
    assert kept_bytes() == kept > 0


def test_limit_fits_the_machine():
    assert 1 << 26 <= memory.LARGEST_TOTAL <= 1 << 30
