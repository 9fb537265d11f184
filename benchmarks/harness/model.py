"""The model of all torch contenders: word embedding, cell, output."""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphsent.models.embeddings.table import WordEmbedding

from .data import NUM_CLASSES

LEARNING_RATE = 0.01


class Model(nn.Module):
    """Classifies every node."""

    def __init__(self, cell: nn.Module, num_words: int) -> None:
        super().__init__()
        self.table = WordEmbedding(num_words, cell.in_feats)
        nn.init.uniform_(self.table.weight, -0.5, 0.5)
        self.cell = cell
        self.output = nn.Linear(cell.out_feats, NUM_CLASSES)
        self.optimizer: torch.optim.Optimizer | None = None

    def copy(self) -> Model:
        """A model with the same weights and its own optimizer; its word table is frozen."""
        model = deepcopy(self)
        model.table.requires_grad_(False)
        parameters = [*model.cell.parameters(), *model.output.parameters()]
        model.optimizer = torch.optim.Adagrad(parameters, LEARNING_RATE, foreach=True)
        return model

    def loss(self, h: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy summed over all labelled nodes."""
        scores = self.output(h)
        return functional.cross_entropy(scores, labels, reduction="sum", ignore_index=-1)

    def update(self, loss: Tensor) -> None:
        """Computes gradients and takes an AdaGrad step."""
        self.zero_grad()
        loss.backward()
        self.optimizer.step()
