"""The tree models of ``graphsent train`` in DyNet.

A computation graph is built node by node for all trees of a batch; DyNet finds the operations that
can be batched. Differences from ours:

* each gate has its own matrices, as in DyNet's examples; one matrix for all gates, with slices of
  its product, was 10 % slower in training the Tree-LSTM;
* what is zero is left out, with its products: inputs of nodes without a word, missing siblings.

The wheel is compiled for processors with AVX2 and FMA; matrix products are Eigen's, not MKL's. It
computes in the calling thread, so torch's setting for subnormal numbers in that thread applies.
Importing it changes that setting (it is compiled with ``-ffast-math``), which is undone here:
otherwise all later contenders would flush subnormal numbers.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

from harness.trainees import flushed

from graphsent.training.subnormals import flushes

with flushed(False), contextlib.redirect_stdout(sys.stderr):
    import dynet_config

    # Memory in MB, which cannot grow: forward, backward, parameters, scratch.
    dynet_config.set(mem="640,640,128,64", autobatch=True, random_seed=1)
    import dynet as dy

    FLUSHES_ON_IMPORT = flushes()

Expression = Any
State = tuple[Expression, Expression]  # h and c
# Copies a tensor as a given number of parameters, blocks of its rows.
Add = Callable[[Any, int], list[Any]]


class Forest(NamedTuple):
    """The trees of a batch: words and classes of all nodes, -1 for none."""

    num_trees: int
    token: list[int]
    label: list[int]
    children: list[list[int]]  # from left to right
    order: list[int]  # children before parents, siblings from left to right

    def bottom_up(self, state: Callable[[int, list[Any]], Any]) -> list[Any]:
        """The states of all nodes, each a function of the node and its children's states."""
        states: list[Any] = [None] * len(self.order)
        for node in self.order:
            states[node] = state(node, [states[child] for child in self.children[node]])
        return states


def gates(biases: Sequence[Any], *terms: tuple[Sequence[Any], Expression]) -> list[Expression]:
    """Pre-activations of gates: their biases, and for each term their matrices times a vector."""
    return [
        dy.affine_transform([bias, *(part for weights, x in terms for part in (weights[row], x))])
        for row, bias in enumerate(biases)
    ]


def lstm_state(
    i: Expression, o: Expression, u: Expression, *kept: Expression, peephole: Any = None
) -> State:
    """The state from the pre-activations of the gates and what is kept of other c."""
    c = dy.cmult(dy.logistic(i), dy.tanh(u))
    if kept:
        c = dy.esum([c, *kept])
    if peephole is not None:
        o = o + peephole * c
    return dy.cmult(dy.logistic(o), dy.tanh(c)), c


class TreeLSTM:
    """The N-ary Tree-LSTM over binary trees."""

    def __init__(self, cell: Any, add: Add) -> None:
        # i, o, u and the forget gates
        self.inputs, self.children = add(cell.W.weight, 4)[:3], add(cell.U.weight, 5)
        *self.biases, self.forget_bias = add(cell.W.bias, 4)

    def __call__(self, trees: Forest, words: Sequence[Any]) -> list[Expression]:
        """The h of all nodes."""

        def state(node: int, below: list[State]) -> State:
            if not below:
                return lstm_state(*gates(self.biases, (self.inputs, words[node])))
            h = dy.concatenate([h for h, _ in below])
            biases = self.biases + [self.forget_bias] * 2
            i, o, u, *forget = gates(biases, (self.children, h))
            kept = (dy.cmult(dy.logistic(f), c) for f, (_, c) in zip(forget, below, strict=True))
            return lstm_state(i, o, u, *kept)

        return [h for h, _ in trees.bottom_up(state)]


