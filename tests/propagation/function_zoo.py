"""Graphs with data, and functions of every kind to propagate over them."""

from __future__ import annotations

import random

import torch
from torch import nn

from graphsent._dgl import dgl

fn = dgl.function


def random_graph(seed: int, num_nodes: int = 14, max_degree: int = 3) -> dgl.DGLGraph:
    """A DAG with node data h, c (N, 3), x (N, 3), s (N,), and edge data w (E, 3), v (E,)."""
    rng = random.Random(seed)
    names = rng.sample(range(num_nodes), num_nodes)
    edges = [
        (names[before], names[place])
        for place in range(num_nodes)
        for before in rng.sample(range(place), rng.randint(0, min(place, max_degree)))
    ]
    rng.shuffle(edges)
    pairs = torch.tensor(edges).view(-1, 2)
    return with_data(dgl.graph((pairs[:, 0], pairs[:, 1]), num_nodes=num_nodes))


def with_data(graph: dgl.DGLGraph) -> dgl.DGLGraph:
    num_nodes, num_edges = graph.num_nodes(), graph.num_edges()
    for name in ("h", "c", "x"):
        graph.ndata[name] = torch.randn(num_nodes, 3, dtype=torch.float64)
    graph.ndata["s"] = torch.randn(num_nodes, dtype=torch.float64)
    graph.ndata["number"] = torch.arange(num_nodes)
    graph.edata["w"] = torch.rand(num_edges, 3, dtype=torch.float64) + 0.5
    graph.edata["v"] = torch.rand(num_edges, dtype=torch.float64) + 0.5
    graph.edata["kind"] = torch.arange(num_edges) % 2
    return graph


class Functions(nn.Module):
    """Message, reduce and apply functions with parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3).double()
        self.recurrent = nn.GRUCell(3, 3).double()

    def state(self, edges):
        return {"m": edges.src["h"]}

    def weighted(self, edges):
        return {"m": edges.src["h"] * edges.data["w"] + edges.dst["x"], "n": edges.src["c"].sin()}

    def by_kind(self, edges):
        odd = edges.data["kind"].unsqueeze(1) == 1
        return {"m": torch.where(odd, self.linear(edges.src["h"]), edges.src["h"])}

    def of_constants(self, edges):
        assert edges.batch_size() == len(edges) == len(edges.data["w"])
        return {"m": edges.src["h"] * (edges.src["h"].detach() + 1)}

    def summed(self, nodes):
        return {"h": torch.tanh(self.linear(nodes.mailbox["m"].sum(1)) + nodes.data["x"])}

    def ordered(self, nodes):
        state = nodes.data["h"]
        for message in nodes.mailbox["m"].unbind(1):
            state = self.recurrent(message, state)
        return {"h": state, "last": message}

    def attentive(self, nodes):
        scores = torch.softmax(self.linear(nodes.mailbox["m"]), 1)
        return {"h": (scores * nodes.mailbox["n"]).sum(1), "c": nodes.data["c"] + nodes.data["h"]}

    def two_states(self, nodes):
        degree = nodes.mailbox["m"].shape[1]
        assert nodes.batch_size() == len(nodes) == len(nodes.nodes())
        h = nodes.mailbox["m"].mean(1) * nodes.nodes().unsqueeze(1).sin()
        return {"h": h, "s": h.sum(1), "number": nodes.data["number"] + degree}

    def apply(self, nodes):
        return {"h": torch.tanh(self.linear(nodes.data["h"]) + nodes.data["x"])}

    def apply_all(self, nodes):
        nodes.data["x"] = nodes.data["x"] * 2
        return {"h": nodes.data["h"] + nodes.data["x"], "new": nodes.data["s"].exp()}

    def apply_overwrites(self, nodes):
        return {"c": nodes.data["x"] * 0 + 1.0, "h": nodes.data["h"]}


MESSAGES = ("state", "weighted", "by_kind", "of_constants")
REDUCERS = ("summed", "ordered", "two_states")
USER_DEFINED = [
    *((m, r, None) for m in MESSAGES for r in REDUCERS),
    ("weighted", "attentive", None),
    ("weighted", "attentive", "apply"),
    ("state", "summed", "apply"),
    ("by_kind", "ordered", "apply_all"),
    ("of_constants", "two_states", "apply_overwrites"),
]
BUILTIN_MESSAGES = [
    fn.copy_u("h", "m"),
    fn.copy_e("w", "m"),
    *(getattr(fn, f"u_{op}_e")("h", "w", "m") for op in ("add", "sub", "mul", "div", "dot")),
    fn.e_sub_u("w", "h", "m"),
    fn.v_mul_u("x", "h", "m"),
    fn.u_add_v("h", "x", "m"),
    fn.v_dot_u("x", "h", "m"),
    fn.u_mul_e("h", "v", "m"),
]
