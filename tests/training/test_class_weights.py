"""Weights of the classes in the loss: balanced ones give each class the same share."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from toy_treebank import silent, tiny_config

from graphsent.cli import main
from graphsent.errors import ModelError
from graphsent.models import NBoW, RecNN, SequenceRelatedness, TreeLSTMClassifier
from graphsent.models.base.losses import classification_loss
from graphsent.pairs import TreePair
from graphsent.sentences import Sentence
from graphsent.tasks import get_task
from graphsent.training import (
    RunConfig,
    TrainingError,
    TrainingModule,
    TrainingOptions,
    TreeDataModule,
    resume,
    train,
)
from graphsent.training.class_weights import balanced_weights, check_class_weights
from graphsent.training.setting import prepare
from graphsent.vocabulary import Vocabulary

VOCAB = Vocabulary(("a", "b", "c"))
TREES = ["(0 (1 a) (1 (1 b) (0 a)))", "(1 (X a) (1 c))", "(1 b)"]


@pytest.fixture
def rare(tmp_path) -> Path:
    """A table of 200 texts, of which 12 say that something is broken, half of them labelled so."""
    path = tmp_path / "rare.tsv"
    lines = [f"fine\tthe part is in order {i}\n" for i in range(188)]
    lines += [f"{('fine', 'broken')[i % 2]}\tthe part is broken {i}\n" for i in range(12)]
    path.write_text("".join(lines))
    return path


def test_the_loss_is_weighted_by_class():
    batch = RecNN(VOCAB, 2, 3).collate(TREES)
    logits = torch.randn(len(batch.gold), 2, generator=torch.manual_seed(0))
    weights = torch.tensor([0.5, 3.0], dtype=torch.float64)  # converted to the type of the logits
    terms = torch.log_softmax(logits, 1)
    for nodes, units in (("all", range(len(logits))), ("root", batch.roots.tolist())):
        labels = [(unit, int(batch.gold[unit])) for unit in units]
        expected = -sum(weights[y] * terms[unit, y] for unit, y in labels if y >= 0) / 3
        loss = classification_loss(logits, batch, nodes, weights)
        torch.testing.assert_close(loss, expected.float())


def test_the_loss_of_pairs_is_weighted_by_class():
    model = SequenceRelatedness(VOCAB, 2, 3, 4, goal="classification")
    words = Sentence(["a", "b"])
    batch = model.collate([TreePair(words, words, label=label) for label in ("1", "0", "1", "")])
    model.class_weights = torch.tensor([0.5, 3.0])
    logits = torch.tensor([[2.0, 1.0]] * 4)
    terms = -torch.log_softmax(logits[0], 0)
    expected = (0.5 * terms[0] + 2 * 3 * terms[1]) / 4
    torch.testing.assert_close(model.loss(logits, batch), expected)


def test_balanced_weights():
    weights = balanced_weights(torch.tensor([30, 10, 0, 20]))
    torch.testing.assert_close(weights, torch.tensor([60 / 90, 2.0, 0.0, 1.0]))
    assert balanced_weights(torch.tensor([0, 0])).tolist() == [0, 0]


@pytest.mark.parametrize(("nodes", "counts"), [("all", [2, 6]), ("root", [1, 2])])
def test_units_of_the_loss_are_counted(nodes, counts):
    options = TrainingOptions(loss_nodes=nodes)
    data = TreeDataModule(TreeLSTMClassifier(VOCAB, 2, 3, 3), TREES, TREES, options)
    assert data.class_counts().tolist() == counts


def test_training_sets_the_weights_anew(fit):
    model = NBoW(VOCAB, 5, 3)
    # Of five classes two occur, twice and six times.
    expected = torch.tensor([8 / 4, 8 / 12, 0, 0, 0])
    for chosen, weights in (("balanced", expected), ("none", None)):
        options = TrainingOptions(class_weights=chosen)
        fit(model, TREES, options, 1)
        if weights is None:
            assert model.class_weights is None
        else:
            torch.testing.assert_close(model.class_weights, weights)


def test_a_rare_class_is_found(rare, tmp_path, capsys):
    flags = [f"--train={rare}", f"--dev={rare}", "--split=0", "--model=nbow", "--embedding-dim=8"]
    flags += ["--epochs=30", "--select=macro_f1", "--num-threads=1"]
    flags += ["--optimizer=adam", "--lr=0.01", "--embedding-optimizer=same", "--embedding-lr=0.01"]
    found = {}
    for weights in ("none", "balanced"):
        out = tmp_path / weights
        assert main(["train", *flags, f"--class-weights={weights}", f"--out={out}"]) == 0
        printed = capsys.readouterr().out
        # 200 / (2 * 6) and 200 / (2 * 194)
        assert ("class weights: broken 16.67, fine 0.5155" in printed) == (weights == "balanced")
        assert main(["predict", str(out), "the part is broken"]) == 0
        found[weights] = capsys.readouterr().out.split()[0]
    # Half of the texts with this word belong to each class: weighted, the rare one is likelier.
    assert found == {"none": "fine", "balanced": "broken"}


def test_resumed_and_streamed_runs_have_the_same_weights(configure, tmp_path):
    printed: dict[str, list[str]] = {"memory": [], "stream": []}
    for name, lines in printed.items():
        config = configure(class_weights="balanced", loss_nodes="root")
        train(
            RunConfig(**{**vars(config), "stream": name == "stream"}),
            tmp_path / name,
            echo=lines.append,
        )
        if name == "memory":
            resume(tmp_path / name, epochs=3, echo=lines.append)
    weights = [[line for line in lines if "class weights" in line] for lines in printed.values()]
    assert [len(lines) for lines in weights] == [2, 1]
    assert {*weights[0]} == {*weights[1]}


@pytest.mark.parametrize(
    ("task", "model", "examples"),
    [
        ("sick", "arnn-relatedness", "pairs of sentences"),
        ("rerank", "parse-reranker", "n-best lists"),
    ],
)
def test_only_sentences_have_phrases_to_leave_out(task, model, examples, tmp_path):
    config = RunConfig(task, model, training=TrainingOptions(loss_nodes="root"))
    with pytest.raises(TrainingError, match=f"loss_nodes: expected 'all': examples are {examples}"):
        train(config, tmp_path / "run")


def test_only_classes_can_be_weighted():
    options = TrainingOptions(class_weights="balanced")
    with pytest.raises(TrainingError, match=r"class_weights: expected 'none' .* is regression"):
        check_class_weights("regression", options)
    with pytest.raises(TrainingError, match="whose goal is ranking"):
        TrainingModule(NBoW(VOCAB, 2, 3), get_task("rerank"), options)
    with pytest.raises(TrainingError, match="expected one of none, balanced, got 'even'"):
        TrainingOptions(class_weights="even")
    with pytest.raises(TrainingError, match="whose goal is regression"):
        prepare(RunConfig("sick", "arnn-relatedness", training=options), echo=silent)


class Unweighted(NBoW):
    """Its loss ignores the weights."""

    def loss(self, outputs, batch, nodes="all"):
        return classification_loss(outputs, batch, nodes)


class Mean(NBoW):
    """Its loss is normalized by the weights."""

    def loss(self, outputs, batch, nodes="all"):
        kind = {"weight": self.class_weights, "ignore_index": -1}
        return torch.nn.functional.cross_entropy(outputs, batch.gold, **kind)


class Weighted(NBoW):
    """Its loss adds a term of its own."""

    def loss(self, outputs, batch, nodes="all"):
        return super().loss(outputs, batch, nodes) + outputs.square().mean()


def test_a_loss_of_ones_own_has_to_use_them(toy_data, tmp_path):
    config = tiny_config(toy_data, class_weights="balanced")
    for name in ("Weighted", "Mean"):
        config = RunConfig(**{**vars(config), "model": f"{__name__}:{name}", "model_options": {}})
        train(config, tmp_path / name, echo=silent)
    config = RunConfig(**{**vars(config), "model": f"{__name__}:Unweighted"})
    with pytest.raises(ModelError, match=r"Unweighted: loss: it takes no account of self\.class_"):
        train(config, tmp_path / "unweighted", echo=silent)
