"""The GPU benchmark, as far as it runs without one."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import pytest
import torch
from torch.autograd import DeviceType
from toy_treebank import write_treebank


@pytest.fixture(scope="module")
def gpu():
    return importlib.import_module("gpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_benchmark_exits_with_a_message(gpu):
    with pytest.raises(SystemExit, match=r"^error: torch finds no GPU, there is nothing"):
        gpu.main([])


def test_kernels_are_counted(gpu):
    def event(device, name="kernel", **more):
        return SimpleNamespace(device_type=device, name=name, **more)

    events = [
        event(DeviceType.CPU, "aten::mm"),
        event(DeviceType.CUDA),
        event(DeviceType.CUDA, is_user_annotation=False),
        event(DeviceType.CUDA, is_user_annotation=True),
        event(DeviceType.CUDA, "Optimizer.step#Adagrad.step"),
    ]
    assert gpu.num_kernels(events) == 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_table_has_time_launches_and_floor(gpu, tmp_path, dtype, monkeypatch):
    write_treebank(tmp_path)
    corpus = gpu.Corpus(tmp_path, 0)
    graphs = [corpus.batch(corpus.trees).graph] * 2
    monkeypatch.setattr(gpu, "launches", lambda epoch: epoch() or 600)
    monkeypatch.setattr(gpu, "smallest_launch", lambda device: 1e-5)
    model = gpu.Model(gpu.NaryTreeLSTM(*gpu.SIZES), len(corpus.vocab))
    text = gpu.table(model, graphs, torch.device("cpu"), dtype, 2)
    assert "smallest launch: 10.00 microseconds" in text
    by_levels = f"{300 / gpu.num_levels(graphs):.1f}"
    epoch, slowest, *others = text.splitlines()[-1].strip("| ").split(" | ")
    assert 0 < float(epoch) <= float(slowest)
    assert others == ["300", by_levels, "0.006"]


def test_steps_change_the_output_layer_and_not_the_word_table(gpu, tmp_path):
    write_treebank(tmp_path)
    corpus = gpu.Corpus(tmp_path, 0)
    model = gpu.Model(gpu.NaryTreeLSTM(*gpu.SIZES), len(corpus.vocab))
    trained = gpu.Trained(model, torch.device("cpu"), torch.float64)
    trained.epoch([corpus.batch(corpus.trees).graph])
    assert trained.model.output.weight.dtype == torch.float64
    assert not torch.equal(trained.model.output.weight, model.output.weight.double())
    assert torch.equal(trained.model.table.weight, model.table.weight.double())


def test_smallest_launch(gpu):
    assert 0 < gpu.smallest_launch(torch.device("cpu")) < 0.01
