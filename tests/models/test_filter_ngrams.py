"""The n-grams that activate filters most, against a search through all windows."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import assert_no_overlap

from graphsent.errors import DataError, ModelError
from graphsent.models import (
    APDCNN,
    DCNN,
    FilterNgrams,
    KimCNN,
    MaxTDNN,
    NBoW,
    Ngram,
    Table,
    draw_ngrams,
    filter_ngrams,
    ngram_table,
)
from graphsent.models.inspection import ngrams
from graphsent.trees import Tree
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["a", "b", "c", "d"])
CORPUS = st.lists(st.lists(st.sampled_from(["a", "b", "c", "d", "unseen"]), max_size=8), max_size=4)
MODELS = {
    "dcnn": lambda: DCNN(VOCABULARY, 2, 6, widths=(3, 2), maps=(2, 2), k_top=2),
    "padded": lambda: DCNN(VOCABULARY, 2, 5, widths=(2,), maps=(2,), k_top=2),
    "padded by many maps": lambda: DCNN(VOCABULARY, 2, 3, widths=(2,), maps=(4,), k_top=2),
    "maxtdnn": lambda: MaxTDNN(VOCABULARY, 2, 5, width=2),
    "kimcnn": lambda: KimCNN(VOCABULARY, 2, 5, heights=(3, 1, 2), maps=2),
    "two": lambda: KimCNN(VOCABULARY, 2, 5, heights=(2,), maps=2, variant="multichannel"),
    "full": lambda: APDCNN(VOCABULARY, 2, 5, 3, widths=((2, 2), (3,))),
    "rowwise": lambda: APDCNN(
        VOCABULARY, 2, 6, 3, widths=((2, 2),), convolution="rowwise", row_maps=(2, 1)
    ),
}


def build(name: str):
    model = MODELS[name]().double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model


def vector(model, word: str) -> np.ndarray:
    tokens = torch.tensor([VOCABULARY[word]])
    return model.eval().word_vectors(tokens)[0].detach().numpy()


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=6)
@given(corpus=CORPUS, top=st.integers(1, 4))
def test_ngrams_are_the_best_of_all_windows(name, corpus, top):
    model = build(name)
    found = filter_ngrams(model, corpus, top)
    filters = model.first_filters()
    assert [each.filter for each in found] == [each.name for each in filters]
    for each, (_, best) in zip(filters, found, strict=True):
        scores = {}
        for words in corpus:
            for begin in range(len(words) - each.width + 1):
                window = tuple(words[begin : begin + each.width])
                shares = [
                    each.weight[:, a].numpy() @ vector(model, word)[each.rows]
                    for a, word in enumerate(window)
                ]
                scores.setdefault(window, shares)
        assert len(best) == min(top, len(scores))
        assert len({ngram.words for ngram in best}) == len(best)
        values = sorted((sum(shares) for shares in scores.values()), reverse=True)
        np.testing.assert_allclose([ngram.score for ngram in best], values[: len(best)], atol=1e-12)
        for ngram in best:
            np.testing.assert_allclose(ngram.shares, scores[ngram.words], atol=1e-12)


def test_an_example_by_hand(monkeypatch):
    model = DCNN(VOCABULARY, 2, 2, widths=(2,), maps=(1,), k_top=1)
    model.init_embeddings(torch.tensor([[0.0, 0], [1, 0], [2, 0], [3, 5], [0, 0]]))
    with torch.no_grad():  # the first row responds to rising values, the second to the last one
        model.encoder.layers.convolutions[0].weight.copy_(torch.tensor([[[-1.0, 1]], [[0, 1]]]))
    corpus = ["c a c b a b", Tree.from_string("(1 (1 a) (1 b))"), ["b", "c"], "c"]
    expected = {
        "map 1, row 1": [("a c", 2), ("a b", 1), ("b c", 1)],
        "map 1, row 2": [("a c", 5), ("b c", 5), ("c a", 0)],  # the first of equal ones
    }
    for at_once in (4096, 2):
        monkeypatch.setattr(ngrams, "_WINDOWS_AT_ONCE", at_once)
        found = filter_ngrams(model, corpus, 3)
        assert {
            each.filter: [(" ".join(n.words), n.score) for n in each.ngrams] for each in found
        } == expected
    assert found[0].ngrams[0].shares == (-1.0, 3.0)
    chosen = filter_ngrams(model, corpus, 1, filters=[2, 1, 2])
    assert [each.filter[-1] for each in chosen] == ["2", "1", "2"]


def test_models_of_trees_split_raw_text_as_in_treebanks():
    model = build("full")
    text, words = "a b don't, (c)", ["a", "b", "do", "n't", ",", "(", "c", ")"]
    assert filter_ngrams(model, [text]) == filter_ngrams(model, [words])


def test_ties_go_to_the_first():
    model = KimCNN(VOCABULARY, 2, 5, heights=(2,), maps=3)
    torch.nn.init.zeros_(model.encoder.convolutions[0].weight)
    corpus = [[str(number), "a"] for number in range(5000)]
    for _, best in filter_ngrams(model, corpus, 4):
        assert [ngram.words[0] for ngram in best] == ["0", "1", "2", "3"]


def test_number_of_filters():
    assert len(DCNN(VOCABULARY, 2).first_filters()) == 6 * 48
    assert len(DCNN(VOCABULARY, 2, 5, widths=(2,), maps=(3,)).first_filters()) == 15
    assert len(KimCNN(VOCABULARY, 2, 4).first_filters()) == 300
    assert [each.name for each in build("full").first_filters()] == [
        f"stack {stack}, map {number}" for stack in (1, 2) for number in (1, 2, 3)
    ]


def test_the_model_stays_in_its_mode():
    model = KimCNN(VOCABULARY, 2, 4, embedding_dropout=0.9).train()
    assert filter_ngrams(model, ["a b c d a"]) == filter_ngrams(model, ["a b c d a"])
    assert model.training


def test_names_of_classes_are_labels_of_trees_as_in_predictions():
    model = DCNN(VOCABULARY, 2, 4, widths=(1,), maps=(1,), label_names=("good", "bad"))
    found = filter_ngrams(model, ["(good a)"])
    assert [ngram.words for ngram in found[0].ngrams] == [("a",)]
    assert model.predict(["(good a)"])[0].tree.words == ["a"]


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (NBoW(VOCABULARY, 2, 4), {}, "the model 'nbow' has no filters: expected a convolutional"),
        (APDCNN(VOCABULARY, 2, 4, 3, branches="tree"), {}, "no convolution and hence no filters"),
        (DCNN(VOCABULARY, 2, 4), {"filters": [25]}, "no filter 25: the model has 24"),
        (DCNN(VOCABULARY, 2, 4), {"filters": [0]}, "no filter 0"),
        (DCNN(VOCABULARY, 2, 4), {"top": 0}, "top: expected at least 1, got 0"),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_usage_errors_are_explained(model, options, message):
    with pytest.raises(ModelError, match=message):
        filter_ngrams(model, ["a b"], **options)


FOUND = [
    FilterNgrams("map 1, row 1", (Ngram(("a", '"b",'), 0.5, (0.75, -0.25)),)),
    FilterNgrams("map 1, row 2", ()),
]


def test_tables():
    table = ngram_table(FOUND)
    assert table.to_text().splitlines() == [
        "filter        rank  score  ngram",
        'map 1, row 1     1  0.500  a "b",',
    ]
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    expected = {"filter": "map 1, row 1", "rank": "1", "score": "0.5", "ngram": 'a "b",'}
    assert rows == [expected]
    assert json.loads(table.to_json()) == [{**expected, "rank": 1, "score": 0.5}]
    assert Table(("a", "b"), []).to_text() == "a  b"
    assert Table(("a", "b"), []).to_csv() == "a,b"
    assert json.loads(Table(("a", "b"), []).to_json()) == []


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_pictures(tmp_path, suffix):
    for name in ("one", "other"):
        figure = draw_ngrams(FOUND * 6, title="A title", path=tmp_path / f"{name}{suffix}")
    one, other = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "other"))
    assert one == other
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts.count("a") == texts.count("0.50") == 6
    assert texts.count("no sentence is long enough") == 6
    assert "A title" in texts
    assert_no_overlap(figure)
    with pytest.raises(DataError, match="there are no filters to draw"):
        draw_ngrams([])


def test_words_are_coloured_by_what_they_add():
    import matplotlib.colors

    (axes,) = draw_ngrams(FOUND[:1]).axes
    fills = [matplotlib.colors.to_hex(color) for color in axes.collections[-1].get_facecolor()]
    red, blue = "#ca0020", "#0571b0"
    assert fills[0] == blue  # the greatest share
    assert fills[1] not in (red, blue)
    channels = matplotlib.colors.to_rgb(fills[1])
    assert channels[0] > channels[2]  # a third of it, and below 0
