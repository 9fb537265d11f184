"""DyNet with autobatching (``dynet38`` on PyPI): the same models, trained in the same way.

They have the weights, dropout, optimizers, learning rates and weight decay of ``graphsent train``.
AdaGrad, Adam and weight decay are DyNet's; its weight decay is a common factor of all weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness.measuring import Contender
from harness.trainees import Portion, flushed

from graphsent.graphs import DEPTH, LABEL, TOKEN
from graphsent.models import Model
from graphsent.models.batches.trees import tree_graph
from graphsent.training import TrainingOptions

from .dynet_models import FLUSHES_ON_IMPORT, NETWORKS, Forest, dy

TRAINERS = {"adagrad": dy.AdagradTrainer, "adam": dy.AdamTrainer}


class DyNet(Contender):
    """A model in DyNet with the weights of ours at default options."""

    name = "DyNet, autobatch"
    models = tuple(NETWORKS)
    users_flush = FLUSHES_ON_IMPORT

    def __init__(self, model: Model, training: TrainingOptions, flush: bool) -> None:
        self.flush = flush
        self.vocab, self.shape_tree = model.vocab, model.shape_tree
        self.dropout, self.word_dropout = model.dropout.p, model.embedding.dropout.p
        # Parameters do not keep their collection alive, so keep it.
        parameters = self.parameters = dy.ParameterCollection()
        table = self.table = dy.ParameterCollection()

        def add(values: Any, count: int) -> list[Any]:
            parts = np.split(values.detach().numpy(), count)
            return [parameters.parameters_from_numpy(np.ascontiguousarray(part)) for part in parts]

        self.states = NETWORKS[model.name](model.encoder.cell, add)
        layers = [getattr(model, name, None) for name in ("readout", "output")]
        # of the output layer and, before it, of a layer of rectified linear units
        *self.readout, self.output = (
            (*add(layer.bias, 1), *add(layer.weight, 1)) for layer in layers if layer
        )
        self.words = table.lookup_parameters_from_numpy(model.embedding.weight.detach().numpy())
        # DyNet does not multiply weight decay by the learning rate.
        parameters.set_weight_decay_lambda(training.weight_decay * training.lr)
        self.trainers = (
            TRAINERS[training.optimizer](parameters, training.lr),
            dy.SimpleSGDTrainer(table, training.embedding_lr),
        )
        for trainer in self.trainers:
            trainer.set_clip_threshold(0)  # no clipping, as in ours

    def prepare(self, batch: Portion) -> Forest:
        """The trees as word and class indices."""
        graph = tree_graph([self.shape_tree(tree) for tree in batch.examples], self.vocab)
        data = {name: values.tolist() for name, values in graph.ndata.items()}
        children: list[list[int]] = [[] for _ in data[LABEL]]
        for child, parent in zip(*(nodes.tolist() for nodes in graph.edges()), strict=True):
            children[parent].append(child)
        tree = np.repeat(np.arange(graph.batch_size), graph.batch_num_nodes())
        order = np.lexsort((-graph.ndata[DEPTH], tree)).tolist()
        return Forest(graph.batch_size, data[TOKEN], data[LABEL], children, order)

    def step(self, forest: Forest) -> None:
        with flushed(self.flush):
            loss, _ = self._loss(forest, self.dropout, self.word_dropout)
            loss.value()
            loss.backward()
            for trainer in self.trainers:
                trainer.update()

    def take(self, other: DyNet) -> None:
        """Copies the weights of another contender; the state of AdaGrad or Adam is reset."""
        lists = (each.parameters.parameters_list() for each in (self, other))
        for mine, theirs in zip(*lists, strict=True):
            mine.set_value(theirs.as_array())
        self.words.init_from_array(other.words.as_array())

    def outcome(self, forest: Forest) -> tuple[np.ndarray, float]:
        loss, logits = self._loss(forest)
        value = loss.value()
        return np.atleast_2d(logits.npvalue().T), value

    def _loss(
        self, forest: Forest, dropout: float = 0.0, word_dropout: float = 0.0
    ) -> tuple[Any, Any]:
        """The cross-entropy, summed over nodes and averaged over sentences, and the logits."""
        dy.renew_cg()
        words = [dy.lookup(self.words, token) if token >= 0 else None for token in forest.token]
        if word_dropout:
            words = [word and dy.dropout(word, word_dropout) for word in words]
        states = dy.concatenate_to_batch(self.states(forest, words))
        for bias, weight in self.readout:
            states = dy.rectify(dy.affine_transform([bias, weight, states]))
        if dropout:
            states = dy.dropout(states, dropout)
        logits = dy.affine_transform([*self.output, states])
        losses = dy.pickneglogsoftmax_batch(logits, [max(label, 0) for label in forest.label])
        if min(forest.label) < 0:
            known = np.array([[label >= 0 for label in forest.label]], dtype=np.float32)
            losses = dy.cmult(losses, dy.inputTensor(known, batched=True))
        return dy.sum_batches(losses) / forest.num_trees, logits
