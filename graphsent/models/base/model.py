"""What every model has: a vocabulary, arguments to build it again, saving and loading."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Signature
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import nn

from graphsent.cells import TreeCell
from graphsent.errors import ModelError
from graphsent.models.arguments import check_sizes, check_types, signature_of
from graphsent.models.base.embedding import EmbedsWords
from graphsent.models.base.encoding import Encodes
from graphsent.models.base.hub import local_directory, push
from graphsent.models.base.loading import own_class, restore
from graphsent.models.base.losses import classification_loss
from graphsent.models.base.storage import WORD_TABLES, SavedModel, read_model, write_model
from graphsent.propagation import resolve_engine
from graphsent.vocabulary import Vocabulary

__all__ = ["Model"]

_NETWORK = "embedding.contextual."  # parameters of an encoder that is tuned

ModelType = TypeVar("ModelType", bound="Model")


class Model(Encodes, EmbedsWords, ABC):
    """A sentence model.

    A subclass has a ``name``, the one it is registered under, and a constructor that takes
    ``vocab`` and otherwise plain JSON values. The arguments of each call are kept, defaults
    included, so that a saved model does not depend on later defaults.

    Attributes:
        name: Short name, stored with a saved model.
        tree_kind: The kind of trees that the model was made for, ``"constituency"`` or
            ``"dependency"``, or ``"words"`` if it needs none: what a task gives it unless told
            otherwise.
        examples: What it learns from and predicts, ``"trees"``, ``"pairs"`` of trees or
            ``"lists"`` of parses of one sentence.
        goals: What it can learn: ``"classification"``, ``"regression"``, ``"ranking"``; see
            :class:`~graphsent.tasks.Task`.
        training_defaults: The paper's settings where they differ from the defaults of
            :class:`~graphsent.training.TrainingOptions`.
        task_defaults: Task -> arguments of the constructor that the paper has for it, where they
            differ from the constructor's defaults; used in training unless told otherwise.
        task_option_defaults: Task -> options of the task itself that the paper has, where they
            differ from the task's defaults; used in training unless told otherwise.
        encoder_class: The class of its encoder, whose options are among those of the constructor.
        vocab: The words it knows.
        embedding: What stands for words.
        encoder: From that to vectors.
        num_features: Length of a sentence's vector.
        label_names: Names of what it tells apart, in the order of their numbers.
        tokenizer: How it divides raw text into words; None if it reads nothing but trees.
        unsaved_tokenizer: That of a model that was saved without one.
        card: What there is to say about it, in Markdown, saved with it as ``README.md``; that of a
            run is written by training.
    """

    name: str
    tree_kind: str = "constituency"
    examples: str = "trees"
    goals: tuple[str, ...] = ("classification",)
    training_defaults: Mapping[str, Any] = {}
    task_defaults: Mapping[str, Mapping[str, Any]] = {}
    task_option_defaults: Mapping[str, Mapping[str, Any]] = {}
    encoder_class: type[nn.Module]
    vocab: Vocabulary
    encoder: nn.Module
    label_names: tuple[str, ...]
    tokenizer: str | None = None
    unsaved_tokenizer: str | None = None
    card: str | None = None
    __signature__: ClassVar[Signature]
    _arguments: dict[str, Any]
    _engine: str = "auto"

    def __new__(cls, *args: Any, **kwargs: Any) -> Model:
        """Checks the arguments of the call, and keeps them for :attr:`config`."""
        model = super().__new__(cls)
        # Copying and unpickling call this without arguments and set the state afterwards.
        call = signature_of(cls).bind_partial(*args, **kwargs)
        call.apply_defaults()
        check_types(cls, call.arguments)
        object.__setattr__(model, "_arguments", dict(call.arguments))
        return model

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Shows the options of all constructors that one of the class passes its own on to."""
        super().__init_subclass__(**kwargs)
        cls.__signature__ = signature_of(cls)

    def __init__(
        self, vocab: Vocabulary, embedding_dim: int, num_features: int, **options: Any
    ) -> None:
        super().__init__(vocab, embedding_dim, **options)
        check_sizes(num_features=num_features)
        self.num_features = num_features

    @classmethod
    def _encoder_options(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Takes those of the encoder out of the options of a constructor."""
        names = signature_of(cls.encoder_class).parameters
        return {name: options.pop(name) for name in names if name in options}

    @property
    def config(self) -> dict[str, Any]:
        """The constructor's arguments except ``vocab``."""
        return {name: value for name, value in self._arguments.items() if name != "vocab"}

    @property
    def engine(self) -> str:
        """How the cells of the model propagate, one of :data:`graphsent.propagation.ENGINES`.

        It is ``"auto"`` unless set. All engines give the same numbers but for rounding, so it is
        not saved with the model.

        Raises:
            PropagationError: When set, if there is no such engine.
            ModelError: When set to a certain engine, if the model has no cells.
        """
        return self._engine

    @engine.setter
    def engine(self, engine: str) -> None:
        resolve_engine(engine)
        if engine != "auto" and not any(isinstance(part, TreeCell) for part in self.modules()):
            raise ModelError(f"{self.name} has no cells that run over graphs: no engine to choose")
        self._engine = engine

    def shape_tree(self, tree: Any) -> Any:
        """A tree as the model reads it: by default as it is."""
        return tree

    @abstractmethod
    def collate(self, trees: Iterable[Any]) -> Any:
        """The batch of some trees: a named tuple with ``labels``, ``roots`` and ``to(device)``."""

    def batches_of(self, examples: Sequence[Any]) -> Callable[[Sequence[int]], Any]:
        """What gives the batch of some of these examples by their numbers: that of :meth:`collate`.

        Args:
            examples: Those that training draws from, in memory.
        """
        return lambda numbers: self.collate([examples[number] for number in numbers])

    @abstractmethod
    def forward(self, batch: Any) -> torch.Tensor:
        """The logits of every unit of a batch, (num_units, num_classes)."""

    def loss(self, outputs: torch.Tensor, batch: Any, nodes: str = "all") -> torch.Tensor:
        """What training minimizes; :func:`classification_loss` unless a model has its own.

        Args:
            outputs: What ``model(batch)`` gave.
            batch: The batch.
            nodes: ``"all"`` labelled units, or only the ``"root"`` ones.
        """
        return classification_loss(outputs, batch, nodes)

    def training_examples(self, examples: Sequence[Any]) -> Sequence[Any]:
        """What training draws one by one in place of the examples of a task: by default these.

        Args:
            examples: The training split.

        Returns:
            Anything that :meth:`collate` takes.
        """
        return examples

    def init_scores(self, examples: Iterable[Any]) -> None:
        """Takes over mean and deviation of the scores of the training examples.

        Called once, before the first step. A model that predicts no numbers does nothing.

        Args:
            examples: The training split.

        Raises:
            ModelError: No example has a score.
        """

    def choose_on_dev(self, examples: Sequence[Any]) -> None:
        """Sets what is not trained to what is best on dev, before each epoch is judged.

        By default there is nothing to choose.

        Args:
            examples: The dev split.
        """

    def after_step(self) -> None:
        """Brings parameters back into bounds after a step of the optimizers; by default nothing."""

    @abstractmethod
    def predict(self, trees: Iterable[Any], batch_size: int = 64) -> Sequence[Any] | np.ndarray:
        """The prediction for each tree, in the order given."""

    def _shaped(self, trees: Iterable[Any]) -> list[Any]:
        return [self.shape_tree(tree) for tree in trees]

    def save_pretrained(
        self, directory: str | os.PathLike[str], *, half_words: bool = False
    ) -> None:
        """Writes ``config.json``, ``vocabulary.json`` and ``model.safetensors`` to a directory.

        The directory appears complete or not at all; a model that is there is replaced. An encoder
        that was tuned is in its directory ``encoder``; a frozen one is named alone. If the model
        has a card, it is ``README.md``.

        Args:
            directory: The directory to make.
            half_words: Write word vectors in half precision, in half the space. They are rounded
                to 11 bits; the model that is read computes in its own precision.

        Raises:
            ModelError: The directory holds something else, or an argument is no JSON value.
        """
        features = self._contextual
        encoder = features.encoder if features is not None and features.options.tuned else None
        state = {
            name: value
            for name, value in self.state_dict().items()
            if encoder is None or not name.startswith(_NETWORK)
        }
        if half_words:
            state |= {name: state[name].half() for name in WORD_TABLES if name in state}
        inputs = None if self.inputs is None else self.inputs.to_dict()
        trees = None if self.tree_source is None else self.tree_source._asdict()
        saved = SavedModel(
            self.name,
            self.config,
            self.vocab,
            state,
            self.tokenizer,
            inputs,
            trees,
            encoder,
            self.card,
            own_class(type(self)),
        )
        write_model(directory, saved)

    def push_to_hub(self, repository: str, **options: Any) -> str:
        """Saves the model to a repository on the Hugging Face Hub, its card included.

        Args:
            repository: ``user/name``; it is made if it is not there.
            **options: Those of ``huggingface_hub.ModelHubMixin.push_to_hub``: ``private``,
                ``token``, ``branch``, ``commit_message``, ...

        Returns:
            The address of what was saved.

        Raises:
            ModelError: It cannot be saved there.
            ImportError: huggingface_hub is not installed (``pip install 'graphsent[hub]'``).
        """
        return push(self, repository, **options)

    @classmethod
    def from_pretrained(
        cls: type[ModelType],
        directory: str | os.PathLike[str],
        encoder: str | os.PathLike[str] | None = None,
    ) -> ModelType:
        """Reads a model of this class, on the CPU, in evaluation mode.

        Args:
            directory: The model, or ``hf://user/name`` of one on the Hugging Face Hub.
            encoder: Where the frozen encoder is now that it was trained with, if not where it was.

        Raises:
            ModelError: The directory is no saved model, is damaged, or holds another kind of model;
                or its encoder is not there, or another one.
        """
        directory = local_directory(directory)
        return cls.from_saved(read_model(directory), directory, encoder)

    @classmethod
    def from_saved(
        cls: type[ModelType],
        saved: SavedModel,
        directory: str | os.PathLike[str],
        encoder: str | os.PathLike[str] | None = None,
    ) -> ModelType:
        """The model that ``read_model(directory)`` gave; errors as :meth:`from_pretrained`."""
        return restore(cls, saved, directory, encoder)
