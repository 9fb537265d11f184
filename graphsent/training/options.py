"""Training options: the single source of their defaults."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from math import isfinite
from typing import Any

import numpy as np

from graphsent._devices import DEVICE, DEVICES
from graphsent._names import nearest
from graphsent.propagation import ENGINES
from graphsent.training.batching import BATCHINGS
from graphsent.training.errors import TrainingError
from graphsent.training.schedules import SCHEDULES

__all__ = ["OF_TASK", "TrainingOptions", "convert_values", "option"]

OF_TASK = "auto"  # selects the best epoch by the task's own metric
_LARGEST = 3e38  # of float32
# Larger values would be mistakes; torch accepts no larger seeds.
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
_KINDS = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}


def option(default: Any, text: str, choices: Sequence[str] | None = None) -> Any:
    """A field of a dataclass of options, with its help text."""
    return field(default=default, metadata={"help": text, "choices": choices})


def convert_values(options: Any) -> None:
    """Makes the values of a dataclass of options plain Python objects of their default's type.

    Raises:
        TrainingError: A value is of another type.
    """
    for each in fields(options):
        value, expected = getattr(options, each.name), type(each.default)
        if isinstance(value, np.generic):
            value = value.item()
        if expected is float and type(value) in (int, str):
            # In YAML, 1e-3 without a decimal point is a string.
            with suppress(ValueError, OverflowError):
                value = float(value)
        if type(value) is not expected:
            raise TrainingError(f"{each.name}: expected {_KINDS[expected]}, got {value!r}")
        object.__setattr__(options, each.name, value)


@dataclass(frozen=True)
class TrainingOptions:
    """How a model is trained; defaults as in Tai et al. 2015 for sentiment.

    ``graphsent train --help-all`` explains each field.

    Raises:
        TrainingError: A value is out of range or not among the choices.
    """

    epochs: int = option(10, "Number of epochs.")
    batch_size: int = option(25, "Sentences per training step, in each process.")
    optimizer: str = option(
        "adagrad",
        "Optimizer of all parameters except word vectors.",
        ("adagrad", "adadelta", "adam"),
    )
    lr: float = option(0.05, "Learning rate, except of word vectors and an encoder.")
    embedding_optimizer: str = option(
        "sgd",
        "Optimizer of the word vectors: sgd; same, as --optimizer; or lazy_adam, which unlike adam "
        "updates only the vectors of words in the batch.",
        ("sgd", "same", "lazy_adam"),
    )
    embedding_lr: float = option(0.1, "Learning rate of the word vectors; 0 freezes them.")
    encoder_lr: float = option(
        2e-5, "Learning rate of a fine-tuned encoder, whose optimizer is Adam."
    )
    schedule: str = option(
        "constant",
        "Learning-rate schedule: constant, or linear decay to 0, reached after the last step.",
        SCHEDULES,
    )
    warmup: float = option(0.0, "Fraction of the steps, below 1, for linear learning-rate warm-up.")
    weight_decay: float = option(
        1e-4,
        "L2 penalty: lambda in lambda/2 * |weights|^2; not for word vectors or an encoder.",
    )
    max_grad_norm: float = option(
        0.0, "Clip the norm of the gradient of all parameters to this value; 0 does not clip."
    )
    average: float = option(
        0.0,
        "Weight averaging for dev, test and the saved model: the average over all steps, with step "
        "s weighted by about s^AVERAGE. Word vectors are not averaged. 0 turns averaging off.",
    )
    batching: str = option(
        "shuffled",
        "How batches are composed: of random sentences, or of sentences of similar size or depth.",
        BATCHINGS,
    )
    shuffle_window: int = option(
        65536,
        "With --stream: number of sentences that are shuffled together, taken in blocks from all "
        "parts of the corpus; up to that many are kept in memory. A window of the whole corpus "
        "yields the same batches as without --stream.",
    )
    loss_nodes: str = option(
        "all",
        "Compute the loss over all labelled phrases, or over whole sentences only.",
        ("all", "root"),
    )
    class_weights: str = option(
        "none",
        "Weights of the classes in the loss: none; or balanced, inversely proportional to the "
        "number of labelled phrases, or sentences, of each class in train.",
        ("none", "balanced"),
    )
    select: str = option(
        OF_TASK,
        "Metric of dev by which the best epoch is selected, such as macro_f1 or mse; auto is the "
        "task's own: accuracy, Pearson correlation, or F1.",
    )
    patience: int = option(0, "Early stopping: epochs without a better dev figure; 0 turns it off.")
    seed: int = option(0, "Random seed.")
    engine: str = option("auto", "Propagation engine; see docs/engine.md.", ENGINES)
    device: str = option("cpu", "Device: cpu, cuda, cuda:1, ...")
    devices: int = option(
        1,
        "Processes per machine, each with its own GPU or a share of the CPU cores. Each computes "
        "--batch-size sentences per step.",
    )
    nodes: int = option(
        1, "Number of machines, on each of which srun, torchrun or Ray starts --devices processes."
    )
    precision: str = option(
        "float32",
        "Precision of matrix products in training: float32; tf32 (10-bit mantissa, if the device "
        "supports it); or bfloat16 (7-bit mantissa). Weights, updates and evaluation on dev are "
        "always float32.",
        ("float32", "tf32", "bfloat16"),
    )
    logger: str = option(
        "tensorboard",
        "Where to log the metrics of each epoch, besides the run's CSV file: TensorBoard, if "
        "installed; Weights & Biases; or MLflow, at MLFLOW_TRACKING_URI or in the run directory.",
        ("tensorboard", "wandb", "mlflow", "none"),
    )
    num_threads: int = option(0, "CPU threads; 0 uses torch's default.")

    def __post_init__(self) -> None:
        """Checks all values."""
        convert_values(self)
        for name in ("epochs", "batch_size", "shuffle_window", "devices", "nodes"):
            self._require(name, getattr(self, name) >= 1, "at least 1")
        for name, most in _MOST.items():
            self._require(name, getattr(self, name) <= most, f"at most {most}")
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, float):
                fits = isfinite(value) and abs(value) < _LARGEST
                self._require(each.name, fits, f"a finite number below {_LARGEST:g}")
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
            self._require(name, getattr(self, name) >= 0, "a non-negative number")
        self._require("warmup", self.warmup < 1, "less than 1")
        self._require("device", DEVICE.fullmatch(self.device) is not None, DEVICES)
        for each in fields(self):
            choices = each.metadata["choices"]
            if choices is not None:
                valid = "one of " + ", ".join(choices)
                value = getattr(self, each.name)
                hint = nearest(value, choices)
                self._require(each.name, value in choices, valid, hint)

    def _require(self, name: str, holds: bool, expected: str, hint: str = "") -> None:
        if not holds:
            raise TrainingError(f"{name}: expected {expected}, got {getattr(self, name)!r}{hint}")

    @property
    def num_processes(self) -> int:
        """Number of processes that train together."""
        return self.devices * self.nodes

    def to_dict(self) -> dict[str, Any]:
        """All settings by name."""
        return asdict(self)
