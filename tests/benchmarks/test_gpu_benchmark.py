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


def test_the_table_has_a_row_per_model_and_batch_size(gpu, tmp_path, monkeypatch, capsys):
    write_treebank(tmp_path)
    of_cpu = gpu.Run.measure

    def measure(run, *arguments):
        milliseconds, _ = of_cpu(run._replace(device="cpu"), *arguments)
        return milliseconds, 3000 if run.device == "cuda" else 0

    monkeypatch.setattr(gpu.Run, "measure", measure)
    monkeypatch.setattr(gpu, "smallest_launch", lambda device: 1e-5)
    monkeypatch.setattr(gpu, "gpu_name", lambda: "a GPU")
    options = ["--models=treelstm,kimcnn", "--batch-sizes=2,4", "--steps=1", "--rounds=1"]
    gpu.main([f"--data-dir={tmp_path}", *options])
    lines = capsys.readouterr().out.splitlines()
    assert "smallest launch: 10.00 microseconds" in lines
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")][2:]
    assert [row[:2] for row in rows[:2]] == [["treelstm", "2"], ["treelstm", "4"]]
    assert [row[0] for row in rows[2:]] == ["kimcnn"]
    for _, _, *times, count, floor in rows:
        assert all(float(each) > 0 for each in times)
        assert (count, floor) == ("600", "6.0")


def test_smallest_launch(gpu):
    assert 0 < gpu.smallest_launch(torch.device("cpu")) < 0.01
