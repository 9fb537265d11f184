from __future__ import annotations

import pytest
import torch
from toy_sentences import EMBEDDING_DIM, HIDDEN, NUM_CLASSES, VOCABULARY, pairs, sentences

from graphsent.errors import ModelError
from graphsent.models import (
    APDCNN,
    ARNNClassifier,
    ARNNRelatedness,
    BiTreeLSTMClassifier,
    RecNN,
    SequenceClassifier,
    TreeNetClassifier,
)
from graphsent.trees import Tree

NUMBERS = [5, 0, 3, 3]


def batches(model, data):
    return model.batches_of(data)(NUMBERS), model.collate([data[number] for number in NUMBERS])


@pytest.mark.parametrize(
    ("cls", "kind"),
    [
        (RecNN, "constituency"),
        (BiTreeLSTMClassifier, "constituency"),
        (TreeNetClassifier, "constituency"),
        (TreeNetClassifier, "dependency"),
        (ARNNClassifier, "dependency"),
        (APDCNN, "constituency"),
        (SequenceClassifier, "constituency"),
        (ARNNRelatedness, "pairs"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_batches_by_index_equal_those_of_collate(cls, kind):
    data = pairs(8) if kind == "pairs" else sentences(kind, 8)
    model = cls(VOCABULARY, 5 if kind == "pairs" else NUM_CLASSES, EMBEDDING_DIM, HIDDEN).eval()
    found, expected = batches(model, data)
    assert torch.equal(found.gold, expected.gold)
    assert torch.equal(found.roots, expected.roots)
    assert torch.equal(model(found), model(expected))


def test_models_of_regression_have_scores():
    trees = [Tree.from_string(f"({number}.5 (1 a) (2 film))") for number in range(8)]
    found, expected = batches(RecNN(VOCABULARY, 1, 4, 4), trees)
    torch.testing.assert_close(found.gold, expected.gold, equal_nan=True)


def test_an_overridden_collate_is_used_for_training():
    class Own(RecNN):
        def collate(self, trees):
            return super().collate(trees)._replace(gold=torch.tensor([7]))

    data = sentences("constituency", 8)
    assert Own(VOCABULARY, 3, 4, 4).batches_of(data)([0]).gold.tolist() == [7]
    model = RecNN(VOCABULARY, NUM_CLASSES, 4, 4)
    model.collate = len
    assert model.batches_of(data)([0, 2]) == 2


def test_a_label_that_is_not_a_class_is_rejected():
    batch_of = RecNN(VOCABULARY, 2, 4, 4).batches_of([Tree.from_string("(9 film)")])
    with pytest.raises(ModelError, match="the model has 2 classes"):
        batch_of([0])
