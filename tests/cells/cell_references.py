"""The recursions of the papers, node by node, written from the equations alone.

Each function takes the cell's parameters by name, the predecessors of every node with their slots,
and the inputs of all nodes; it returns the state of every node, a tuple of vectors with h first.
``before`` is the initial state of nodes without predecessors, if there is one.

Matrices act on column vectors as in the papers, ``W x``: one block of rows per gate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, sigmoid, tanh

Incoming = Sequence[Sequence[tuple[int, int]]]
State = tuple[Tensor, ...]
Weights = Mapping[str, Tensor]


def recurse(
    incoming: Incoming, rule: Callable[[int, list[tuple[int, State]]], State], before=None
) -> list[State]:
    """Applies ``rule(node, [(slot, state), ...])`` to every node, predecessors first."""
    states: dict[int, State] = {}

    def visit(node: int) -> State:
        if node not in states:
            entering = [(slot, visit(k)) for k, slot in incoming[node]]
            if not entering and before is not None:
                entering = [(0, before[node])]
            states[node] = rule(node, entering)
        return states[node]

    return [visit(node) for node in range(len(incoming))]


def gates(tensor: Tensor, names: str) -> dict[str, Tensor]:
    """Blocks of rows by one-letter gate names."""
    return dict(zip(names, tensor.chunk(len(names)), strict=True))


def columns(tensor: Tensor, num_blocks: int) -> list[Tensor]:
    return list(tensor.chunk(num_blocks, dim=1))


def child_sum_tree_lstm(w: Weights, incoming, x, before=None, gate_output=True) -> list[State]:
    names = "iouf" if gate_output else "iuf"
    W, b, U = (
        gates(w["W.weight"], names),
        gates(w["W.bias"], names),
        gates(w["U.weight"], names[:-1]),
    )
    U["f"] = w["U_f.weight"]

    def rule(t: int, children) -> State:
        zero = torch.zeros_like(b["i"])
        h_sum = sum((h for _, (h, _) in children), zero)
        i = sigmoid(W["i"] @ x[t] + U["i"] @ h_sum + b["i"])
        u = tanh(W["u"] @ x[t] + U["u"] @ h_sum + b["u"])
        c = i * u
        for _, (h_k, c_k) in children:
            c = c + sigmoid(W["f"] @ x[t] + U["f"] @ h_k + b["f"]) * c_k
        if not gate_output:
            return tanh(c), c
        return sigmoid(W["o"] @ x[t] + U["o"] @ h_sum + b["o"]) * tanh(c), c

    return recurse(incoming, rule, before)


def nary_tree_lstm(
    w: Weights, incoming, x, before=None, num_children=2, leaf="gated", gate_output=True
) -> list[State]:
    updates = "iou" if gate_output else "iu"
    rows = gates(w["U.weight"], updates + "0123456789"[:num_children])  # digits: f of a slot
    U = {gate: columns(block, num_children) for gate, block in rows.items()}
    affine = leaf == "affine"
    if affine:
        W, b = gates(w["W.weight"], "co"[: len(updates) - 1]), gates(w["U.bias"], "".join(rows))
        b_leaf = gates(w["W.bias"], "co"[: len(updates) - 1])
    else:
        W, b = gates(w["W.weight"], updates + "f"), gates(w["W.bias"], updates + "f")

    def from_input(gate: str, t: int) -> Tensor:
        if affine:
            return b[gate]
        gate = "f" if gate.isdigit() else gate
        return W[gate] @ x[t] + b[gate]

    def rule(t: int, children) -> State:
        if affine and not children:
            c = W["c"] @ x[t] + b_leaf["c"]
            return (sigmoid(W["o"] @ x[t] + b_leaf["o"]) * tanh(c) if gate_output else tanh(c)), c

        def total(gate: str) -> Tensor:
            return from_input(gate, t) + sum(U[gate][slot] @ h for slot, (h, _) in children)

        c = sigmoid(total("i")) * tanh(total("u"))
        for slot, (_, c_k) in children:
            c = c + sigmoid(total(str(slot))) * c_k
        return (sigmoid(total("o")) * tanh(c) if gate_output else tanh(c)), c

    return recurse(incoming, rule, before)


def recursive(w: Weights, incoming, x, before=None, num_children=2) -> list[State]:
    U = columns(w["U.weight"], num_children)

    def rule(t: int, children) -> State:
        total = w["W.weight"] @ x[t] + w["W.bias"]
        return (tanh(total + sum(U[slot] @ h for slot, (h,) in children)),)

    return recurse(incoming, rule, before)


def gru_node(w: Weights, x_t: Tensor, children: list[Tensor], h_s: Tensor, reset: str) -> State:
    """A Tree-GRU's state, given what represents all children in the update gate."""
    W, b = gates(w["W.weight"], "rzh"), gates(w["W.bias"], "rzh")
    z = sigmoid(W["z"] @ x_t + w["U_z.weight"] @ h_s + b["z"])
    if reset == "literal":
        r = sigmoid(W["r"] @ x_t + w["U_r.weight"] @ h_s + b["r"])
        inner = r * (w["U.weight"] @ h_s)
    else:
        kept = torch.zeros_like(h_s)
        for h_k in children:
            kept = kept + sigmoid(W["r"] @ x_t + w["U_r.weight"] @ h_k + b["r"]) * h_k
        inner = w["U.weight"] @ kept
    return ((1 - z) * tanh(W["h"] @ x_t + inner + b["h"]) + z * h_s,)


