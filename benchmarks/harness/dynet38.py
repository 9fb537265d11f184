"""DyNet with autobatching (``dynet38`` on PyPI).

The N-ary Tree-LSTM, with the same weights. A computation graph is written down node by node for
all trees of a batch; DyNet finds what can run at once. Differences from our cell:

* each gate has matrices of its own, as in DyNet's examples; one matrix for all gates, and slices of
  what comes out, were 10 % slower in training;
* inner nodes have no input instead of zeros, and so no product with it;
* its AdaGrad is its own, with sparse updates of the word table where that is trained.

The wheel is compiled for processors with AVX2 and FMA; products are Eigen's, not MKL's.

Memory is taken in pools that grow and are not given back.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import numpy as np

with contextlib.redirect_stdout(sys.stderr):
    import dynet_config

    dynet_config.set(mem=512, autobatch=True, random_seed=1)
    import dynet as dy

from .data import Batch
from .engines import PlainTree
from .measuring import Contender
from .model import LEARNING_RATE, Model


class DyNet(Contender):
    """A Tree-LSTM in DyNet with the weights of an N-ary cell.

    Args:
        model: with an ``NaryTreeLSTM`` of default options.
        table: ``"frozen"``, or anything else to train it.
    """

    name = "dynet, autobatch"
    trains_table = "rows"

    def __init__(self, model: Model, table: str = "frozen") -> None:
        cell = model.cell
        self.trained = table != "frozen"
        self.num_children = cell.num_children
        parameters = self.parameters = dy.ParameterCollection()  # its parts do not keep it alive

        def add(values: Any, count: int) -> list[Any]:
            parts = np.split(values.detach().numpy(), count)
            return [parameters.parameters_from_numpy(np.ascontiguousarray(part)) for part in parts]

        # i, o, u and the forget gates
        self.inputs = add(cell.W.weight, 4)[:3]
        self.children = add(cell.U.weight, 3 + cell.num_children)
        self.biases = add(cell.W.bias, 4)
        (self.output,) = add(model.output.weight, 1)
        (self.output_bias,) = add(model.output.bias, 1)
        self.words = parameters.lookup_parameters_from_numpy(model.table.weight.detach().numpy())
        self.trainer = dy.AdagradTrainer(parameters, LEARNING_RATE)

    def prepare(self, batch: Batch) -> list[PlainTree]:
        """The trees as numbers."""
        return PlainTree.of(batch)

    def forward(self, trees: list[PlainTree]) -> None:
        """See :class:`Contender`."""
        self._loss(trees)[0].value()

    def step(self, trees: list[PlainTree]) -> None:
        """See :class:`Contender`."""
        loss, _ = self._loss(trees)
        loss.value()
        loss.backward()
        self.trainer.update()

    def outcome(self, trees: list[PlainTree]) -> tuple[np.ndarray, float]:
        """See :class:`Contender`."""
        loss, states = self._loss(trees)
        value = loss.value()
        return np.stack([state.npvalue() for state in states]), value

    def _loss(self, trees: list[PlainTree]) -> tuple[Any, list[Any]]:
        """The sum of the cross-entropies, and the states."""
        dy.renew_cg()
        states = [state for tree in trees for state in self._tree(tree)]
        labels = [label for tree in trees for label in tree.label]
        losses = [
            dy.pickneglogsoftmax(dy.affine_transform([self.output_bias, self.output, h]), label)
            for h, label in zip(states, labels, strict=True)
        ]
        return dy.esum(losses), states

    def _tree(self, tree: PlainTree) -> list[Any]:
        states: list[Any] = [None] * len(tree.token)
        for node in reversed(range(len(states))):
            below = [states[child] for child in tree.children[node]]
            if below:
                states[node] = self._inner(below)
            else:
                word = dy.lookup(self.words, tree.token[node], update=self.trained)
                states[node] = self._state(self._sums(self.inputs, word))
        return [h for h, _ in states]

    def _sums(self, weights: list[Any], x: Any) -> list[Any]:
        """What enters the gates, the last bias being that of all forget gates."""
        biases = self.biases[:3] + self.biases[3:] * (len(weights) - 3)
        pairs = zip(biases, weights, strict=True)
        return [dy.affine_transform([bias, weight, x]) for bias, weight in pairs]

    def _inner(self, below: list[tuple[Any, Any]]) -> tuple[Any, Any]:
        missing = self.num_children - len(below)
        zeros = [dy.zeros(below[0][0].dim()[0])] * missing
        sums = self._sums(self.children, dy.concatenate([*(h for h, _ in below), *zeros]))
        forget = zip(sums[3:], below, strict=False)
        return self._state(sums[:3], [dy.cmult(dy.logistic(f), c) for f, (_, c) in forget])

    def _state(self, sums: list[Any], kept: list[Any] | None = None) -> tuple[Any, Any]:
        i, o, u = sums
        c = dy.cmult(dy.logistic(i), dy.tanh(u))
        if kept:
            c = dy.esum([c, *kept])
        return dy.cmult(dy.logistic(o), dy.tanh(c)), c
