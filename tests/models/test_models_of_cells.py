"""Properties of every model of the papers' cells and every sequential baseline, in one table."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from toy_sentences import EMBEDDING_DIM, HIDDEN, NUM_CLASSES, VOCABULARY, pairs, sentences

from graphsent.errors import ModelError
from graphsent.models import (
    ARNNClassifier,
    ARNNRelatedness,
    BiTreeLSTMClassifier,
    Model,
    SequenceClassifier,
    SequenceRelatedness,
    TreeNetClassifier,
    load_pretrained,
)
from graphsent.propagation import PropagationError
from graphsent.propagation.topological.prop_nodes_topo import prop_nodes_topo_of_dgl


class Row(NamedTuple):
    cls: type[Model]
    options: dict[str, Any]
    kind: str  # of the trees, or "pairs"


SMALL = {"embedding_dim": EMBEDDING_DIM, "hidden": HIDDEN}
BI = {**SMALL, "readout": 16}
ROWS = [
    Row(BiTreeLSTMClassifier, BI, "constituency"),
    Row(BiTreeLSTMClassifier, {**BI, "lexicalized": False}, "constituency"),
    Row(BiTreeLSTMClassifier, {**BI, "td_root": "bu_root"}, "constituency"),
    Row(BiTreeLSTMClassifier, {**BI, "directions": "up"}, "constituency"),
    Row(BiTreeLSTMClassifier, {**BI, "directions": "up", "lexicalized": False}, "constituency"),
    Row(BiTreeLSTMClassifier, {**BI, "directions": "down"}, "constituency"),
    Row(BiTreeLSTMClassifier, {**BI, "directions": "down", "lexicalized": False}, "constituency"),
    Row(TreeNetClassifier, SMALL, "constituency"),
    Row(TreeNetClassifier, SMALL, "dependency"),
    *(
        Row(ARNNClassifier, {**SMALL, "cell": cell, "attention": attention}, "dependency")
        for cell in ("lstm", "gru")
        for attention in ("static", "dynamic", "none")
    ),
    Row(ARNNClassifier, {**SMALL, "memory": "attended", "gate_output": False}, "constituency"),
    *(
        Row(SequenceClassifier, {**SMALL, "cell": cell, "bidirectional": both}, "constituency")
        for cell in ("lstm", "gru")
        for both in (False, True)
    ),
    *(
        Row(ARNNRelatedness, {**SMALL, "cell": cell, "attention": attention}, "pairs")
        for cell in ("lstm", "gru")
        for attention in ("static", "dynamic", "none")
    ),
    Row(ARNNRelatedness, {**SMALL, "attention": "dynamic", "attend_by": "other"}, "pairs"),
    Row(SequenceRelatedness, SMALL, "pairs"),
    Row(SequenceRelatedness, {**SMALL, "cell": "gru", "bidirectional": True}, "pairs"),
]
IDS = [f"{row.cls.name}-{'-'.join(map(str, list(row.options.values())[2:]))}" for row in ROWS]
every_model = pytest.mark.parametrize("row", ROWS, ids=IDS)


def build(row: Row, **options) -> Model:
    classes = 5 if row.kind == "pairs" else NUM_CLASSES
    return row.cls(VOCABULARY, classes, **{**row.options, **options})


def examples(row: Row, number: int = 20) -> list:
    return pairs(number) if row.kind == "pairs" else sentences(row.kind, number)


def figures(row: Row, model: Model, data: list) -> np.ndarray:
    """All predictions of the model in one array."""
    predicted = model.predict(data)
    if row.kind == "pairs":
        return predicted
    return np.concatenate([prediction.probabilities for prediction in predicted])


def agreement(model: Model, row: Row, data: list) -> float:
    """Accuracy over labelled units, or the correlation of scores."""
    batch = model.collate(data)
    if row.kind == "pairs":
        return float(np.corrcoef(model.predict(data), batch.gold.numpy())[0, 1])
    labelled = batch.gold >= 0  # binarizing adds nodes without labels
    with torch.no_grad():
        right = model(batch).argmax(1) == batch.gold
    return float(right[labelled].float().mean())


@every_model
def test_memorizes_twenty_sentences(row):
    model = build(row, dropout=0.0, embedding_dropout=0.0)
    data = examples(row)
    batch = model.collate(data)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for update in range(200):
        if update % 10 == 0 and agreement(model, row, data) > 0.95:
            return
        optimizer.zero_grad()
        model.loss(model(batch), batch).backward()
        optimizer.step()
    assert agreement(model, row, data) > 0.95


@every_model
def test_a_result_does_not_depend_on_the_batch(row):
    model = build(row).double()
    data = examples(row, 8)
    together = figures(row, model, data)
    alone = np.concatenate([figures(row, model, [example]) for example in data])
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-6)  # figures are float32
    shuffled = model.predict(data[::-1], batch_size=3)[::-1]
    if row.kind != "pairs":
        shuffled = np.concatenate([prediction.probabilities for prediction in shuffled])
    np.testing.assert_allclose(together, shuffled, rtol=0, atol=1e-6)


def runs_over_graphs(row: Row) -> bool:
    return row.cls not in (SequenceClassifier, SequenceRelatedness)


@every_model
def test_engines_agree(row, monkeypatch):
    model, data = build(row).double().eval(), examples(row, 6)
    batch = model.collate(data)
    chosen = []  # of each cell
    monkeypatch.setattr(
        "graphsent.cells.base.resolve_engine", lambda engine: chosen.append(engine) or engine
    )
    if not runs_over_graphs(row):
        model.engine = "auto"
        with pytest.raises(ModelError, match=f"{row.cls.name} has no cells that run over graphs"):
            model.engine = "dgl"
        return
    results = []
    for engine in ("dgl", "levels"):
        model.engine = engine
        assert copy.deepcopy(model).engine == engine
        model.zero_grad()
        outputs = model(batch)
        model.loss(outputs, batch).backward()
        gradients = [part.grad for part in model.parameters() if part.grad is not None]
        results.append([outputs.detach(), *gradients])
        with suppress(AttributeError, ModelError):  # of models without edge weights
            model.edge_weights(data)
        assert set(chosen) == {engine}
        chosen.clear()
    torch.testing.assert_close(*results, rtol=1e-10, atol=1e-10)


def test_the_chosen_engine_is_the_one_that_runs(monkeypatch):
    model = build(ROWS[0])
    batch = model.collate(examples(ROWS[0], 2))
    runs = []

    def counting(*args, **kwargs):
        runs.append(model.engine)
        return prop_nodes_topo_of_dgl(*args, **kwargs)

    monkeypatch.setattr("graphsent.cells.base.prop_nodes_topo_of_dgl", counting)
    for model.engine in ("auto", "levels", "dgl"):
        model(batch)
    assert set(runs) == {"dgl"}


def test_unknown_engines():
    with pytest.raises(PropagationError, match="unknown engine 'fast': expected one of auto"):
        build(ROWS[0]).engine = "fast"


@every_model
def test_units_of_a_batch_are_those_of_its_members(row):
    model = build(row).double().eval()
    data = examples(row, 6)
    with torch.no_grad():
        together = model(model.collate(data))
        alone = torch.cat([model(model.collate([example])) for example in data])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)
    batch = model.collate(data)
    assert len(batch.roots) == len(data)
    assert len(together) == len(batch.gold)


@every_model
def test_saved_and_loaded_it_predicts_the_same(row, tmp_path):
    model = build(row)
    data = examples(row, 5)
    model.save_pretrained(tmp_path / "model")
    loaded = load_pretrained(tmp_path / "model")
    assert type(loaded) is row.cls
    assert loaded.config == row.cls.from_pretrained(tmp_path / "model").config
    np.testing.assert_array_equal(figures(row, model, data), figures(row, loaded, data))


@every_model
def test_every_parameter_gets_a_gradient(row):
    model = build(row).double()
    batch = model.collate(examples(row))
    model.loss(model(batch), batch).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


@every_model
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_equal(row, copied: Callable[[Model], Model]):
    model = build(row)
    data = examples(row, 4)
    np.testing.assert_array_equal(figures(row, model, data), figures(row, copied(model), data))


@every_model
def test_sentences_have_vectors(row):
    model = build(row)
    trees = sentences("dependency" if row.kind == "pairs" else row.kind, 7)
    if row.options.get("attend_by") == "other":
        with pytest.raises(ModelError, match="expected pairs, got single sentences"):
            model.encode(trees)
        return
    vectors = model.encode(trees)
    assert vectors.dtype == np.float32
    assert vectors.shape == (7, model.encode([]).shape[1])
    np.testing.assert_allclose(vectors[:1], model.encode(trees[:1]), atol=1e-6)


@every_model
def test_a_batch_moves_with_all_its_tensors(row):
    batch = build(row).collate(examples(row, 3)).to("meta")
    tensors = [part for part in batch if isinstance(part, torch.Tensor)]
    assert len(tensors) >= 2
    assert all(tensor.is_meta for tensor in tensors)


def test_the_papers_trees_are_the_default():
    assert BiTreeLSTMClassifier.tree_kind == TreeNetClassifier.tree_kind == "constituency"
    assert ARNNClassifier.tree_kind == ARNNRelatedness.tree_kind == "dependency"
