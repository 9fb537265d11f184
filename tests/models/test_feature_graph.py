"""The induced feature graph against its definition and against gradients."""

from __future__ import annotations

import dataclasses
import json

import networkx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import assert_no_overlap
from torch import Tensor

from graphsent.errors import DataError, ModelError
from graphsent.models import DCNN, NBoW, Sentence, draw_feature_graph, feature_graph
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["a", "b", "c", "d"])
WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "unseen"]), max_size=14)
OPTIONS = {
    "two": {"widths": (3, 2), "maps": (2, 3), "k_top": 2},
    "flat": {"widths": (3, 2), "maps": (2, 1), "k_top": 1, "fold": False},
    "three": {"widths": (2, 3, 2), "maps": (1, 2, 2), "k_top": 2},
    "one": {"widths": (4,), "maps": (2,), "k_top": 1},
}
every_shape = pytest.mark.parametrize("name", OPTIONS)


def build(name: str, dim: int = 8) -> DCNN:
    model = DCNN(VOCABULARY, 3, dim, **OPTIONS[name], label_names=["x", "y", "z"]).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    return model.eval()


def parts(model: DCNN, words: list[str]) -> tuple[Tensor, list, Tensor]:
    """Word vectors with gradients, what the layers selected, and the features."""
    batch = model.collate([Sentence(words)])
    vectors = model.word_vectors(batch.tokens).detach().requires_grad_()
    layers = list(model.encoder.layers.trace(vectors, batch.ranges))
    return vectors, layers, model.encoder(vectors, batch.ranges)


def expected_edges(model: DCNN, words: list[str]) -> set[tuple]:
    """Edges between (layer, map, row, rank), from the definition alone; words are (0, number)."""
    options = model.config
    _, layers, _ = parts(model, words)
    factor = 2 if options["fold"] else 1
    survivors = {0: {(0, q) for q in range(len(words))}}
    edges = set()
    for number, layer in enumerate(layers, start=1):
        num_maps, width = options["maps"][number - 1], options["widths"][number - 1]
        survivors[number] = set()
        for channel, positions in enumerate(layer.positions.T.tolist()):
            row, of_map = divmod(channel, num_maps)
            for rank, p in enumerate(positions):
                node = (number, of_map, row, rank)
                survivors[number].add(node)
                for below in survivors[number - 1]:
                    q = below[-1]
                    reads = number == 1 or below[2] // factor == row
                    if reads and p - width + 1 <= q <= p:
                        edges.add((below, node))
    top = survivors[len(layers)]
    edges |= {(node, "root") for node in top}
    reached = {"root"}
    for _ in range(len(layers) + 1):
        reached |= {source for source, target in edges if target in reached}
    return {edge for edge in edges if edge[1] in reached}


def named(graph) -> list:
    """Nodes by name; the rank of a value is among all selected values of its row."""
    names = [(0, q) for q in range(len(graph.words))]
    columns = (graph.layer, graph.map, graph.row, graph.position)
    names += zip(*(column[len(names) : -1].tolist() for column in columns), strict=True)
    return [*names, "root"]


@every_shape
@settings(max_examples=8)
@given(words=WORDS)
def test_nodes_and_edges_are_those_of_the_definition(name, words):
    model = build(name)
    graph = feature_graph(model, words)
    _, layers, _ = parts(model, words)

    def at_position(node):  # by position instead of rank
        if node == "root" or node[0] == 0:
            return node
        layer, of_map, row, rank = node
        channel = row * model.config["maps"][layer - 1] + of_map
        return layer, of_map, row, int(layers[layer - 1].positions[rank, channel])

    expected = {tuple(map(at_position, edge)) for edge in expected_edges(model, words)}
    names = named(graph)
    found = [(names[a], names[b]) for a, b in zip(graph.source, graph.target, strict=True)]
    assert set(found) == expected
    assert len(found) == len(expected)
    assert (np.diff(graph.target) >= 0).all()
    # Every node except unread words has a path to the root.
    is_source = np.isin(np.arange(len(names)), graph.source)
    assert is_source[len(words) : -1].all()


@every_shape
@settings(max_examples=8)
@given(words=WORDS)
def test_weights_add_up_to_the_values(name, words):
    model = build(name)
    graph = feature_graph(model, words)
    sums = np.bincount(graph.target, graph.weight, minlength=len(graph.layer))
    for node in range(len(words), graph.root):
        layer, channels = graph.layer[node] - 1, model.config["maps"][graph.layer[node] - 1]
        channel = graph.row[node] * channels + graph.map[node]
        bias = model.encoder.layers.activations[layer].bias[channel]
        np.testing.assert_allclose(np.tanh(sums[node] + bias.item()), graph.value[node], atol=1e-12)
    (logits,) = model(model.collate([Sentence(words)])).tolist()
    label = int(np.argmax(logits))
    assert graph.label == "xyz"[label]
    np.testing.assert_allclose(graph.value[graph.root], logits[label], atol=1e-12)
    bias = model.output.bias[label].item()
    np.testing.assert_allclose(sums[graph.root] + bias, logits[label], atol=1e-12)


