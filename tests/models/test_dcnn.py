"""The DCNN: its sizes for each task, what it selects, which rows interact."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from graphsent.errors import ModelError
from graphsent.layers.phrase_convolution import stacked
from graphsent.models import APDCNN, DCNN, KimCNN, MaxTDNN, NBoW, RecNN, Sentence
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["a", "b", "c"])


def sizes(model) -> list[int]:
    """Numbers of parameters without word vectors, from input to output."""
    counts = {name: parameter.numel() for name, parameter in model.named_parameters()}
    layers = range(len(model.config["widths"]))
    return [
        *(
            counts[f"encoder.layers.{kind}.{layer}.{name}"]
            for layer in layers
            for kind, name in (("convolutions", "weight"), ("activations", "bias"))
        ),
        counts["output.weight"] + counts["output.bias"],
    ]


@pytest.mark.parametrize(
    ("task", "num_classes", "expected", "num_features"),
    [
        ("sst2", 2, [2016, 144, 10080, 168, 1346], 672),
        ("sst5", 5, [2880, 144, 12096, 144, 3605], 720),
        ("trec", 6, [1280, 80, 1926], 320),
        ("twitter", 2, [2520, 180, 12600, 210, 1682], 840),
    ],
)
def test_configurations_of_the_paper(task, num_classes, expected, num_features):
    model = DCNN(VOCABULARY, num_classes, **DCNN.task_defaults.get(task, {}))
    assert sizes(model) == expected
    assert model.output.in_features == num_features
    assert model.predict([Sentence(["a"])])[0].probabilities.shape == (1, num_classes)


@pytest.mark.parametrize("model", [APDCNN, DCNN])
def test_a_wrong_size_is_named_as_in_the_call(model):
    with pytest.raises(ModelError, match="embedding_dim: expected at least 1, got 0"):
        model(VOCABULARY, 5, embedding_dim=0)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (NBoW(VOCABULARY, 5), 48 * 5 + 5),
        (MaxTDNN(VOCABULARY, 5), 48 * 6 + 48 + 48 * 5 + 5),
        (KimCNN(VOCABULARY, 5), 300 * 100 * (3 + 4 + 5) + 300 + 300 * 5 + 5),
        (RecNN(VOCABULARY, 5), 3 * 48 * 48 + 48 + 48 * 5 + 5),
        (DCNN(VOCABULARY, 5, 5, widths=(2,), maps=(1,), k_top=1, fold=False), 10 + 5 + 25 + 5),
        # Five rows are padded to six before folding.
        (DCNN(VOCABULARY, 5, 5, widths=(2,), maps=(1,), k_top=1), 12 + 3 + 15 + 5),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_parameter_counts(model, expected):
    total = sum(parameter.numel() for parameter in model.parameters())
    assert total - model.embedding.weight.numel() == expected


def traced(model, sentences: list[list[str]]) -> list[tuple[Tensor, Tensor]]:
    """The maps of the first sentence in each layer, (channels, steps), and their positions."""
    batch = model.collate([Sentence(words) for words in sentences])
    layers = model.encoder.layers.trace(model.word_vectors(batch.tokens), batch.ranges)
    return [
        (values[: ranges[0, 1]].T, places[: ranges[0, 1]].T) for values, ranges, places in layers
    ]


@pytest.mark.parametrize(
    ("k_top", "num_layers", "num_words", "expected"),
    [
        (3, 3, 18, [12, 6, 3]),
        (4, 2, 7, [4, 4]),
        (4, 2, 9, [5, 4]),
        (4, 2, 1, [4, 4]),
        (4, 2, 0, [0, 0]),
    ],
)
def test_how_much_each_layer_keeps(k_top, num_layers, num_words, expected):
    """With a long sentence in the batch, on whose length nothing depends."""
    model = DCNN(VOCABULARY, 2, 8, widths=(5,) * num_layers, maps=(2,) * num_layers, k_top=k_top)
    layers = traced(model, [["a"] * num_words, ["b"] * 40])
    for (values, positions), kept in zip(layers, expected, strict=True):
        assert values.shape[1] == positions.shape[1] == kept
        assert (positions >= 0).all()
        assert (positions.diff() > 0).all()


def one_map(values: dict[str, float], k: int) -> DCNN:
    """One layer that only selects from one row of word vectors."""
    model = DCNN(VOCABULARY, 2, 1, widths=(1,), maps=(1,), k_top=k, fold=False)
    torch.nn.init.ones_(model.encoder.layers.convolutions[0].weight)
    model.init_embeddings(torch.tensor([[values.get(word, 0.0)] for word in VOCABULARY.words]))
    return model


@pytest.mark.parametrize(
    ("words", "k", "expected"),
    [
        ("a b a", 2, [0, 1]),  # 5 7 5: the earlier of the equal ones
        ("c a c a c a", 2, [1, 3]),
        ("b c a c b c", 3, [0, 2, 4]),
        ("a a a a", 3, [0, 1, 2]),
        ("c b c a c", 4, [0, 1, 2, 3]),
        ("c", 2, [0]),
    ],
)
def test_k_max_keeps_order_and_ties_go_to_the_earlier(words, k, expected):
    model = one_map({"a": 5.0, "b": 7.0, "c": -1.0}, k)
    ((_, positions),) = traced(model, [words.split(), ["b"] * 9])
    assert positions.tolist() == [expected]


@settings(max_examples=25)
@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=9), st.integers(1, 4))
def test_gradients_flow_only_to_selected_values(words, k):
    model = one_map({"a": 0.5, "b": 0.7, "c": -0.1}, k)
    batch = model.collate([Sentence(words), Sentence(list("abcabcabc"))])
    rows = model.word_vectors(batch.tokens).detach().requires_grad_()
    model.encoder(rows, batch.ranges)[0].sum().backward()
    ((_, selected), *_) = traced(model, [words, list("abcabcabc")])
    has_gradient = rows.grad[:, 0].nonzero().flatten().tolist()
    assert has_gradient == selected[0].tolist()


@pytest.mark.parametrize("row", range(8))
def test_rows_meet_only_where_they_are_folded(row):
    model = DCNN(VOCABULARY, 2, 8, widths=(3, 2), maps=(2, 3), k_top=2)
    before = traced(model, [["a", "b", "c", "a"]])
    with torch.no_grad():
        model.embedding.weight[:, row] += torch.randn(4)
    after = traced(model, [["a", "b", "c", "a"]])
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        changed = (old[0] != new[0]).any(1)
        num_maps = (2, 3)[number]
        of_row = changed.unflatten(0, (-1, num_maps)).any(1)
        assert of_row.nonzero().flatten().tolist() == [row // 2 ** (number + 1)]


def test_traced_features_are_those_that_are_classified():
    model = DCNN(VOCABULARY, 2, 8, widths=(3, 2), maps=(2, 3), k_top=2).eval()
    batch = model.collate([Sentence(words) for words in (["a"], ["b", "c"] * 4, [])])
    rows = model.word_vectors(batch.tokens)
    *_, (values, ranges, _) = model.encoder.layers.trace(rows, batch.ranges)
    features = stacked(values, ranges, 2).transpose(1, 2).flatten(1)
    torch.testing.assert_close(features, model.encoder(rows, batch.ranges))
    torch.testing.assert_close(model.output(features), model(batch))