class TreeNet:
    """TreeNet with its own encoder and compositor."""

    def __init__(self, cell: Any, add: Add) -> None:
        self.words, self.word_biases = (add(each, 3) for each in cell.encoder.W.parameters())
        # the gates of the left sibling and of the child, o
        of_state = *cell.compositor.W.weight.chunk(2, 1), cell.compositor.W.bias
        self.sibling, self.child, self.biases = (add(each, 3) for each in of_state)

    def __call__(self, trees: Forest, words: Sequence[Any]) -> list[Expression]:
        """The h of all nodes but tokens."""
        states: list[Any] = [None] * len(words)
        left_of = {node: left for each in trees.children for left, node in pairwise(each)}
        for node in trees.order:
            if trees.children[node]:
                below = states[trees.children[node][-1]]
            else:
                below = lstm_state(*gates(self.word_biases, (self.words, words[node])))
            left = states[left_of[node]] if node in left_of else None
            states[node] = self._composed(below, left)
        return [h for h, _ in states]

    def _composed(self, below: State, left: State | None) -> State:
        if left is None:
            keep, o = gates(self.biases[1:], (self.child[1:], below[0]))
            c = dy.cmult(dy.logistic(keep), below[1])
        else:
            terms = (self.sibling, left[0]), (self.child, below[0])
            keep_left, keep, o = gates(self.biases, *terms)
            c = dy.cmult(dy.logistic(keep_left), left[1]) + dy.cmult(dy.logistic(keep), below[1])
        return dy.cmult(dy.logistic(o), dy.tanh(c)), c


class RecNN:
    """The plain recursive network."""

    def __init__(self, cell: Any, add: Add) -> None:
        linear = cell.W.weight, cell.U.weight, cell.W.bias
        self.inputs, self.children, self.biases = (add(each, 1) for each in linear)

    def __call__(self, trees: Forest, words: Sequence[Any]) -> list[Expression]:
        """The h of all nodes."""

        def state(node: int, below: list[Expression]) -> Expression:
            term = (self.children, dy.concatenate(below)) if below else (self.inputs, words[node])
            return dy.tanh(*gates(self.biases, term))

        return trees.bottom_up(state)


class AttentiveTreeLSTM:
    """The Tree-LSTM with static attention to children, and a forget gate for each of them."""

    def __init__(self, cell: Any, add: Add) -> None:
        *self.inputs, self.forget_input = add(cell.W.weight, 4)
        *self.biases, self.forget_bias = add(cell.W.bias, 4)
        self.pooled, attention, self.size = add(cell.U.weight, 3), cell.attention, cell.hidden_feats
        weights = cell.U_f.weight, attention.W_c.weight, attention.W_a.weight, attention.w.weight
        self.forget, self.key, self.query, self.score = (add(each, 1)[0] for each in weights)
        (self.vector,) = add(attention.q, 1)

    def __call__(self, trees: Forest, words: Sequence[Any]) -> list[Expression]:
        """The h of all nodes."""
        query, ones = self.query * self.vector, dy.ones((self.size, 1))

        def state(node: int, below: list[State]) -> State:
            terms, kept = [(self.inputs, words[node])], []
            if below:
                terms.append((self.pooled, self._attended([h for h, _ in below], query, ones)))
                f = dy.affine_transform([self.forget_bias, self.forget_input, words[node]])
                kept = [dy.cmult(dy.logistic(f + self.forget * h), c) for h, c in below]
            return lstm_state(*gates(self.biases, *terms), *kept)

        return [h for h, _ in trees.bottom_up(state)]

    def _attended(self, h: list[Expression], query: Expression, ones: Expression) -> Expression:
        """The sum of the children's h by attention; each weight is first spread over a vector.

        DyNet batches products with shared matrices and of equal vectors, but neither those of a
        number and a vector nor those with matrices of states.
        """
        keys = (dy.tanh(dy.affine_transform([query, self.key, each])) for each in h)
        weights = dy.softmax(dy.concatenate([self.score * key for key in keys]))
        spread = (ones * dy.pickrange(weights, k, k + 1) for k in range(len(h)))
        return dy.esum([dy.cmult(weight, each) for weight, each in zip(spread, h, strict=True)])


