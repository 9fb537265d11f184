"""Models compute what depends only on a word once per distinct word of a batch."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from toy_sentences import NUM_CLASSES, VOCABULARY, pairs, sentences

from graphsent.kernels.library import SWITCH
from graphsent.models import MODELS, model_class
from graphsent.trees import Candidate, ParseList

IN_FEATS = 13  # no other size is the same
SIZES = {"embedding_dim": IN_FEATS, "hidden": 5}
CASES = [
    ("treelstm", {}, "constituency"),
    ("treelstm", {"cell": "childsum"}, "constituency"),
    ("treelstm", {"cell": "childsum"}, "dependency"),
    ("recnn", {}, "constituency"),
    ("treenet", {}, "constituency"),
    ("treenet", {}, "dependency"),
    ("bitreelstm", {}, "constituency"),
    ("bitreelstm", {"lexicalized": False}, "constituency"),
    ("bitreelstm", {"directions": "up"}, "constituency"),
    ("bitreelstm", {"directions": "down"}, "constituency"),
    ("arnn", {}, "dependency"),
    ("arnn", {"cell": "gru"}, "dependency"),
    ("arnn", {"attention": "none"}, "dependency"),
    ("arnn", {"attention": "none", "cell": "gru"}, "dependency"),
    ("arnn-relatedness", {}, "pairs"),
    ("apdcnn", {"branches": "tree"}, "constituency"),
    ("parse-reranker", {}, "lists"),
]
TREES = sentences("constituency", 40)
EXAMPLES = {  # and number of classes, or labels
    "constituency": (TREES, NUM_CLASSES),
    "dependency": (sentences("dependency", 40), NUM_CLASSES),
    "pairs": (pairs(40), 5),
    "lists": ([ParseList((Candidate(tree, 0.0),), tree, "") for tree in TREES], ("0", "1", "2")),
}


class Products(TorchDispatchMode):
    """Records how many inputs each product with a weight has."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[int] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default):
            rows, columns = args[-2].shape
            if columns == IN_FEATS:
                self.rows.append(rows)
        return function(*args, **(kwargs or {}))


def test_every_graph_model_is_covered():
    """Sequential models have no nodes without words, and no cell."""
    of_words = {name for name in MODELS if model_class(name).tree_kind == "words"}
    others = {"sequence", "sequence-relatedness"}
    assert set(MODELS) - of_words - others == {name for name, *_ in CASES}


@pytest.mark.parametrize(("name", "options", "kind"), CASES)
def test_products_are_computed_on_distinct_words(name, options, kind, monkeypatch):
    monkeypatch.setenv(SWITCH, "0")  # compiled code makes the same products unseen
    options = {"embedding_dropout": 0.0, **SIZES, **options}
    examples, of_output = EXAMPLES[kind]
    model = model_class(name)(VOCABULARY, of_output, **options).train()
    batch = model.collate(examples)
    graph = batch.sentences.graph if kind == "pairs" else batch.graph
    tokens = graph.ndata["token"]
    words = len(tokens.unique()) - 1  # -1 is no word
    if kind in ("dependency", "pairs") and name != "treenet":
        words += 1  # where all nodes have words
    # Head words are the nodes' own.
    inner = int((tokens < 0).sum()) if name in ("bitreelstm", "parse-reranker") else 0
    with Products() as products:
        model(batch)
    assert products.rows
    assert max(products.rows) <= words + 1 + inner  # a row of zeros is for nodes without
    assert max(products.rows) < len(tokens) / 2 or inner
