"""The optimizers of a model: one for the word vectors, one for everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import nn
from torch.optim import SGD, Adadelta, Adagrad, Adam, Optimizer

from graphsent.training.options import TrainingOptions

__all__ = ["build_optimizers", "clip_gradients"]

_OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "adagrad": Adagrad,
    "adadelta": partial(Adadelta, rho=0.95, eps=1e-6),  # as in its paper (Zeiler 2012)
    "adam": Adam,
}


def build_optimizers(model: nn.Module, options: TrainingOptions) -> list[Optimizer]:
    """The optimizers of a model.

    Word vectors are the parameters of its ``nn.Embedding`` modules. They are under no weight decay,
    and with ``embedding_lr=0`` they are frozen and have no optimizer.
    """
    tables = list(_word_tables(model))
    rest = _others(model, tables)
    make = _OPTIMIZERS[options.optimizer]
    groups = [{"params": rest, "weight_decay": options.weight_decay}]
    if options.embedding_lr == 0:
        for table in tables:
            table.requires_grad_(False)
        return [make(groups, lr=options.lr)]
    if options.embedding_optimizer == "same":
        groups.append({"params": tables, "lr": options.embedding_lr, "weight_decay": 0.0})
        return [make(groups, lr=options.lr)]
    return [make(groups, lr=options.lr), SGD(tables, lr=options.embedding_lr)]


def clip_gradients(parameters: Iterable[nn.Parameter], max_norm: float) -> None:
    """Scales the gradients of all parameters, sparse ones too, so that their norm is in bounds."""
    gradients = []
    for parameter in parameters:
        if parameter.grad is not None:
            if parameter.grad.is_sparse:
                # A row may come several times in it: only their sum is the gradient.
                parameter.grad = parameter.grad.coalesce()
            gradients.append(parameter.grad)
    values = [each.values() if each.is_sparse else each for each in gradients]
    norm = torch.linalg.vector_norm(
        torch.stack([torch.linalg.vector_norm(each) for each in values])
    )
    scale = max_norm / norm.clamp(min=max_norm)
    for each in values:
        each.mul_(scale)


def _word_tables(model: nn.Module) -> Iterable[nn.Parameter]:
    return (module.weight for module in model.modules() if isinstance(module, nn.Embedding))


def _others(model: nn.Module, tables: list[nn.Parameter]) -> list[nn.Parameter]:
    known = {id(table) for table in tables}
    return [parameter for parameter in model.parameters() if id(parameter) not in known]
