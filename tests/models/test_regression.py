"""Models with one output predict numbers; pairs are scored in any range, or classified."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from toy_sentences import EMBEDDING_DIM, HIDDEN, VALUES, VOCABULARY, pairs, sentences

from graphsent.errors import ModelError
from graphsent.models import (
    APDCNN,
    ARNNRelatedness,
    BiTreeLSTMClassifier,
    KimCNN,
    NBoW,
    Sentence,
    SequenceRelatedness,
    TreeLSTMClassifier,
    TreeNetClassifier,
    TreePair,
    load_pretrained,
    regression_loss,
)
from graphsent.models.heads.scores import ScoreOutput
from graphsent.trees import Tree

MODELS = {
    "nbow": lambda: NBoW(VOCABULARY, 1, 4),
    "treelstm": lambda: TreeLSTMClassifier(VOCABULARY, 1, 4, HIDDEN),
    "bitreelstm": lambda: BiTreeLSTMClassifier(VOCABULARY, 1, EMBEDDING_DIM, HIDDEN, 5),
    "treenet": lambda: TreeNetClassifier(VOCABULARY, 1, 4, HIDDEN),
    "kimcnn": lambda: KimCNN(VOCABULARY, 1, 4),
    "apdcnn": lambda: APDCNN(VOCABULARY, 1, 4, HIDDEN),
}


def scored(number: int = 12) -> list[Tree]:
    """Trees whose root has a large number as its label, and other nodes none or a tag."""
    trees = sentences("constituency", number)
    return [
        Tree(
            (f"{1000 + 50 * sum(VALUES[word] for word in tree.words):.1f}", *tags(tree)),
            tree.tokens,
            tree.parents,
        )
        for tree in trees
    ]


def tags(tree: Tree) -> list[str]:
    return ["", "NP", "nan", "inf"][: tree.num_nodes - 1] + ["X"] * (tree.num_nodes - 5)


@pytest.mark.parametrize("name", MODELS)
def test_autocast_does_not_round_scores(name):
    model, trees = MODELS[name](), scored()
    model.init_scores(trees)
    batch = model.eval().collate(trees)
    with torch.no_grad():
        expected = model(batch)
        with torch.autocast("cpu", torch.bfloat16):
            found = model(batch)
            loss = model.loss(found, batch)
    # Around 1000, numbers of bfloat16 are 4 to 8 apart.
    deviation = float(np.std([float(tree.labels[0]) for tree in trees]))
    torch.testing.assert_close(found, expected, rtol=0, atol=0.02 * deviation)
    assert found.dtype == loss.dtype == torch.float32
    torch.testing.assert_close(loss, model.loss(expected, batch), rtol=0.05, atol=0)


def test_gold_scores_are_not_rounded_to_half_precision():
    """In the 8 bits of bfloat16, 4.7 would be 4.6875."""
    batch = SimpleNamespace(gold=torch.tensor([4.7]), roots=torch.tensor([0]))
    outputs, one = torch.tensor([[4.6875]]).bfloat16(), torch.ones(()).bfloat16()
    loss = regression_loss(outputs, batch, deviation=one)
    assert float(loss) == pytest.approx(0.0125**2, rel=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_squared_error_in_units_of_the_training_deviation(name, tmp_path):
    model, trees = MODELS[name](), scored()
    gold = np.array([float(tree.labels[0]) for tree in trees])
    model.init_scores(trees)
    assert model.goal == "regression"
    scores = model.predict(trees, batch_size=5)
    assert scores.shape == (len(trees),)
    assert scores.dtype == np.float32
    model.eval()
    batch = model.collate(trees)
    np.testing.assert_allclose(batch.gold[batch.roots], gold, rtol=1e-6)
    expected = (((scores - gold) / gold.std()) ** 2).mean()
    for nodes in ("all", "root"):
        loss = model.loss(model(batch), batch, nodes)
        assert float(loss.detach()) == pytest.approx(expected, rel=1e-3)
    model.save_pretrained(tmp_path / "model")
    loaded = load_pretrained(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(trees), scores)
    assert loaded.encode(trees[:2]).shape[0] == 2


def test_phrases_have_scores_too():
    model = KimCNN(VOCABULARY, 1, 4, phrases=True)
    tree = Tree.from_string("(2.5 (1e1 good) (X film))")
    batch = model.collate([tree, Sentence(["dull"]), Sentence(["dull", "film"], "-3")])
    known = batch.gold[~batch.gold.isnan()]
    assert known.tolist() == [2.5, 10, -3]
    assert len(batch.gold) == 4
    model.init_scores([tree])
    assert float(model.output.mean) == 6.25
    expected = (2.5**2 + 10**2 + 3**2) / 3 / 3.75**2
    assert float(model.loss(torch.zeros(4, 1), batch)) == pytest.approx(expected)


def test_it_learns_scores_of_any_unit():
    model, trees = NBoW(VOCABULARY, 1, 4, dropout=0.0), scored(30)
    model.init_scores(trees)
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    batch = model.collate(trees)
    for _ in range(60):
        optimizer.zero_grad()
        model.loss(model(batch), batch).backward()
        optimizer.step()
    gold = [float(tree.labels[0]) for tree in trees]
    assert np.corrcoef(model.predict(trees), gold)[0, 1] > 0.95
    assert abs(model.predict(trees).mean() - np.mean(gold)) < 10


def test_equal_scores_and_no_scores():
    model = NBoW(VOCABULARY, 1, 4)
    model.init_scores([Sentence(["good"], "7"), Sentence(["film"], "7")])
    assert (float(model.output.mean), float(model.output.deviation)) == (7, 1)
    with pytest.raises(ModelError, match="no training example has a number as its score"):
        model.init_scores([Sentence(["good"], label) for label in ("x", "1_000", "1e39")])
    with pytest.raises(ModelError, match="fusion='late' adds logits"):
        APDCNN(VOCABULARY, 1, 4, 5, fusion="late")


@pytest.mark.parametrize("cls", [ARNNRelatedness, SequenceRelatedness])
def test_pairs_with_scores_of_any_range(cls, tmp_path):
    model = cls(VOCABULARY, 1, 4, 3, 6).eval()
    data = [pair._replace(score=100 * pair.score) for pair in pairs(6)]
    data.append(TreePair(*data[0][:2]))
    model.init_scores(data)
    gold = np.array([pair.score for pair in data[:-1]])
    scores = model.predict(data)
    batch = model.collate(data)
    expected = (((scores[:-1] - gold) / gold.std()) ** 2).sum() / 7
    assert float(model.loss(model(batch), batch).detach()) == pytest.approx(expected, rel=1e-4)
    assert math.isnan(batch.gold[-1])
    model.save_pretrained(tmp_path / "model")
    np.testing.assert_array_equal(load_pretrained(tmp_path / "model").predict(data), scores)
    for score in (math.nan, math.inf, -1e39):
        with pytest.raises(ModelError, match="pair 1: expected a score from -3e"):
            model.collate([data[0]._replace(score=score)])


@pytest.mark.parametrize("cls", [ARNNRelatedness, SequenceRelatedness])
def test_classes_of_pairs(cls, tmp_path):
    names = ("other", "alike")
    model = cls(VOCABULARY, 2, 8, HIDDEN, 8, goal="classification", label_names=names)
    data = [pair._replace(label=str(int(pair.score > 2))) for pair in pairs(30)]
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    batch = model.collate([*data, TreePair(*data[0][:2])])
    assert batch.gold.tolist() == [*(int(pair.label) for pair in data), -1]
    for _ in range(60):
        optimizer.zero_grad()
        model.loss(model(batch), batch).backward()
        optimizer.step()
    model.save_pretrained(tmp_path / "model")
    predictions = load_pretrained(tmp_path / "model").predict(data)
    right = [each.label == int(pair.label) for each, pair in zip(predictions, data, strict=True)]
    assert np.mean(right) > 0.9
    assert predictions[0].name == names[predictions[0].label]
    found = predictions[0].to_dict()
    assert found["first"] == " ".join(data[0].first.words)
    assert sum(found["probabilities"]) == pytest.approx(1, abs=1e-5)
    with pytest.raises(ModelError, match="has 2 classes, 0 to 1, but a pair has the label 2"):
        model.collate([data[0]._replace(label="2")])


@pytest.mark.parametrize("score", [0.1, 3.7, 1 / 3])
def test_equal_scores_have_a_deviation_of_1(score):
    output = ScoreOutput(3)
    output.fit([score] * 15)
    assert output.deviation == 1


def test_scores_that_single_precision_cannot_tell_apart():
    times = [1_700_000_000 + number for number in range(21)]
    model = NBoW(VOCABULARY, 1, 4)
    with pytest.raises(ModelError, match=r"a mean of 1700000010 and .* subtract a number near the"):
        model.init_scores([Sentence(["film"], str(time)) for time in times])
    model.init_scores([Sentence(["film"], str(time - times[0])) for time in times])
    assert model.output.mean == 10
