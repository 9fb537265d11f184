"""The model of all contenders that compute with torch: word table, cell, output."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphsent.models.embeddings.table import WordEmbedding

from .data import NUM_CLASSES

LEARNING_RATE = 0.01


class Model(nn.Module):
    """Classifies every node.

    Args:
        cell: the cell.
        num_words: rows of the word table.
    """

    def __init__(self, cell: nn.Module, num_words: int) -> None:
        super().__init__()
        self.table = WordEmbedding(num_words, cell.in_feats)
        nn.init.uniform_(self.table.weight, -0.5, 0.5)
        self.cell = cell
        self.output = nn.Linear(cell.out_feats, NUM_CLASSES)
        self.optimizer: torch.optim.Optimizer | None = None

    def copy(self) -> Model:
        """A model with the same weights and an optimizer of its own; the word table is frozen."""
        model = deepcopy(self)
        model.table.requires_grad_(False)
        parameters = [*model.cell.parameters(), *model.output.parameters()]
        model.optimizer = _adagrad(parameters)
        return model

    def with_cell(self, cell: nn.Module) -> Model:
        """A model with the same table and output, and another cell."""
        model = Model(cell, self.table.num_embeddings)
        model.table.load_state_dict(self.table.state_dict())
        model.output.load_state_dict(self.output.state_dict())
        return model

    def loss(self, h: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy of all nodes with a label, summed."""
        scores = self.output(h)
        return functional.cross_entropy(scores, labels, reduction="sum", ignore_index=-1)

    def update(self, loss: Tensor) -> None:
        """Gradients, and a step of AdaGrad."""
        self.zero_grad()
        loss.backward()
        self.optimizer.step()


def _adagrad(parameters: Iterable[nn.Parameter]) -> torch.optim.Adagrad:
    """AdaGrad in one operation where torch has it (2.5 and later)."""
    fused = "fused" in inspect.signature(torch.optim.Adagrad).parameters
    options = {"fused": True} if fused else {"foreach": True}
    return torch.optim.Adagrad(parameters, lr=LEARNING_RATE, **options)
