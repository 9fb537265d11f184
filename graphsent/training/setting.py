"""Prepares a run: builds task, data and model from its configuration."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import torch

import graphsent
from graphsent._dgl import dgl
from graphsent._files import full_path
from graphsent._own import is_own
from graphsent.contextual import Encoder
from graphsent.models import Model
from graphsent.parsing import TreeSource, load_parser
from graphsent.tasks import (
    Task,
    TaskData,
    Vocabulary,
    WordVectors,
    build_vocabulary,
    count_words,
    get_task,
    resolve_data_dir,
)
from graphsent.tasks.corpus import WORDS
from graphsent.tasks.inspection import texts_in_train
from graphsent.tasks.parsed import num_without_tree
from graphsent.tasks.scores import check_scores
from graphsent.training.batching import seed_generators
from graphsent.training.building import CHECKS, build_model, check_packages, chosen, model_options
from graphsent.training.config import RunConfig
from graphsent.training.devices import trainer_devices
from graphsent.training.errors import TrainingError
from graphsent.training.evaluation import as_predicted
from graphsent.training.inputs import InputOptions
from graphsent.training.optimizers import encoder_parameters, word_tables
from graphsent.training.own_model import check_model
from graphsent.training.selection import Selection, selection_of
from graphsent.training.streaming import stream_data

__all__ = [
    "Setting",
    "count_parameters",
    "prepare",
    "resolved",
    "unheard",
]


def unheard(_: object) -> None:
    """Ignores its argument: the callback of processes other than rank 0."""


@dataclass(frozen=True)
class Setting:
    """Everything needed to start training.

    Attributes:
        config: The configuration, with all defaults and full paths filled in.
        task: The task.
        data: Its examples.
        model: The initialized model.
        selection: How the best epoch is selected.
        facts: Facts about all of this for ``results.json``.
    """

    config: RunConfig
    task: Task
    data: TaskData
    model: Model
    selection: Selection
    facts: dict[str, Any]


def prepare(
    config: RunConfig,
    echo: Callable[[str], None],
    held_out: Mapping[str, Any] | None = None,
    *,
    check: Callable[[Mapping[str, Any]], None] = lambda facts: None,
    progress: bool = False,
) -> Setting:
    """Reads the data and builds the model, with random numbers that depend only on the seed.

    Args:
        config: The configuration of the run.
        echo: Called with lines about the data and the model.
        held_out: For a resumed run, what it held out of the training data before.
        check: May reject the facts about the run, before the features of all sentences are
            computed, which may take hours.
        progress: Whether to show progress bars while writing shards.

    Raises:
        DataError: Task, corpus or vectors cannot be used, or all scores of train or dev are equal.
        ModelError: The model rejects a value.
        ParserFailed: The parser does not work.
        ModuleNotFoundError: A package is not installed: Lightning's, or that of the logger.
        TrainingError: There is no such device; or the model is not for this task, has no such
            option, or cannot use the vectors; or the task has no such metric; or there are more
            processes than examples in dev.
    """
    trainer_devices(config.training)
    check_packages(config)
    task = get_task(config.task, **config.task_options)
    for check_option in CHECKS.values():
        check_option(config, task)
    encoder = config.inputs.load_encoder()  # before anything that takes long, and before seeding
    seed_generators(config.training.seed)
    dgl.seed(config.training.seed % 2**31)
    config = resolved(config, task)
    if config.stream:
        task, data = _stream(config, encoder, echo, progress)
    else:
        task, data = config.load_data(held_out=held_out, echo=echo)
    echo(f"data: {data.source.summary()}")
    selection = selection_of(task, config.training.select)
    _check_splits(config, task, data, selection.metric, echo)
    vocab, vectors, of_words = _words(config, data, echo)
    facts = {"corpus": data.source.describe(), **of_words}
    model = build_model(config, task, vocab, vectors, encoder)
    model.init_scores(data.splits["train"])
    if model.tokenizer is not None:
        model.tokenizer = config.tokenizer or task.tokenizer
    if model.tree_kind != WORDS:
        model.tree_source = _tree_source(config)
        if config.parser is not None:
            facts["trees"] = {
                **model.tree_source._asdict(),
                "examples_without_tree": num_without_tree(data),
            }
    if config.task == "own" and not config.stream:
        data = as_predicted(data, model)
    if is_own(config.model):
        check_model(config.model, model, task, data.splits["train"], config.training)
    config = _as_built(config, task, model)
    if encoder is not None:
        facts["encoder"] = {"sha256": encoder.sha256, "dimension": encoder.dim}
    facts = {"versions": _versions(), **config.to_dict(), **facts}
    check(facts)
    if encoder is not None:
        encoder.model.to(config.training.device)
        examples = chain.from_iterable(data.splits.values())
        model.keep_features(examples, lambda done: echo(f"features of {done:,} sentences computed"))
    sizes = count_parameters(model)
    echo(_describe_sizes(config.model, sizes, len(vocab)))
    return Setting(config, task, data, model, selection, {**facts, **sizes})


def _check_splits(
    config: RunConfig, task: Task, data: TaskData, metric: str, echo: Callable[[str], None]
) -> None:
    """Checks that dev can select the best epoch, and reports what the splits lack or share."""
    if "test" not in data.splits:
        echo("there is no test split: the model is evaluated on dev alone")
    if len(data.splits["dev"]) < config.training.num_processes:  # each evaluates its share of dev
        raise TrainingError(
            f"devices: expected at most as many processes as dev has examples, "
            f"{len(data.splits['dev']):,}, got {config.training.num_processes}"
        )
    if config.task == "own" and not config.stream:  # that would read all shards
        for split, number in texts_in_train(data.splits).items():
            if number:
                echo(_in_train(split, number, len(data.splits[split])))
    if task.goal == "regression":
        for split in ("train", "dev"):
            check_scores(split, data.splits[split], metric)


def _words(
    config: RunConfig, data: TaskData, echo: Callable[[str], None]
) -> tuple[Vocabulary, WordVectors | None, dict[str, Any]]:
    """The vocabulary, the word vectors, if any, and facts about both."""
    vocab, vectors = build_vocabulary(
        data.splits["train"],
        chain(data.splits["dev"], data.splits.get("test", ())),
        config.vectors,
        seed=config.training.seed,
        lower_fallback=config.lower_fallback,
        min_count=config.inputs.min_count,
        lower=config.inputs.lower,
    )
    counts = count_words(data.splits["train"], vocab.normal)
    if config.inputs.min_count > 1:
        echo(_rare_words(vocab, counts))
    facts: dict[str, Any] = {"vocabulary": len(vocab)}
    if vectors is not None:
        echo(vectors.summary(counts))
        facts["word_vectors"] = _describe_vectors(vectors, counts)
    return vocab, vectors, facts


def _as_built(config: RunConfig, task: Task, model: Model) -> RunConfig:
    """The configuration with the options that the task and the model have by default."""
    options = chosen(model.config)
    if model.inputs is not None:  # the option is the dimension of the word vectors alone
        options["embedding_dim"] = model.inputs.word_dim
    return replace(
        config,
        task_options=_task_options(config, task),
        model_options=options,
        tokenizer=model.tokenizer,
    )


def resolved(config: RunConfig, task: Task) -> RunConfig:
    """Resolves paths and the kind of trees, so that the working directory does not matter.

    Args:
        config: The configuration of a run.
        task: Its task.

    Raises:
        DataError: The data directory does not exist.
        ModelError: There is no such model.
        ParserError: There is no such parser.
        ParserFailed: Its package is not installed.
        TrainingError: The parser does not return the trees that the model reads.
    """
    return replace(
        config,
        task_options=_task_options(config, task),
        data_dir=str(resolve_data_dir(config.data_dir).resolve()) if task.corpora else None,
        parses_dir=config.parses_dir and full_path(config.parses_dir),
        tree_kind=config.input_kind,
        parser=config.parser and config.load_parser().source.parser,
        vectors=tuple(map(full_path, config.vectors)),
        inputs=replace(
            config.inputs, encoder=config.inputs.encoder and full_path(config.inputs.encoder)
        ),
    )


def count_parameters(model: Model) -> dict[str, int]:
    """Numbers of parameters: of word vectors, of a fine-tuned encoder, and of the rest."""
    words, encoder, total = (
        sum(parameter.numel() for parameter in parameters)
        for parameters in (word_tables(model), encoder_parameters(model), model.parameters())
    )
    return {
        "parameters": total - words - encoder,
        "embedding_parameters": words,
        "encoder_parameters": encoder,
    }


def _task_options(config: RunConfig, task: Task) -> dict[str, Any]:
    """The task options with all defaults, as far as the task reports them."""
    return dict(task.options) if task.name == config.task else config.task_options


def _stream(
    config: RunConfig, encoder: Encoder | None, echo: Callable[[str], None], progress: bool
) -> tuple[Task, TaskData]:
    """The task and its examples, read from shards."""
    task = get_task(config.task, **config.task_options)
    task.tokenizer = config.tokenizer or task.tokenizer
    stream = task.stream(
        config.data_dir,
        tree_kind=config.input_kind,
        parses_dir=config.parses_dir,
        trees=config.trees,
    )
    given = {split: each for split, each in stream.splits.items() if stream.source.files[split]}
    stream = replace(stream, splits=given)
    with torch.random.fork_rng(devices=()):  # the actual model is initialized later
        options = dict(config.model_options)
        if encoder is not None and "embedding_dim" in model_options(config.model):
            options["embedding_dim"] = encoder.dim  # that of the word vectors beside it may be 0
        # Trees do not depend on inputs.
        plain = replace(config, model_options=options, inputs=InputOptions())
        reader = build_model(plain, task, Vocabulary(()), None, None)
    return task, stream_data(config, task, stream, reader, echo, progress=progress)


def _tree_source(config: RunConfig) -> TreeSource:
    """The source of the trees that the model is trained on."""
    if config.parser is not None:
        return config.load_parser().source
    if config.trees is not None:
        return load_parser(f"shape:{config.trees}", config.input_kind).source
    return TreeSource(config.input_kind)


def _describe_sizes(model: str, sizes: Mapping[str, int], num_words: int) -> str:
    text = (
        f"model: {model}, {sizes['parameters']:,} parameters, and "
        f"{sizes['embedding_parameters']:,} in the vectors of {num_words:,} words"
    )
    of_encoder = sizes["encoder_parameters"]
    return f"{text}, {of_encoder:,} in the encoder" if of_encoder else text


def _in_train(split: str, number: int, total: int) -> str:
    """A line about the texts of a split that are also in train."""
    are = "is" if number == 1 else "are"
    return f"{number:,} of the {total:,} texts of {split} {are} also in train"


def _rare_words(vocab: Vocabulary, counts: Mapping[str, int]) -> str:
    """A line about the training words mapped to <unk>."""
    unknown = list(vocab.unknown(counts))
    percent = 100 * sum(counts[word] for word in unknown) / max(1, sum(counts.values()))
    return f"<unk>: {len(unknown):,} rare words of train, {percent:.2f} % of its tokens"


def _describe_vectors(vectors: WordVectors, counts: dict[str, int]) -> dict[str, Any]:
    return {
        "files": [{"name": name, "dimension": dimension} for name, dimension in vectors.sources],
        "sha256_of_rows": hashlib.sha256(vectors.matrix.tobytes()).hexdigest(),
        "coverage_of_train": vars(vectors.coverage(counts)),
    }


def _versions() -> dict[str, str]:
    return {
        "graphsent": graphsent.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "dgl": dgl.__version__,
    }