@every_shape
@settings(max_examples=8)
@given(words=WORDS)
def test_features_depend_on_the_words_with_a_path_and_on_no_others(name, words):
    model = build(name)
    vectors, _, features = parts(model, words)
    loss = (features * torch.randn_like(features)).sum()
    (gradient,) = torch.autograd.grad(loss, vectors, materialize_grads=True)  # zeros of no words
    depends = gradient.abs().sum(1) > 0
    graph = feature_graph(model, words)
    assert np.isin(np.arange(len(words)), graph.source).tolist() == depends.tolist()
    counts = [row[:-1] for row in graph.table().rows]
    assert [row[-1] > 0 for row in counts] == depends.tolist()


@every_shape
@given(words=WORDS)
@settings(max_examples=8)
def test_each_value_reads_one_to_m_values_of_each_map_and_row(name, words):
    model = build(name)
    graph, options = feature_graph(model, words), model.config
    for node in range(len(words), graph.root):
        sources = graph.source[graph.target == node]
        layer = graph.layer[node]
        origins = list(zip(graph.map[sources], graph.row[sources], strict=True))
        num_maps = 1 if layer == 1 else options["maps"][layer - 2]
        factor = 1 if layer == 1 or not options["fold"] else 2
        assert len(set(origins)) == num_maps * factor
        for origin in set(origins):
            assert 1 <= origins.count(origin) <= options["widths"][layer - 1]


def by_hand() -> DCNN:
    """Two rows that are folded, one map, filters of two words that add all up, the best window."""
    model = DCNN(VOCABULARY, 2, 2, widths=(2,), maps=(1,), k_top=1).double()
    model.init_embeddings(torch.tensor([[0, 0], [1, 0], [0, 2], [0, 0], [-1, -1]]).double())
    with torch.no_grad():
        model.encoder.layers.convolutions[0].weight.copy_(torch.tensor([[[1.0, 1]], [[1, 0.5]]]))
        model.encoder.layers.activations[0].bias.fill_(0.5)
        model.output.weight.copy_(torch.tensor([[-3.0], [3.0]]))
        model.output.bias.fill_(0.25)
    return model


def test_an_example_by_hand():
    # Windows: (, d) -1.5, (d, a) -1, (a, b) 2, (b, c) 2, (c, ) 0: the first of the best is a b.
    graph = feature_graph(by_hand(), ["d", "a", "b", "c"])
    assert graph.layer.tolist() == [0, 0, 0, 0, 1, 2]
    assert graph.position.tolist() == [0, 1, 2, 3, 2, -1]
    assert graph.map.tolist() == graph.row.tolist() == [-1] * 4 + [0, -1]
    assert (graph.source.tolist(), graph.target.tolist()) == ([1, 2, 4], [4, 4, 5])
    np.testing.assert_allclose(graph.weight, [1, 1, 3 * np.tanh(2.5)])
    np.testing.assert_allclose(graph.coefficient, [[1, 1], [1, 0.5], [3, 0]])
    np.testing.assert_allclose(graph.value[4:], [np.tanh(2.5), 3 * np.tanh(2.5) + 0.25])
    assert graph.label == "1"
    assert graph.spans().tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [1, 3], [1, 3]]
    assert graph.table().columns == ("layer 1", "word")
    assert graph.table().rows == [(0, "d"), (1, "a"), (1, "b"), (0, "c")]


