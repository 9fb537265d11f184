"""Builds the model of a run from its configuration, and checks the combination of options."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from graphsent._names import nearest
from graphsent._own import is_own, made
from graphsent.contextual import Encoder
from graphsent.errors import DataError, ModelError
from graphsent.models import MODELS, Model, model_class
from graphsent.models.signatures import hidden_options
from graphsent.tasks import Task, WordVectors, task_options
from graphsent.tasks.corpus import check_shape
from graphsent.training.class_weights import check_class_weights
from graphsent.training.config import RunConfig
from graphsent.training.errors import TrainingError
from graphsent.training.optimizers import takes_rows
from graphsent.vocabulary import Vocabulary

__all__ = [
    "CHECKS",
    "build_model",
    "check_packages",
    "chosen",
    "completed",
    "model_options",
]

# Arguments of a model that follow from the data or the optimizer, not from options.
NOT_CHOSEN = (
    "vocab",
    "num_classes",
    "label_names",
    "ordered_classes",
    "goal",
    "sparse_embedding",
)


def build_model(
    config: RunConfig,
    task: Task,
    vocab: Vocabulary,
    vectors: WordVectors | None,
    encoder: Encoder | None,
) -> Model:
    """Builds the model, with parameters initialized from torch's generator.

    Args:
        config: The configuration of the run.
        task: The task, which defines the classes.
        vocab: The vocabulary of the model.
        vectors: Pre-trained word vectors, if any.
        encoder: Contextual encoder, if any.

    Raises:
        DataError: The task has fewer than two classes.
        ModelError: The model rejects a value.
        TrainingError: The model has no such option, or cannot use the vectors.
    """
    cls = model_class(config.model)
    options = _options(config, cls, vectors, encoder)
    names = task.label_names
    if task.goal == "regression":
        names = names or ("score",)
    elif len(names) < 2:
        raise DataError(f"the task {config.task}: expected at least two classes, got {names}")
    given: dict[str, Any] = {
        "vocab": vocab,
        "num_classes": len(names),
        "label_names": names,
        "ordered_classes": task.ordered_classes,
        "goal": task.goal,
        "sparse_embedding": takes_rows(config.training),
    }
    taken = inspect.signature(cls).parameters
    inputs = None
    if not config.inputs.is_plain:
        default = taken["embedding_dim"].default if encoder is None else 0  # encoder only
        inputs = config.inputs.inputs(options.get("embedding_dim", default), encoder)
        options["embedding_dim"] = config.inputs.projection or inputs.dim
    model = _made(
        cls, config.model, {name: given[name] for name in given if name in taken} | options
    )
    if inputs is not None:
        model.set_inputs(inputs, encoder)
    if vectors is not None:
        model.init_embeddings(vectors.matrix)
    model.engine = config.training.engine
    return model


def _made(cls: type[Model], name: str, arguments: Mapping[str, Any]) -> Model:
    """Constructs the model."""
    if not is_own(name):
        return cls(**arguments)
    model = made(name, "model", cls, arguments, ModelError)
    if "num_features" not in vars(model):
        raise ModelError(f"the model {name}: its constructor does not call super().__init__")
    return model


def _options(
    config: RunConfig, cls: type[Model], vectors: WordVectors | None, encoder: Encoder | None
) -> dict[str, Any]:
    """The options of the model, with the paper's defaults for the task, checked."""
    options = dict(config.model_options)
    valid = model_options(config.model)
    for name, value in cls.task_defaults.get(config.task, {}).items():
        if name != "embedding_dim" or (vectors is None and encoder is None):
            options.setdefault(name, value)
    for name in options:
        if name not in valid:
            choice = ", ".join(valid)
            hint = hidden_options(cls).get(name) or nearest(name, valid)
            raise TrainingError(
                f"{config.model} has no option {name!r}: expected one of {choice}{hint}"
            )
    if (vectors is not None or not config.inputs.is_plain) and "embedding_dim" not in valid:
        raise TrainingError(
            f"{config.model} has no option 'embedding_dim': its only inputs are word vectors that "
            f"it learns itself{hidden_options(cls).get('embedding_dim', '')}"
        )
    if vectors is not None and options.setdefault("embedding_dim", vectors.dimension) != (
        vectors.dimension
    ):
        raise TrainingError(
            f"the word vectors have {vectors.dimension} dimensions, but embedding_dim is "
            f"{options['embedding_dim']}: leave it out"
        )
    of_encoder = () if encoder is None else ("embedding_dim",)
    for name, each in valid.items():
        if each.default is each.empty and name not in (*options, *of_encoder):
            raise TrainingError(f"{config.model} needs the option {name!r}: it has no default")
    return options