def child_sum_tree_gru(w: Weights, incoming, x, before=None, reset="per_child") -> list[State]:
    def rule(t: int, children) -> State:
        states = [h for _, (h,) in children]
        return gru_node(w, x[t], states, sum(states, torch.zeros_like(w["U.weight"][0])), reset)

    return recurse(incoming, rule, before)


def attend(w: Weights, children: list[Tensor], q: Tensor) -> list[Tensor]:
    """Attention weights of the children, from the parameters."""
    part = {name: w[f"attention.{name}.weight"] for name in ("W_c", "W_a", "w")}
    scores = [part["w"][0] @ tanh(part["W_c"] @ h + part["W_a"] @ q) for h in children]
    exponentials = [torch.exp(score) for score in scores]
    return [e / sum(exponentials) for e in exponentials]


def attentive_tree_lstm(
    w: Weights, incoming, x, before=None, query=None, memory="per_child", gate_output=True
) -> list[State]:
    names = "iouf" if gate_output else "iuf"
    W, b, U = (
        gates(w["W.weight"], names),
        gates(w["W.bias"], names),
        gates(w["U.weight"], names[:-1]),
    )

    def rule(t: int, children) -> State:
        hs, cs = [h for _, (h, _) in children], [c for _, (_, c) in children]
        a = attend(w, hs, w["attention.q"] if query is None else query[t])
        zero = torch.zeros_like(b["i"])
        h_s = sum((a_k * h_k for a_k, h_k in zip(a, hs, strict=True)), zero)

        def total(gate: str) -> Tensor:
            return W[gate] @ x[t] + U[gate] @ h_s + b[gate]

        c = sigmoid(total("i")) * tanh(total("u"))
        f_s = sigmoid(W["f"] @ x[t] + w["U_f.weight"] @ h_s + b["f"])
        for a_k, h_k, c_k in zip(a, hs, cs, strict=True):
            f_k = sigmoid(W["f"] @ x[t] + w["U_f.weight"] @ h_k + b["f"])
            c = c + {"per_child": f_k, "attended": f_s * a_k, "both": f_k * a_k}[memory] * c_k
        return (sigmoid(total("o")) * tanh(c) if gate_output else tanh(c)), c

    return recurse(incoming, rule, before)


def attentive_tree_gru(
    w: Weights, incoming, x, before=None, query=None, reset="per_child"
) -> list[State]:
    def rule(t: int, children) -> State:
        hs = [h for _, (h,) in children]
        a = attend(w, hs, w["attention.q"] if query is None else query[t])
        zero = torch.zeros_like(w["U.weight"][0])
        h_s = sum((a_k * h_k for a_k, h_k in zip(a, hs, strict=True)), zero)
        return gru_node(w, x[t], hs, h_s, reset)

    return recurse(incoming, rule, before)


def head_words(w: Weights, incoming, x, before=None, prefix="") -> list[State]:
    left, right = columns(w[prefix + "W.weight"], 2)

    def rule(t: int, children) -> State:
        if not children:
            return (x[t],)
        words = {slot: word for slot, (word,) in children}
        words = [words.get(slot, torch.zeros_like(x[t])) for slot in (0, 1)]
        z = sigmoid(left @ words[0] + right @ words[1] + w[prefix + "W.bias"])
        return (z * words[0] + (1 - z) * words[1],)

    return recurse(incoming, rule, before)


def node_words(w: Weights, incoming, x, prefix: str) -> list[Tensor]:
    """Head words if there are parameters for them, else the words of leaves and zeros."""
    if prefix + "lexicalizer.W.weight" in w:
        return [state[0] for state in head_words(w, incoming, x, None, prefix + "lexicalizer.")]
    return [torch.zeros_like(x[t]) if before else x[t] for t, before in enumerate(incoming)]


def lexicalized_tree_lstm(
    w: Weights, incoming, x, before=None, leaf_peephole=False, prefix=""
) -> list[State]:
    words = node_words(w, incoming, x, prefix)
    W, b = gates(w[prefix + "W.weight"], "ifgo"), gates(w[prefix + "U.bias"], "ilrgo")
    U = {gate: columns(block, 2) for gate, block in gates(w[prefix + "U.weight"], "ilrgo").items()}
    V = {gate: columns(block, 2) for gate, block in gates(w[prefix + "V.weight"], "ilr").items()}

    def rule(t: int, children) -> State:
        def total(gate: str) -> Tensor:
            result = W["f" if gate in "lr" else gate] @ words[t] + b[gate]
            for slot, (h, c) in children:
                result = result + U[gate][slot] @ h
                if gate in V:
                    result = result + V[gate][slot] @ c
            return result

        c = sigmoid(total("i")) * tanh(total("g"))
        for slot, (_, c_k) in children:
            c = c + sigmoid(total("lr"[slot])) * c_k
        o = total("o")
        if children or leaf_peephole:
            o = o + w[prefix + "V_o.weight"] @ c
        return sigmoid(o) * tanh(c), c

    return recurse(incoming, rule, before)


