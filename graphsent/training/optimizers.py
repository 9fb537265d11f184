"""The optimizers of a model: separate ones for word vectors, an encoder, and the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.optim import SGD, Adam, Optimizer, SparseAdam

from graphsent.models.embeddings.contextual import ContextualFeatures
from graphsent.training.adadelta import RowAdadelta
from graphsent.training.adagrad import RowAdagrad
from graphsent.training.options import TrainingOptions

if TYPE_CHECKING:
    from pytorch_lightning.core.optimizer import LightningOptimizer

__all__ = [
    "build_optimizers",
    "clip_gradients",
    "encoder_parameters",
    "freeze_word_tables",
    "take_step",
    "takes_rows",
    "word_tables",
]

_OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "adagrad": RowAdagrad,
    "adadelta": partial(RowAdadelta, rho=0.95, eps=1e-6),  # as in its paper (Zeiler 2012)
    "adam": Adam,
}
_FUSED = ("adagrad", "adam")
"""Optimizers with fused steps on the CPU, which take a tenth (AdaGrad) or a quarter (Adam) of the
time."""


def takes_rows(options: TrainingOptions) -> bool:
    """Whether the optimizer of the word vectors takes row-sparse gradients.

    SGD, AdaGrad and Adadelta do not change vectors without gradients, so sparse gradients only save
    time. Adam does change them, and needs the gradient of the whole table.
    """
    return options.embedding_optimizer != "same" or options.optimizer != "adam"


def build_optimizers(model: nn.Module, options: TrainingOptions) -> list[Optimizer]:
    """Builds the optimizers of a model.

    Word vectors are the parameters of its ``nn.Embedding`` modules. They have no weight decay; with
    ``embedding_lr=0``, which freezes them, they have no optimizer. ``"lazy_adam"`` is Adam for
    those without sparse gradients, see :func:`takes_rows`. An encoder within the model is optimized
    by Adam, without weight decay.
    """
    tables, encoder = list(word_tables(model)), list(encoder_parameters(model))
    known = {id(parameter) for parameter in (*tables, *encoder)}
    rest = [parameter for parameter in model.parameters() if id(parameter) not in known]
    make, adam = _maker(options.optimizer, model), _maker("adam", model)
    groups: list[dict[str, Any]] = [{"params": rest, "weight_decay": options.weight_decay}]
    if options.embedding_lr == 0:
        tables = []
    apart: list[tuple[Callable[..., Optimizer], list[torch.Tensor]]] = []
    if options.embedding_optimizer == "sgd":
        apart = [(SGD, tables)]
    elif options.embedding_optimizer == "lazy_adam":
        sparse = {id(each.weight) for each in _embeddings(model) if each.sparse}
        by_row = [table for table in tables if id(table) in sparse]
        whole = [table for table in tables if id(table) not in sparse]
        apart = [(SparseAdam, by_row), (adam, whole)]
    elif tables:
        groups.append({"params": tables, "lr": options.embedding_lr, "weight_decay": 0.0})
    of_vectors = [each(chosen, lr=options.embedding_lr) for each, chosen in apart if chosen]
    of_encoder = [adam(encoder, lr=options.encoder_lr)] if encoder else []
    return [make(groups, lr=options.lr), *of_vectors, *of_encoder]


def _maker(name: str, model: nn.Module) -> Callable[..., Optimizer]:
    """The constructor of an optimizer for a model, fused where possible."""
    on_cpu = all(each.is_cpu for each in model.parameters())
    make = _OPTIMIZERS[name]
    return partial(make, fused=True) if on_cpu and name in _FUSED else make


def take_step(optimizers: Iterable[Optimizer | LightningOptimizer]) -> None:
    """Takes a step with every optimizer."""
    # Optimizers create sparse tensors with valid indices; torch warns if the check is left unset.
    with torch.sparse.check_sparse_tensor_invariants(enable=False):
        for optimizer in optimizers:
            optimizer.step()


def clip_gradients(parameters: Iterable[nn.Parameter], max_norm: float) -> None:
    """Clips the total norm of the gradients of all parameters, including sparse ones."""
    gradients = []
    for parameter in parameters:
        if parameter.grad is not None:
            if parameter.grad.is_sparse:
                # Duplicate rows must be summed first.
                parameter.grad = parameter.grad.coalesce()
            gradients.append(parameter.grad)
    values = [each.values() if each.is_sparse else each for each in gradients]
    norm = torch.linalg.vector_norm(
        torch.stack([torch.linalg.vector_norm(each) for each in values])
    )
    scale = max_norm / norm.clamp(min=max_norm)
    for each in values:
        each.mul_(scale)


def freeze_word_tables(model: nn.Module, options: TrainingOptions) -> None:
    """Disables gradients of word vectors with ``embedding_lr=0``.

    In distributed training this must happen at the start, since processes wait for each other's
    gradients.
    """
    if options.embedding_lr == 0:
        for table in word_tables(model):
            table.requires_grad_(False)


def word_tables(model: nn.Module) -> Iterable[torch.Tensor]:
    """The word vectors of a model, without the subword embeddings of an encoder."""
    pieces = {id(parameter) for parameter in encoder_parameters(model)}
    tables = (module.weight for module in _embeddings(model))
    return (table for table in tables if id(table) not in pieces)


def _embeddings(model: nn.Module) -> Iterable[nn.Embedding]:
    return (module for module in model.modules() if isinstance(module, nn.Embedding))


def encoder_parameters(model: nn.Module) -> Iterable[nn.Parameter]:
    """The parameters of an encoder that is fine-tuned with a model."""
    parts = (part for part in model.modules() if isinstance(part, ContextualFeatures))
    return (parameter for part in parts for parameter in part.parameters())
