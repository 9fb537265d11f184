"""Every model on a GPU: it computes what it does on the CPU, trains, and is saved."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
import torch
from on_gpu import needs_gpu
from test_contextual_models import NAMES, contextual, examples, plain

from graphsent.cli import main
from graphsent.models import load_pretrained, model_class
from graphsent.training import TrainingOptions
from graphsent.training.optimizers import build_optimizers, take_step

pytestmark = needs_gpu

OPTIONS = [
    *((name, {}) for name in NAMES),
    ("treelstm", {"cell": "childsum"}),
    ("treelstm", {"leaf": "affine"}),
    ("treelstm", {"sparse_embedding": True}),
    ("bitreelstm", {"lexicalized": False}),
    ("arnn", {"cell": "gru", "attention": "none"}),
    ("sequence", {"cell": "gru", "bidirectional": True}),
    ("arnn-relatedness", {"attention": "dynamic"}),
]
EVERY = pytest.mark.parametrize(
    ("name", "options"), OPTIONS, ids=["-".join([n, *map(str, o.values())]) for n, o in OPTIONS]
)


def outcome(model, data, device):
    """Logits, loss and all gradients, on the CPU."""
    model = copy.deepcopy(model).to(device)
    for module in model.modules():
        module.train(isinstance(module, torch.nn.RNNBase))  # cuDNN has no gradients otherwise
    batch = model.collate(data).to(device)
    logits = model(batch)
    assert logits.device.type == device
    loss = model.loss(logits, batch)
    loss.backward()
    gradients = {
        f"gradient of {name}": each.grad.to_dense()
        for name, each in model.named_parameters()
        if each.grad is not None
    }
    return {
        name: value.detach().cpu()
        for name, value in {"logits": logits, "loss": loss, **gradients}.items()
    }


@EVERY
def test_logits_and_gradients_are_those_of_the_cpu(name, options):
    model, data = plain(name, 12, **options).double(), examples(name, 12)
    torch.testing.assert_close(
        outcome(model, data, "cuda"), outcome(model, data, "cpu"), rtol=1e-9, atol=1e-9
    )


@EVERY
def test_predictions_are_those_of_the_cpu(name, options, tmp_path):
    model, data = plain(name, 12, **options), examples(name, 12)
    expected = model.predict(data)
    model.to("cuda")
    found = model.predict(data)
    model.save_pretrained(tmp_path)
    loaded = load_pretrained(tmp_path)
    assert next(loaded.parameters()).device.type == "cpu"
    again = loaded.predict(data)
    for others in (found, again):
        if model_class(name).examples == "pairs":
            np.testing.assert_allclose(others, expected, atol=1e-5)
            continue
        for one, other in zip(others, expected, strict=True):
            np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-5)


@EVERY
def test_it_trains(name, options):
    model, data = plain(name, 12, **options).train().to("cuda"), examples(name, 20)
    optimizers = build_optimizers(model, TrainingOptions(optimizer="adam", lr=0.01))
    losses = []
    for _ in range(30):
        batch = model.collate(data).to("cuda")
        loss = model.loss(model(batch), batch)
        model.zero_grad()
        loss.backward()
        take_step(optimizers)
        model.after_step()
        losses.append(float(loss.detach()))
    assert np.mean(losses[-5:]) < losses[0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tuned", [False, True])
def test_with_an_encoder(name, tuned):
    model, data = contextual(name, tuned=tuned).double(), examples(name)
    torch.testing.assert_close(
        outcome(model, data, "cuda"), outcome(model, data, "cpu"), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize(
    ("model", "precision"),
    [
        *(("treelstm", each) for each in ("float32", "tf32", "bfloat16")),
        *((each, "float32") for each in ("bitreelstm", "sequence", "dcnn", "kimcnn")),
        ("dcnn", "bfloat16"),
    ],
)
def test_the_command_trains_and_resumes(model, precision, tmp_path, capsys):
    """A run on a GPU ends with a model that the CPU can read; it is resumed on the GPU."""
    run = tmp_path / "run"
    command = ["train", "--task", "sst5", "--model", model, "--out", str(run), "--device", "cuda"]
    assert main([*command, "--epochs", "1", "--precision", precision, "--test"]) == 0
    results = json.loads((run / "results.json").read_text())
    assert results["finished"]
    assert main(["train", "--resume", str(run), "--epochs", "2"]) == 0
    assert len(json.loads((run / "results.json").read_text())["history"]) == 2
    figures = []
    for device in ("cpu", "cuda"):
        written = tmp_path / f"{device}.json"
        command = ["evaluate", str(run), "--device", device, "--json", str(written)]
        assert main(command) == 0
        figures.append(json.loads(written.read_text())["metrics"])
    assert figures[1] == pytest.approx(figures[0], abs=0.5)
    capsys.readouterr()
    tree = "(3 (2 Good) (2 film))"
    for command in ("predict", "encode"):
        for device in ("cpu", "cuda"):
            out = tmp_path / f"{command}-{device}.jsonl"
            assert main([command, str(run), tree, "--device", device, "--out", str(out)]) == 0
            assert len(out.read_text().splitlines()) == 1