def test_it_is_a_graph_of_networkx_and_of_dgl():
    graph = feature_graph(build("three"), ["a", "b", "c", "a"])
    digraph, of_dgl = graph.to_networkx(), graph.to_dgl()
    assert networkx.is_directed_acyclic_graph(digraph)
    assert len(digraph) == of_dgl.num_nodes() == len(graph.layer)
    assert digraph.nodes[0]["word"] == "a"
    assert digraph.nodes[graph.root]["label"] == graph.label
    inner = set(range(4, graph.root))
    assert inner <= networkx.ancestors(digraph, graph.root)
    source, target = (ends.tolist() for ends in of_dgl.edges())
    assert sorted(zip(source, target, strict=True)) == sorted(digraph.edges)
    for number, edge in enumerate(zip(source, target, strict=True)):
        data = digraph.edges[edge]
        np.testing.assert_allclose(of_dgl.edata["weight"][number], data["weight"], rtol=1e-6)
        pair = of_dgl.edata["coefficient"][number]
        np.testing.assert_allclose(pair, data["coefficient"], rtol=1e-6)
    for name in ("layer", "map", "row", "position"):
        assert of_dgl.ndata[name].dtype == torch.int64
        assert of_dgl.ndata[name].tolist() == [data for _, data in digraph.nodes(data=name)]
    values = json.loads(json.dumps(graph.to_dict(), allow_nan=False))
    assert values["words"] == ["a", "b", "c", "a"]
    assert len(values["nodes"]) == len(digraph)
    assert values["nodes"][0]["value"] is None
    assert values["edges"][0]["weight"] == graph.weight[0]


def test_subgraph_of_one_feature():
    model = build("two")
    words = ["a", "b", "c", "d"] * 3
    whole = feature_graph(model, words)
    part = whole.of_feature(1, 0)
    assert part.words == whole.words
    top = part.source[part.target == part.root]
    assert set(part.map[top]) == {1}
    assert set(part.row[top]) == {0}
    assert len(top) == 2
    digraph = part.to_networkx()
    names, all_names = named(part), named(whole)
    every = whole.to_networkx()
    below = {
        all_names[n] for t in top for n in networkx.ancestors(every, all_names.index(names[t]))
    }
    assert {names[n] for t in top for n in networkx.ancestors(digraph, t)} == below
    message = "no map 3 with row 0 in the last layer: it has 3 maps and 2 rows"
    with pytest.raises(ModelError, match=message):
        whole.of_feature(3, 0)


def test_a_sentence_without_words_is_a_root_alone():
    graph = feature_graph(build("two"), [])
    assert graph.layer.tolist() == [3]
    assert graph.to_dgl().num_edges() == 0
    assert graph.table().rows == []
    assert graph.table().to_text() == "layer 1  layer 2  word"
    draw_feature_graph(graph)


def test_rows_that_were_added_read_no_words():
    model = build("two", dim=5)  # eight rows: the last two layers' first row has none of words
    graph = feature_graph(model, ["a", "b", "c"])
    reads_words = graph.row[np.unique(graph.target[graph.source < 3])]
    assert set(reads_words.tolist()) == {0, 1, 2}
    assert 3 in graph.row[graph.layer == 1]
    pairs = graph.coefficient[(graph.source < 3) & (graph.row[graph.target] == 2)]
    assert (pairs[:, 0] != 0).all()  # row 4 of word vectors
    assert (pairs[:, 1] == 0).all()  # and the first of zeros


def test_the_model_stays_in_its_mode():
    model = build("two").train()
    feature_graph(model, ["a"])
    assert model.training
    assert all(module.training for module in model.modules())


def test_other_models_have_no_feature_graph():
    with pytest.raises(ModelError, match="the model 'nbow' has no feature graph: expected 'dcnn'"):
        feature_graph(NBoW(VOCABULARY, 2, 4), ["a"])


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_pictures(tmp_path, suffix):
    graph = feature_graph(build("three"), ["a", "b", "c", "$d$", "a"])
    for name in ("one", "other"):
        figure = draw_feature_graph(graph, title="A title", path=tmp_path / f"{name}{suffix}")
    one, other = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "other"))
    assert one == other
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert {"A title", "$d$", graph.label} <= set(texts)
    with pytest.raises(DataError, match=r"expected the suffix \.png or \.svg"):
        draw_feature_graph(graph, path=tmp_path / "x.pdf")


def test_what_a_picture_shows():
    graph = feature_graph(by_hand(), ["d", "a", "b", "c"])
    graph = dataclasses.replace(graph, weight=np.array([-1, 0.5, 3]))
    figure = draw_feature_graph(graph)
    assert_no_overlap(figure)
    (axes,) = figure.axes
    words = {text.get_text(): text for text in axes.texts}
    place = {word: text.get_position()[0] for word, text in words.items()}
    ink = {word: text.get_color() for word, text in words.items()}
    assert ink["a"] == ink["b"] != ink["c"] == ink["d"]
    lines = axes.collections[0]
    middle = (place["a"] + place["b"]) / 2
    ends = [[float(x) for x in segment[:, 0]] for segment in lines.get_segments()]
    expected = [(place["a"], middle), (place["b"], middle), (middle, middle)]
    np.testing.assert_allclose(ends, expected, rtol=1e-6)
    widest, other, alone = lines.get_linewidths()
    assert widest == alone > other > 0
