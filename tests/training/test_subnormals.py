"""No model has subnormal numbers after some training."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import torch
from toy_treebank import silent, write_nbest

from graphsent.cells import ChildSumTreeLSTM
from graphsent.graphs import constituency_batch
from graphsent.models import MODELS, load_pretrained, model_class
from graphsent.training import RunConfig, TrainingModule, flushed_subnormals, train
from graphsent.training.config import default_training
from graphsent.trees import Tree

TINY = torch.finfo(torch.float32).tiny
EXPONENT, FRACTION = 0x7F800000, 0x007FFFFF
SIZES = {"embedding_dim": 12, "hidden": 10, "comparison": 8}
TASKS = {"trees": "sst5", "pairs": "sick", "lists": "rerank"}


def count_subnormals(tensors: Iterable[torch.Tensor]) -> int:
    """Counts subnormal numbers by their bits: a processor that flushes them sees zeros."""
    count = 0
    for tensor in tensors:
        values = tensor.coalesce().values() if tensor.is_sparse else tensor
        bits = values.detach().float().contiguous().view(torch.int32)
        count += int(((bits & EXPONENT == 0) & (bits & FRACTION != 0)).sum())
    return count


def subnormal_results() -> int:
    """Counts the subnormal numbers in a product of small numbers in this thread."""
    return count_subnormals([torch.full((10,), TINY) * 0.25])


def test_counting_finds_subnormals():
    values = torch.tensor([0.0, -0.0, 1.0, TINY, TINY / 2, -TINY / 4])
    assert count_subnormals([values]) == 2
    assert subnormal_results() == 10


@pytest.mark.parametrize("name", sorted(MODELS))
def test_no_subnormals_after_a_hundred_steps(name, toy_data, tmp_path, monkeypatch):
    """Weights, gradients, optimizer states, outputs: in this thread, and in the saved model."""
    cls = model_class(name)
    task, of_trees = TASKS[cls.examples], cls.examples == "trees"
    steps = {"batch_size": 10, "epochs": 1} if task == "sick" else {"batch_size": 1, "epochs": 3}
    taken = inspect.signature(cls).parameters
    config = RunConfig(
        task,
        name,
        model_options={key: size for key, size in SIZES.items() if key in taken},
        data_dir=str(toy_data) if of_trees else None,
        parses_dir=str(write_nbest(tmp_path)) if task == "rerank" else None,
        tree_kind="constituency" if of_trees and cls.tree_kind != "words" else None,
        training=replace(default_training(name), num_threads=1, **steps),
    )
    found: dict[str, int] = {}

    def count(module: TrainingModule) -> None:
        model, optimizers = module.model, module.trainer.optimizers
        states = [state.values() for each in optimizers for state in each.state.values()]
        values = {
            "weights": list(model.parameters()),
            "gradients": [each.grad for each in model.parameters() if each.grad is not None],
            "optimizers": [part for state in states for part in state],
            "outputs": [model(batch) for batch in module.trainer.val_dataloaders],
        }
        found.update({key: count_subnormals(tensors) for key, tensors in values.items()})
        found["steps"] = module.trainer.fit_loop.total_batch_idx + 1

    end = TrainingModule.on_validation_epoch_end
    monkeypatch.setattr(
        TrainingModule, "on_validation_epoch_end", lambda module: (count(module), end(module))
    )
    train(config, tmp_path / "run", test=False, echo=silent)
    assert found.pop("steps") >= 100
    assert found == {"weights": 0, "gradients": 0, "optimizers": 0, "outputs": 0}
    assert not count_subnormals(load_pretrained(tmp_path / "run" / "model").parameters())


@pytest.mark.parametrize("before", [False, True])
def test_the_setting_is_restored(before):
    torch.set_flush_denormal(before)
    try:
        with suppress(KeyError), flushed_subnormals():
            assert not subnormal_results()
            raise KeyError
        assert subnormal_results() == (0 if before else 10)
    finally:
        torch.set_flush_denormal(False)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_the_setting_is_restored_under_another_default_dtype(dtype):
    try:
        torch.set_default_dtype(dtype)
        for before in (False, True):
            torch.set_flush_denormal(before)
            with flushed_subnormals():
                pass
            assert (torch.tensor(TINY, dtype=torch.float32) / 2 == 0) == before
    finally:
        torch.set_flush_denormal(False)
        torch.set_default_dtype(torch.float32)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) >= "2.3.0", reason="limits are constants")
def test_the_limits_of_numpy_are_known_before():
    """NumPy before 2.3 computes them when they are first asked for, as by pandas for DGL."""
    code = """
from graphsent.training import flushed_subnormals
with flushed_subnormals():
    import numpy.ma
    limits = numpy.finfo("float32")
print(limits.smallest_subnormal > 0)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"


def test_threads_of_torch_flush_too_where_training_starts_them(toy_data, tmp_path):
    """The command trains before torch has started any threads."""
    code = f"""
import torch
from graphsent.training import flushed_subnormals
with flushed_subnormals():
    torch.set_num_threads(2)
    product = torch.full((4_000_000,), {TINY!r}) * 0.25
print(int((product.view(torch.int32) != 0).sum()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "0"


def test_threads_of_the_kernels_compute_as_the_caller_does():
    """Even if the threads were started before."""
    tree = Tree.from_string("(0 (0 (0 a) (0 b)) (0 (0 c) (0 d)))")
    graph = constituency_batch([tree] * 256)
    cell = ChildSumTreeLSTM(4, 4)
    x = torch.full((graph.num_nodes(), 4), 1e-38)
    torch.set_num_threads(2)
    try:
        with torch.no_grad():
            for parameter in cell.parameters():
                parameter.fill_(1e-3)
            cell.W.bias.fill_(0)
            assert count_subnormals([cell(graph, x)])
            with flushed_subnormals():
                assert not count_subnormals([cell(graph, x)])
    finally:
        torch.set_num_threads(1)
