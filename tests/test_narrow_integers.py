"""Indices are int64 also where arrays of integers are int32 by default."""

from __future__ import annotations

import pytest
import torch

from graphsent.cells import NaryTreeLSTM
from graphsent.graphs import constituency_batch
from graphsent.layers import GRU, LSTM, KMaxPooling, SequenceEncoder
from graphsent.models.embeddings.table import WordEmbedding
from graphsent.sentences import Sentence
from graphsent.trees import Tree, drop_words
from graphsent.vocabulary import Vocabulary

pytestmark = pytest.mark.usefixtures("narrow_integers")
_TEXT = "(3 (2 a) (3 (3 lovely) (2 film)))"


def test_trees():
    tree = Tree.from_string(_TEXT)
    dropped = drop_words(tree, lambda label, token: token == "a")
    assert dropped.parents.dtype == tree.spans.dtype == "int64"
    equal = Tree(dropped.labels, dropped.tokens, dropped.parents.tolist())
    assert hash(dropped) == hash(equal)
    assert Sentence(["a"]).spans.dtype == "int64"


def test_data_of_graphs():
    graph = constituency_batch([_TEXT], vocab=Vocabulary(["film"]))
    found = {**graph.ndata, **graph.edata}
    assert {name: values.dtype for name, values in found.items()} == dict.fromkeys(
        found, torch.int64
    )


@pytest.mark.parametrize("kernels", ["0", "1"])
def test_a_cell_with_slots(monkeypatch, kernels):
    monkeypatch.setenv("GRAPHSENT_KERNELS", kernels)
    graph, cell = constituency_batch([_TEXT]), NaryTreeLSTM(3, 4)
    feat = torch.randn(graph.num_nodes(), 3)
    torch.testing.assert_close(cell(graph, feat), cell(graph, feat, engine="dgl"))


def test_words_of_a_cell():
    graph, cell = constituency_batch([_TEXT], vocab=Vocabulary(["film"])), NaryTreeLSTM(3, 4)
    feat = WordEmbedding(2, 3).of_nodes(graph)
    assert feat.index.dtype == torch.int64
    torch.testing.assert_close(cell(graph, feat), cell(graph, feat.dense()))


def test_k_max_pooling():
    y, _, positions = KMaxPooling(2)(
        torch.tensor([[[1.0, 3.0, 2.0]]]), torch.tensor([3]), return_positions=True
    )
    assert y.tolist() == [[[3.0, 2.0]]]
    assert positions.dtype == torch.int64


@pytest.mark.parametrize("layer", [LSTM, GRU])
@pytest.mark.parametrize("lengths", [None, [5, 2]])
def test_recurrent_layers(layer, lengths):
    own, of_torch = (layer(3, 4, bidirectional=True, engine=name) for name in ("levels", "torch"))
    of_torch.load_state_dict(own.state_dict())
    x = torch.randn(5, 2, 3)
    torch.testing.assert_close(own(x, lengths=lengths)[0], of_torch(x, lengths=lengths)[0])


def test_sequences():
    encoder = SequenceEncoder(3, 4, bidirectional=True)
    feat, ranges = torch.randn(5, 3), torch.tensor([[0, 2], [0, 5]])
    _, (h, _) = encoder.cell(feat, None)
    torch.testing.assert_close(encoder(feat, ranges)[1], h.flatten())