def top_down_tree_lstm(w: Weights, incoming, x, before=None, prefix="") -> list[State]:
    sides = len(w[prefix + "W.bias"]) // (4 * len(w[prefix + "V_o.weight"][0]))
    W = [gates(block, "ifgo") for block in w[prefix + "W.weight"].chunk(sides)]
    b = [gates(block, "ifgo") for block in w[prefix + "W.bias"].chunk(sides)]
    V_o = w[prefix + "V_o.weight"].chunk(sides)
    U = [gates(block, "ifgo") for block in columns(w[prefix + "U.weight"], 2)]
    V = [gates(block, "if") for block in columns(w[prefix + "V.weight"], 2)]

    def rule(t: int, parents) -> State:
        side = parents[0][0] if parents else 0
        own = side if sides == 2 else 0
        total = {gate: W[own][gate] @ x[t] + b[own][gate] for gate in "ifgo"}
        if not parents:
            c = sigmoid(total["i"]) * tanh(total["g"])
            return sigmoid(total["o"]) * tanh(c), c
        h_p, c_p = parents[0][1]
        total = {gate: total[gate] + U[side][gate] @ h_p for gate in "ifgo"}
        i = sigmoid(total["i"] + V[side]["i"] @ c_p)
        f = sigmoid(total["f"] + V[side]["f"] @ c_p)
        c = i * tanh(total["g"]) + f * c_p
        return sigmoid(total["o"] + V_o[own] @ c) * tanh(c), c

    return recurse(incoming, rule, before)


def bi_tree_lstm(w: Weights, incoming, x, before=None, leaf_peephole=False) -> list[State]:
    up = lexicalized_tree_lstm(w, incoming, x, before, leaf_peephole, "bottom_up.")
    words = node_words(w, incoming, x, "bottom_up.")
    turned: list[list[tuple[int, int]]] = [[] for _ in incoming]
    for node, children in enumerate(incoming):
        for child, slot in children:
            turned[child].append((node, slot))
    start = None
    if "root_h.weight" in w:
        start = [
            (
                w["root_h.weight"] @ h + w["root_h.bias"],
                w["root_c.weight"] @ c + w["root_c.bias"],
            )
            for h, c in up
        ]
    down = top_down_tree_lstm(w, turned, words, start, "top_down.")
    return [
        tuple(torch.cat(pair) for pair in zip(*states, strict=True))
        for states in zip(up, down, strict=True)
    ]


def tree_net(w: Weights, incoming, x, before=None) -> list[State]:
    E, e = gates(w["encoder.W.weight"], "iou"), gates(w["encoder.W.bias"], "iou")
    G = {gate: columns(block, 2) for gate, block in gates(w["compositor.W.weight"], "sco").items()}
    g = gates(w["compositor.W.bias"], "sco")

    def rule(t: int, entering) -> State:
        if not entering:
            c = sigmoid(E["i"] @ x[t] + e["i"]) * tanh(E["u"] @ x[t] + e["u"])
            return sigmoid(E["o"] @ x[t] + e["o"]) * tanh(c), c
        zero = torch.zeros_like(g["s"])
        states = dict(entering)
        h_s, c_s = states.get(0, (zero, zero))
        h_c, c_c = states.get(1, (zero, zero))
        s_gate, c_gate, o_gate = (
            sigmoid(G[gate][0] @ h_s + G[gate][1] @ h_c + g[gate]) for gate in "sco"
        )
        c = s_gate * c_s + c_gate * c_c
        return o_gate * tanh(c), c

    return recurse(incoming, rule, before)


def tree_net_with_gru(w: Weights, incoming, x, before=None) -> list[State]:
    """Encoder: linear and tanh; a GRU (torch's equations) from the sibling, reading the child."""
    W, W_b = gates(w["compositor.weight_ih"], "rzn"), gates(w["compositor.bias_ih"], "rzn")
    U, U_b = gates(w["compositor.weight_hh"], "rzn"), gates(w["compositor.bias_hh"], "rzn")

    def rule(t: int, entering) -> State:
        if not entering:
            return (tanh(w["encoder.0.weight"] @ x[t] + w["encoder.0.bias"]),)
        states = dict(entering)
        zero = torch.zeros_like(U_b["r"])
        (left,), (child,) = states.get(0, (zero,)), states.get(1, (zero,))
        r, z = (sigmoid(W[k] @ child + W_b[k] + U[k] @ left + U_b[k]) for k in "rz")
        n = tanh(W["n"] @ child + W_b["n"] + r * (U["n"] @ left + U_b["n"]))
        return ((1 - z) * n + z * left,)

    return recurse(incoming, rule, before)
