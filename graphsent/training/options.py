"""The settings of a training run: the only source of their defaults."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from math import isfinite
from typing import Any

import numpy as np

from graphsent._names import nearest
from graphsent.propagation import ENGINES
from graphsent.training.batching import BATCHINGS
from graphsent.training.errors import TrainingError
from graphsent.training.schedules import SCHEDULES

__all__ = ["TrainingOptions"]

# More would be a slip; torch takes no more.
_MOST = {
    "epochs": 10**9,
    "batch_size": 10**9,
    "shuffle_window": 10**12,
    "patience": 10**9,
    "seed": 2**63 - 1,
    "num_threads": 1024,
    "devices": 1024,
    "nodes": 10**6,
}


def _option(default: Any, text: str, choices: Sequence[str] | None = None) -> Any:
    return field(default=default, metadata={"help": text, "choices": choices})


@dataclass(frozen=True)
class TrainingOptions:
    """How a model is trained; the defaults are those of Tai et al. 2015 for sentiment.

    The help text of each field is also that of the command line.

    Raises:
        TrainingError: A value is out of range, or not among the choices.
    """

    epochs: int = _option(10, "Passes over the training data.")
    batch_size: int = _option(25, "Sentences a step.")
    optimizer: str = _option(
        "adagrad", "Optimizer of all weights but the word vectors.", ("adagrad", "adadelta", "adam")
    )
    lr: float = _option(0.05, "Learning rate of that optimizer.")
    embedding_optimizer: str = _option(
        "sgd",
        "Optimizer of the word vectors: plain SGD; the same as for the rest; or Adam for those of "
        "a batch alone, where all others, unlike with Adam, stay as they are.",
        ("sgd", "same", "lazy_adam"),
    )
    embedding_lr: float = _option(0.1, "Learning rate of the word vectors; 0 keeps them fixed.")
    encoder_lr: float = _option(
        2e-5, "Learning rate of an encoder that is trained with the model, by Adam."
    )
    schedule: str = _option(
        "constant",
        "All learning rates over the steps of a run: constant, or falling in a line to 0.",
        SCHEDULES,
    )
    warmup: float = _option(
        0.0, "Share of the steps in which learning rates rise in a line from 0, below 1."
    )
    weight_decay: float = _option(
        1e-4, "L2: lambda of lambda/2 * |weights|^2, word vectors left out."
    )
    max_grad_norm: float = _option(
        0.0, "Longer gradients of all parameters together are cut to this norm; 0 never cuts."
    )
    average: float = _option(
        0.0,
        "On dev, on test and in the saved model weights are averages over all steps, of which "
        "step s counts about as s^AVERAGE; word vectors, of which a step changes few, are as the "
        "last step left them. 0 takes all weights as it left them.",
    )
    batching: str = _option(
        "shuffled",
        "What goes into a batch: any sentences, or some of about the same size or depth.",
        BATCHINGS,
    )
    shuffle_window: int = _option(
        65536,
        "With --stream: how many sentences, taken from all over the corpus in blocks, are shuffled "
        "together and may be in memory. A window of all gives the batches of a run in memory.",
    )
    loss_nodes: str = _option(
        "all", "Whether all labelled phrases or only sentences enter the loss.", ("all", "root")
    )
    patience: int = _option(
        0, "Stop after so many epochs without a better dev figure; 0 never stops early."
    )
    seed: int = _option(0, "Seed of everything random.")
    engine: str = _option("auto", "How cells propagate over graphs: see docs/engine.md.", ENGINES)
    device: str = _option("cpu", "Where to compute: cpu, cuda, cuda:1, ...")
    devices: int = _option(
        1,
        "Processes on this machine, each with a GPU of its own or, on the CPU, a share of the "
        "cores. Every one computes --batch-size sentences of a step.",
    )
    nodes: int = _option(
        1, "Machines, on each of which srun, torchrun or Ray starts --devices processes."
    )
    precision: str = _option(
        "float32",
        "Of products of matrices in training: float32; tf32, which rounds to 10 bits where the "
        "device can; or bfloat16, to 7 bits. Weights and their updates are float32 in any case.",
        ("float32", "tf32", "bfloat16"),
    )
    logger: str = _option(
        "tensorboard",
        "Where the figures of each epoch go beside the CSV file of the run: TensorBoard, if it is "
        "installed; Weights & Biases; MLflow, at MLFLOW_TRACKING_URI or in the run; or nowhere.",
        ("tensorboard", "wandb", "mlflow", "none"),
    )
    num_threads: int = _option(0, "Threads of torch on the CPU; 0 leaves torch's own choice.")

    def __post_init__(self) -> None:
        """Checks all values."""
        for option in fields(self):
            value, expected = getattr(self, option.name), type(option.default)
            if isinstance(value, np.generic):
                value = value.item()
            if expected is float and type(value) in (int, str):
                # 1e-3 without a point is a string in YAML.
                with suppress(ValueError):
                    value = float(value)
            object.__setattr__(self, option.name, value)
            if type(value) is not expected:
                kinds = {"int": "an integer", "float": "a number", "str": "a string"}
                self._require(option.name, False, kinds[expected.__name__])
        for name in ("epochs", "batch_size", "shuffle_window", "devices", "nodes"):
            self._require(name, getattr(self, name) >= 1, "at least 1")
        for name, most in _MOST.items():
            self._require(name, getattr(self, name) <= most, f"at most {most}")
        for option in fields(self):
            value = getattr(self, option.name)
            if isinstance(value, float):
                self._require(option.name, isfinite(value), "a finite number")
        for name in ("lr", "encoder_lr"):
            self._require(name, getattr(self, name) > 0, "a positive number")
        for name in (
            "embedding_lr",
            "weight_decay",
            "max_grad_norm",
            "average",
            "warmup",
            "patience",
            "num_threads",
            "seed",
        ):
            self._require(name, getattr(self, name) >= 0, "no negative number")
        self._require("warmup", self.warmup < 1, "less than 1")
        for option in fields(self):
            choices = option.metadata["choices"]
            if choices is not None:
                valid = "one of " + ", ".join(choices)
                value = getattr(self, option.name)
                hint = nearest(value, choices)
                self._require(option.name, value in choices, valid, hint)

    def _require(self, name: str, holds: bool, expected: str, hint: str = "") -> None:
        if not holds:
            raise TrainingError(f"{name}: expected {expected}, got {getattr(self, name)!r}{hint}")

    @property
    def num_processes(self) -> int:
        """How many processes train together."""
        return self.devices * self.nodes

    def to_dict(self) -> dict[str, Any]:
        """All settings by name."""
        return asdict(self)
