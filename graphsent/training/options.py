"""Training options: the single source of their defaults."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import Field, asdict, dataclass, field, fields
from typing import Any

import numpy as np

from graphsent._devices import DEVICE, DEVICES
from graphsent._names import nearest
from graphsent.propagation import ENGINES
from graphsent.training.batching import BATCHINGS
from graphsent.training.errors import TrainingError
from graphsent.training.schedules import SCHEDULES

__all__ = ["OF_TASK", "TrainingOptions", "check_values", "option"]

OF_TASK = "auto"  # selects the best epoch by the task's own metric
_LARGEST = 3e38  # of float32
_MANY = 10**9  # larger numbers would be mistakes
_KINDS = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}


def option(
    default: Any,
    text: str,
    choices: Sequence[str] | None = None,
    *,
    least: int | None = None,
    most: int | None = None,
    positive: bool = False,
) -> Any:
    """A field of a dataclass of options.

    Args:
        default: Its default, whose type all values have.
        text: Its help text.
        choices: The values of a string; None for any.
        least: The smallest value of a number.
        most: The largest value of a number.
        positive: Whether a number must be above 0.
    """
    limits = {"least": least, "most": most, "positive": positive}
    return field(default=default, metadata={"help": text, "choices": choices, **limits})


def check_values(options: Any) -> None:
    """Makes the values of a dataclass of options plain Python objects of their default's type.

    Raises:
        TrainingError: A value is of another type, out of range or not among the choices.
    """
    for each in fields(options):
        value = _converted(getattr(options, each.name), type(each.default))
        expected = _expected(value, each)
        if expected is not None:
            hint = nearest(value, each.metadata["choices"] or ())
            raise TrainingError(f"{each.name}: expected {expected}, got {value!r}{hint}")
        object.__setattr__(options, each.name, value)


def _converted(value: Any, kind: type) -> Any:
    """The value, as a Python object instead of NumPy's, and as a float if one is expected."""
    if isinstance(value, np.generic):
        value = value.item()
    if kind is float and type(value) is int:
        with suppress(OverflowError):
            return float(value)
    return value


def _expected(value: Any, of: Field) -> str | None:
    """What is expected in place of the value of an option; None if it is valid."""
    kind: Any = type(of.default)
    limits, choices = of.metadata, of.metadata["choices"]
    if type(value) is not kind:
        return _KINDS[kind]
    if kind is float and not abs(value) < _LARGEST:  # or NaN
        return f"a finite number below {_LARGEST:g}"
    if limits["positive"] and value <= 0:
        return "a positive number"
    if limits["least"] is not None and value < limits["least"]:
        return f"at least {limits['least']}" if limits["least"] else "a non-negative number"
    if limits["most"] is not None and value > limits["most"]:
        return f"at most {limits['most']}"
    if choices is not None and value not in choices:
        return f"one of {', '.join(choices)}"
    return None


@dataclass(frozen=True)
class TrainingOptions:
    """How a model is trained; defaults as in Tai et al. 2015 for sentiment.

    ``graphsent train --help-all`` explains each field.

    Raises:
        TrainingError: A value is out of range or not among the choices.
    """

    epochs: int = option(10, "Number of epochs.", least=1, most=_MANY)
    batch_size: int = option(
        25, "Sentences per training step, in each process.", least=1, most=_MANY
    )
    optimizer: str = option(
        "adagrad",
        "Optimizer of all parameters except word vectors.",
        ("adagrad", "adadelta", "adam"),
    )
    lr: float = option(0.05, "Learning rate, except of word vectors and an encoder.", positive=True)
    embedding_optimizer: str = option(
        "sgd",
        "Optimizer of the word vectors: sgd; same, as --optimizer; or lazy_adam, which unlike adam "
        "updates only the vectors of words in the batch.",
        ("sgd", "same", "lazy_adam"),
    )
    embedding_lr: float = option(0.1, "Learning rate of the word vectors; 0 freezes them.", least=0)
    encoder_lr: float = option(
        2e-5, "Learning rate of a fine-tuned encoder, whose optimizer is Adam.", positive=True
    )
    schedule: str = option(
        "constant",
        "Learning-rate schedule: constant, or linear decay to 0, reached after the last step.",
        SCHEDULES,
    )
    warmup: float = option(
        0.0, "Fraction of the steps, below 1, for linear learning-rate warm-up.", least=0
    )
    weight_decay: float = option(
        1e-4,
        "L2 penalty: lambda in lambda/2 * |weights|^2; not for word vectors or an encoder.",
        least=0,
    )
    max_grad_norm: float = option(
        0.0,
        "Clip the norm of the gradient of all parameters to this value; 0 does not clip.",
        least=0,
    )
    average: float = option(
        0.0,
        "Weight averaging for dev, test and the saved model: the average over all steps, with step "
        "s weighted by about s^AVERAGE. Word vectors are not averaged. 0 turns averaging off.",
        least=0,
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
        least=1,
        most=10**12,
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
    patience: int = option(
        0,
        "Early stopping: epochs without a better dev figure; 0 turns it off.",
        least=0,
        most=_MANY,
    )
    seed: int = option(0, "Random seed.", least=0, most=2**63 - 1)  # torch takes no larger one
    engine: str = option("auto", "Propagation engine; see docs/engine.md.", ENGINES)
    device: str = option("cpu", "Device: cpu, cuda, cuda:1, ...")
    devices: int = option(
        1,
        "Processes per machine, each with its own GPU or a share of the CPU cores. Each computes "
        "--batch-size sentences per step.",
        least=1,
        most=1024,
    )
    nodes: int = option(
        1,
        "Number of machines, on each of which srun, torchrun or Ray starts --devices processes.",
        least=1,
        most=10**6,
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
    num_threads: int = option(0, "CPU threads; 0 uses torch's default.", least=0, most=1024)

    def __post_init__(self) -> None:
        """Checks all values."""
        check_values(self)
        if self.warmup >= 1:
            raise TrainingError(f"warmup: expected less than 1, got {self.warmup}")
        if DEVICE.fullmatch(self.device) is None:
            raise TrainingError(f"device: expected {DEVICES}, got {self.device!r}")

    @property
    def num_processes(self) -> int:
        """Number of processes that train together."""
        return self.devices * self.nodes

    def to_dict(self) -> dict[str, Any]:
        """All settings by name."""
        return asdict(self)