def _check_goal(config: RunConfig, task: Task) -> None:
    """Raises a TrainingError if the model is not for the kind of examples or goal of the task."""
    model = model_class(config.model)

    def learns(cls: type[Model]) -> bool:
        return cls.examples == task.examples and task.goal in cls.goals

    if not learns(model):
        valid = [name for name in sorted(MODELS) if learns(model_class(name))]
        raise TrainingError(
            f"the task {config.task!r} is {task.goal} of {_units(task)}, the model "
            f"{config.model!r} is for {' and '.join(model.goals)} of {_units(model)}: expected "
            f"one of {', '.join(valid)}"
        )


def _check_weights(config: RunConfig, task: Task) -> None:
    """Raises a TrainingError if classes are to be weighted, and the task has none."""
    check_class_weights(task.goal, config.training)


def _check_loss_nodes(config: RunConfig, task: Task) -> None:
    """Raises a TrainingError if phrases are to be left out, and examples are not sentences."""
    if config.training.loss_nodes != "all" and task.examples != "trees":
        kind = "pairs of sentences" if task.examples == "pairs" else "n-best lists"
        raise TrainingError(f"loss_nodes: expected 'all': examples are {kind}, without phrases")


def check_packages(config: RunConfig) -> None:
    """Looks for the packages that a run needs in the end, before anything that takes long.

    Raises:
        ModuleNotFoundError: One of them is not installed.
    """
    for name in ("pytorch_lightning", "torchmetrics"):  # which take seconds to import
        if importlib.util.find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    if config.training.logger in ("wandb", "mlflow"):
        importlib.import_module(config.training.logger)


def _check_dev(config: RunConfig, task: Task) -> None:
    """Raises a TrainingError if there is no dev split to select the best epoch."""
    if "dev" not in task.available:
        data = " and ".join(task.available)
        raise TrainingError(f"there is no dev split: the data have {data}; add --dev FILE")


def _check_stream(config: RunConfig, task: Task) -> None:
    """Raises a TrainingError if examples are to be streamed, and those of the task cannot be."""
    if not config.stream:
        return
    if task.examples == "lists":
        raise TrainingError(f"stream: the task {config.task!r} has n-best lists: expected false")
    if task.name == "own" and not task.options.get("dev"):
        raise TrainingError("--stream holds nothing out of train: add --dev FILE")
    if task.name == "own" and task.options.get("fold") is not None:
        raise TrainingError("--stream holds nothing out of train, so it has no folds")


def _check_trees(config: RunConfig, task: Task) -> None:
    """Raises a DataError if trees of a shape are given, and the model reads words."""
    if config.trees is not None:
        check_shape(config.trees, config.input_kind)


def _check_tokenizer(config: RunConfig, task: Task) -> None:
    """Raises a TrainingError if a tokenizer is given, and the model does not read raw text."""
    if config.tokenizer is not None and model_class(config.model).tokenizer is None:
        raise TrainingError(f"tokenizer: the model {config.model!r} reads trees, not raw text")


CHECKS: dict[tuple[str, ...], Callable[[RunConfig, Task], None]] = {
    ("model",): _check_goal,
    ("training", "class_weights"): _check_weights,
    ("training", "loss_nodes"): _check_loss_nodes,
    ("task_options", "dev"): _check_dev,
    ("stream",): _check_stream,
    ("trees",): _check_trees,
    ("tokenizer",): _check_tokenizer,
}
"""Checks of a configuration with its task, by the path of names to the setting that is wrong if one
fails."""


def model_options(model: str) -> dict[str, inspect.Parameter]:
    """The options of a model, by name.

    Raises:
        ModelError: There is no such model.
    """
    return chosen(inspect.signature(model_class(model)).parameters)


def completed(config: RunConfig) -> RunConfig:
    """An equivalent configuration with the defaults of its task and model filled in.

    Raises:
        DataError: There is no such task.
        ModelError: There is no such model.
    """
    of_task = _defaults(task_options(config.task))
    of_model = _defaults(model_options(config.model))
    cls = model_class(config.model)
    of_task |= cls.task_option_defaults.get(config.task, {})
    of_model |= cls.task_defaults.get(config.task, {})
    if config.vectors:
        of_model.pop("embedding_dim", None)  # follows from them
    elif config.inputs.encoder and "embedding_dim" in of_model:
        of_model["embedding_dim"] = 0  # there are no word vectors besides the features
    return replace(
        config,
        task_options={**of_task, **config.task_options},
        model_options={**of_model, **config.model_options},
    )


def _defaults(parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    return {
        name: each.default for name, each in parameters.items() if each.default is not each.empty
    }


def _units(learner: Task | type[Model]) -> str:
    """The examples of a task or model, for error messages; with or without trees."""
    return "single sentences" if learner.examples == "trees" else learner.examples


def chosen(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a model that are options."""
    return {name: value for name, value in arguments.items() if name not in NOT_CHOSEN}
