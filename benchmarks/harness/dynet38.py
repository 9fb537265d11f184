"""DyNet with autobatching (``dynet38`` on PyPI): the same model, trained in the same way.

This is the N-ary Tree-LSTM of ``graphsent train``, with its weights, dropout, learning rates and
weight decay. A computation graph is built node by node for all trees of a batch; DyNet finds the
operations that can be batched. Differences from ours:

* each gate has its own matrices, as in DyNet's examples; one matrix for all gates, with slices of
  its product, was 10 % slower in training;
* inner nodes have no input instead of zeros, and so no product with it;
* AdaGrad and weight decay are DyNet's; its weight decay is a common factor of all weights.

The wheel is compiled for processors with AVX2 and FMA; matrix products are Eigen's, not MKL's. It
computes in the calling thread, so torch's setting for subnormal numbers in that thread applies.
Importing it changes that setting (it is compiled with ``-ffast-math``), which is undone here:
otherwise all later contenders would flush subnormal numbers.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any, NamedTuple

import numpy as np

from graphsent.graphs import constituency_graph
from graphsent.models import TreeLSTMClassifier
from graphsent.training import TrainingOptions
from graphsent.trees import Tree

from .measuring import Contender
from .trainees import Portion, flushed, flushes

with flushed(False), contextlib.redirect_stdout(sys.stderr):
    import dynet_config

    dynet_config.set(mem=512, autobatch=True, random_seed=1)
    import dynet as dy

    FLUSHES_ON_IMPORT = flushes()


class PlainTree(NamedTuple):
    """Words and classes of all nodes (-1 for none), and their children from left to right.

    Parents come before children.
    """

    token: list[int]
    label: list[int]
    children: list[list[int]]


class DyNet(Contender):
    """A Tree-LSTM in DyNet with the weights of ours at default options."""

    name = "DyNet, autobatch"
    users_flush = FLUSHES_ON_IMPORT

    def __init__(self, model: TreeLSTMClassifier, training: TrainingOptions, flush: bool) -> None:
        cell = model.encoder.cell
        self.flush = flush
        self.vocab, self.shape_tree = model.vocab, model.shape_tree
        self.dropout = model.dropout.p
        self.num_children = cell.num_children
        # Parameters do not keep their collection alive, so keep it.
        parameters = self.parameters = dy.ParameterCollection()
        table = self.table = dy.ParameterCollection()

        def add(values: Any, count: int) -> list[Any]:
            parts = np.split(values.detach().numpy(), count)
            return [parameters.parameters_from_numpy(np.ascontiguousarray(part)) for part in parts]

        # i, o, u and the forget gates
        self.inputs = add(cell.W.weight, 4)[:3]
        self.children = add(cell.U.weight, 3 + cell.num_children)
        self.biases = add(cell.W.bias, 4)
        (self.output,) = add(model.output.weight, 1)
        (self.output_bias,) = add(model.output.bias, 1)
        self.words = table.lookup_parameters_from_numpy(model.embedding.weight.detach().numpy())
        # DyNet does not multiply weight decay by the learning rate.
        parameters.set_weight_decay_lambda(training.weight_decay * training.lr)
        self.trainers = (
            dy.AdagradTrainer(parameters, training.lr),
            dy.SimpleSGDTrainer(table, training.embedding_lr),
        )
        for trainer in self.trainers:
            trainer.set_clip_threshold(0)  # no clipping, as in ours

    def prepare(self, batch: Portion) -> list[PlainTree]:
        """The trees as word and class indices."""
        return [self._plain(self.shape_tree(tree)) for tree in batch.examples]

    def _plain(self, tree: Tree) -> PlainTree:
        children: list[list[int]] = [[] for _ in range(tree.num_nodes)]
        for node, parent in enumerate(tree.parents.tolist()):
            if parent >= 0:
                children[parent].append(node)
        data = constituency_graph(tree, vocab=self.vocab).ndata
        return PlainTree(data["token"].tolist(), data["label"].tolist(), children)

    def step(self, trees: list[PlainTree]) -> None:
        with flushed(self.flush):
            loss, _ = self._loss(trees, self.dropout)
            loss.value()
            loss.backward()
            for trainer in self.trainers:
                trainer.update()

    def take(self, other: DyNet) -> None:
        """Copies the weights of another contender; the sums of AdaGrad are reset."""
        lists = (each.parameters.parameters_list() for each in (self, other))
        for mine, theirs in zip(*lists, strict=True):
            mine.set_value(theirs.as_array())
        self.words.init_from_array(other.words.as_array())

    def outcome(self, trees: list[PlainTree]) -> tuple[np.ndarray, float]:
        loss, logits = self._loss(trees, 0.0)
        value = loss.value()
        return np.atleast_2d(logits.npvalue().T), value

    def _loss(self, trees: list[PlainTree], dropout: float) -> tuple[Any, Any]:
        """The cross-entropy, summed over nodes and averaged over sentences, and the logits."""
        dy.renew_cg()
        states = dy.concatenate_to_batch([h for tree in trees for h in self._tree(tree)])
        if dropout:
            states = dy.dropout(states, dropout)
        logits = dy.affine_transform([self.output_bias, self.output, states])
        labels = [label for tree in trees for label in tree.label]
        losses = dy.pickneglogsoftmax_batch(logits, [max(label, 0) for label in labels])
        if min(labels) < 0:
            known = np.array([[label >= 0 for label in labels]], dtype=np.float32)
            losses = dy.cmult(losses, dy.inputTensor(known, batched=True))
        return dy.sum_batches(losses) / len(trees), logits

    def _tree(self, tree: PlainTree) -> list[Any]:
        states: list[Any] = [None] * len(tree.token)
        for node in reversed(range(len(states))):
            below = [states[child] for child in tree.children[node]]
            if below:
                states[node] = self._inner(below)
            else:
                word = dy.lookup(self.words, tree.token[node])
                states[node] = self._state(self._sums(self.inputs, word))
        return [h for h, _ in states]

    def _sums(self, weights: list[Any], x: Any) -> list[Any]:
        """The gates' pre-activations; all forget gates have the last bias."""
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