class BiTreeLSTM:
    """Both directions over head words, with the mean of the leaves below."""

    def __init__(self, cell: Any, add: Add) -> None:
        up, down = cell.bottom_up, cell.top_down
        self.head, self.head_bias = (add(each, 1) for each in up.lexicalizer.W.parameters())
        # W: i, f, g, o; b and U: i, left and right f, g, o; V: i, left and right f
        self.up_x, self.up_b = add(up.W.weight, 4), add(up.U.bias, 5)
        self.up_h = [add(each, 5) for each in up.U.weight.chunk(2, 1)]
        self.up_c = [add(each, 3) for each in up.V.weight.chunk(2, 1)]
        # W, b and U: i, f, g, o; V: i, f
        self.down_x, self.down_b = (add(each, 4) for each in down.W.parameters())
        self.down_h = [add(each, 4) for each in down.U.weight.chunk(2, 1)]
        self.down_c = [add(each, 2) for each in down.V.weight.chunk(2, 1)]
        (self.up_o,), (self.down_o,) = (add(each.V_o.weight, 1) for each in (up, down))

    def __call__(self, trees: Forest, words: Sequence[Any]) -> list[Expression]:
        """Both h of all nodes, and the mean of those of the leaves below from the top."""
        x = trees.bottom_up(lambda node, below: self._head(*below) if below else words[node])
        up = trees.bottom_up(lambda node, below: self._up(x[node], below))
        down: list[Any] = [None] * len(words)
        for node in reversed(trees.order):
            if down[node] is None:
                down[node] = self._first(self.down_b, self.down_x, x[node])
            for side, child in enumerate(trees.children[node]):
                down[child] = self._down(x[child], down[node], side)
        leaves = trees.bottom_up(lambda node, below: [*chain(*below)] or [down[node][0]])
        return [
            dy.concatenate([from_below[0], from_above[0], dy.average(ends)])
            for from_below, from_above, ends in zip(up, down, leaves, strict=True)
        ]

    def _head(self, left: Expression, right: Expression) -> Expression:
        (z,) = gates(self.head_bias, (self.head, dy.concatenate([left, right])))
        return right + dy.cmult(dy.logistic(z), left - right)

    def _first(self, biases: list[Any], weights: list[Any], x: Expression) -> State:
        (b_i, *_, b_g, b_o), (w_i, _, w_g, w_o) = biases, weights
        i, g, o = gates([b_i, b_g, b_o], ([w_i, w_g, w_o], x))
        return lstm_state(i, o, g)

    def _up(self, x: Expression, below: list[State]) -> State:
        b, w = self.up_b, self.up_x
        if not below:
            return self._first(b, w, x)
        h, c = zip(*below, strict=True)
        of_h = [*zip(self.up_h, h, strict=True)]
        i, *forget = gates(b[:3], *of_h, *zip(self.up_c, c, strict=True))
        g, o = gates(b[3:], (w[2:], x), *((rows[3:], each) for rows, each in of_h))
        i_of_x, f_of_x = (rows * x for rows in w[:2])
        kept = (dy.cmult(dy.logistic(f + f_of_x), each) for f, each in zip(forget, c, strict=True))
        return lstm_state(i + i_of_x, o, g, *kept, peephole=self.up_o)

    def _down(self, x: Expression, above: State, side: int) -> State:
        b, w, of_h, (h, c) = self.down_b, self.down_x, self.down_h[side], above
        i, f = gates(b[:2], (w, x), (of_h, h), (self.down_c[side], c))
        g, o = gates(b[2:], (w[2:], x), (of_h[2:], h))
        return lstm_state(i, o, g, dy.cmult(dy.logistic(f), c), peephole=self.down_o)


NETWORKS = {
    "treelstm": TreeLSTM,
    "treenet": TreeNet,
    "recnn": RecNN,
    "arnn": AttentiveTreeLSTM,
    "bitreelstm": BiTreeLSTM,
}
