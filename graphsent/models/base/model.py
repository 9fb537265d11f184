"""The base class of all models: vocabulary, constructor arguments, saving and loading."""

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
from graphsent.models.arguments import check_sizes, check_types, without_numpy
from graphsent.models.base.embedding import EmbedsWords
from graphsent.models.base.encoding import Encodes
from graphsent.models.base.hub import local_directory, push
from graphsent.models.base.loading import check_restorable, own_class, restore, settled
from graphsent.models.base.losses import classification_loss
from graphsent.models.base.storage import WORD_TABLES, SavedModel, read_model, write_model
from graphsent.models.signatures import signature_of
from graphsent.propagation import resolve_engine
from graphsent.vocabulary import Vocabulary

__all__ = ["Model"]

_NETWORK = "embedding.contextual."  # prefix of the parameters of a fine-tuned encoder

ModelType = TypeVar("ModelType", bound="Model")


class Model(Encodes, EmbedsWords, ABC):
    """Base class of sentence models.

    A subclass has a ``name``, under which it is registered, and a constructor that takes ``vocab``
    and otherwise plain JSON values. The arguments of each call are kept, including defaults, so
    that a saved model does not depend on later changes of defaults.

    Attributes:
        name: Short name, stored with a saved model.
        tree_kind: The kind of trees the model is designed for, ``"constituency"`` or
            ``"dependency"``, or ``"words"`` if it needs none; tasks provide this kind by default.
        examples: What it learns from and predicts: ``"trees"``, ``"pairs"`` of trees or
            ``"lists"`` of parses of one sentence.
        goals: The supported goals, of ``"classification"``, ``"regression"`` and ``"ranking"``; see
            :class:`~graphsent.tasks.Task`.
        training_defaults: The paper's settings where they differ from the defaults of
            :class:`~graphsent.training.TrainingOptions`.
        task_defaults: Task -> the paper's constructor arguments for it, where they differ from the
            constructor's defaults; the defaults in training on that task.
        task_option_defaults: Task -> the paper's options of the task itself, where they differ from
            the task's defaults; the defaults in training on that task.
        encoder_class: The class of its encoder, whose options the constructor takes as well.
        vocab: The vocabulary.
        embedding: The module that maps words to vectors.
        encoder: The module that maps word vectors to vectors of nodes or sentences.
        num_features: Size of a sentence vector.
        label_names: Names of the classes, by index.
        tokenizer: How raw text is tokenized; None for models that read only trees.
        unsaved_tokenizer: The tokenizer of models saved without one.
        class_weights: Weights of the classes in the loss, (num_classes,) float32, or None; training
            sets them, and they are not saved.
        card: The model card in Markdown, saved as ``README.md``; training writes that of its run.
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
    class_weights: torch.Tensor | None = None
    card: str | None = None
    __signature__: ClassVar[Signature]
    _arguments: dict[str, Any]
    _engine: str = "auto"

    def __new__(cls, *args: Any, **kwargs: Any) -> Model:
        """Checks the arguments of the call and keeps them for :attr:`config`."""
        model = super().__new__(cls)
        # Copying and unpickling call this without arguments and set the state afterwards.
        call = cls.__signature__.bind_partial(*args, **kwargs)
        call.apply_defaults()
        arguments = {name: without_numpy(value) for name, value in call.arguments.items()}
        check_types(cls, arguments)
        object.__setattr__(model, "_arguments", arguments)
        return model

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Sets a signature that includes the options passed on to other constructors."""
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
        """Removes the encoder's options from a constructor's options and returns them."""
        names = signature_of(cls.encoder_class).parameters
        return {name: options.pop(name) for name in names if name in options}

    @property
    def config(self) -> dict[str, Any]:
        """The constructor's arguments except ``vocab``."""
        return {name: value for name, value in self._arguments.items() if name != "vocab"}

    @property
    def engine(self) -> str:
        """The propagation engine of the cells, one of :data:`graphsent.propagation.ENGINES`.

        The default is ``"auto"``. All engines give the same results up to rounding, so it is not
        saved with the model.

        Raises:
            PropagationError: On assignment, if there is no such engine.
            ModelError: On assignment of an engine other than ``"auto"``, if the model has no cells.
        """
        return self._engine

    @engine.setter
    def engine(self, engine: str) -> None:
        resolve_engine(engine)
        if engine != "auto" and not any(isinstance(part, TreeCell) for part in self.modules()):
            raise ModelError(f"{self.name} has no cells that run over graphs: expected 'auto'")
        self._engine = engine

    @property
    def node_labels(self) -> tuple[str, ...]:
        """The names of classes, which may be labels of nodes; none if the classes are of pairs."""
        return () if self.examples == "pairs" else self.label_names

    def shape_tree(self, tree: Any) -> Any:
        """Converts a tree to the shape that the model reads; by default it is unchanged."""
        return tree

    @abstractmethod
    def collate(self, trees: Iterable[Any]) -> Any:
        """Builds the batch of trees: a named tuple with ``gold``, ``roots`` and ``to(device)``."""

    def batches_of(self, examples: Sequence[Any]) -> Callable[[Sequence[int]], Any]:
        """A function from indices of examples to their batch, equal to that of :meth:`collate`.

        Args:
            examples: All training examples, in memory.
        """
        return lambda numbers: self.collate([examples[number] for number in numbers])

    @abstractmethod
    def forward(self, batch: Any) -> torch.Tensor:
        """The logits of every unit of a batch, (num_units, num_classes)."""

    def loss(self, outputs: torch.Tensor, batch: Any, nodes: str = "all") -> torch.Tensor:
        """The training loss; :func:`classification_loss` by default.

        Args:
            outputs: The result of ``model(batch)``.
            batch: The batch.
            nodes: ``"all"`` labelled units, or only the ``"root"`` units.
        """
        return classification_loss(outputs, batch, nodes, self.class_weights)

    def training_examples(self, examples: Sequence[Any]) -> Sequence[Any]:
        """Converts a task's examples to those that training draws; by default they are unchanged.

        Args:
            examples: The training split.

        Returns:
            Examples that :meth:`collate` accepts.
        """
        return examples

    def init_scores(self, examples: Iterable[Any]) -> None:
        """Sets mean and deviation of the output from the scores of the training examples.

        Called once, before the first step. Does nothing in models that do not predict scores.

        Args:
            examples: The training split.

        Raises:
            ModelError: No example has a score.
        """

    def choose_on_dev(self, examples: Sequence[Any]) -> None:
        """Tunes what is not trained on the dev split, before the evaluation of each epoch.

        Does nothing by default.

        Args:
            examples: The dev split.
        """

    def after_step(self) -> None:
        """Applies constraints to parameters after each optimizer step; none by default."""

    @abstractmethod
    def predict(self, trees: Iterable[Any], batch_size: int = 64) -> Sequence[Any] | np.ndarray:
        """Predicts each tree, in the order given."""

    def _shaped(self, trees: Iterable[Any]) -> list[Any]:
        return [self.shape_tree(tree) for tree in trees]

    def save_pretrained(
        self, directory: str | os.PathLike[str], *, half_words: bool = False
    ) -> None:
        """Saves the model as ``config.json``, ``vocabulary.json`` and ``model.safetensors``.

        The directory is written atomically; a model that is already there is replaced. A fine-tuned
        encoder is saved in the subdirectory ``encoder``; of a frozen one only path and digest are
        stored. The model card, if any, becomes ``README.md``.

        Args:
            directory: Directory to create.
            half_words: Whether to save word vectors in half precision, which halves their size.
                They are rounded to 11 bits; the loaded model computes in its own precision.

        Raises:
            ModelError: The directory holds something other than a model, or an argument is not a
                JSON value; or the model's parameters are not those of its arguments, as with
                modules that were pruned or parametrized, so that it could not be loaded.
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
        saved = SavedModel(
            name=self.name,
            arguments=self.config,
            vocab=self.vocab,
            tensors=state,
            tokenizer=self.tokenizer,
            inputs=None if self.inputs is None else self.inputs.to_dict(),
            trees=None if self.tree_source is None else self.tree_source._asdict(),
            encoder=encoder,
            card=self.card,
            own_class=own_class(type(self)),
        )
        try:
            check_restorable(type(self), saved, f"cannot save {self.name}")
        except ModelError as error:
            hint = "were its modules or arguments changed, as by pruning?"
            raise ModelError(f"{error}; it could not be loaded: {hint}") from None
        write_model(directory, saved)

    def push_to_hub(self, repository: str, **options: Any) -> str:
        """Uploads the model with its card to a repository on the Hugging Face Hub.

        Args:
            repository: ``user/name``; it is created if it does not exist.
            **options: Options of ``huggingface_hub.ModelHubMixin.push_to_hub``: ``private``,
                ``token``, ``branch``, ``commit_message``, ...

        Returns:
            The URL of the commit.

        Raises:
            ModelError: The upload fails.
            ImportError: huggingface_hub is not installed (``pip install 'graphsent[hub]'``).
        """
        return push(self, repository, **options)

    @classmethod
    def from_pretrained(
        cls: type[ModelType],
        directory: str | os.PathLike[str],
        encoder: str | os.PathLike[str] | None = None,
    ) -> ModelType:
        """Loads a model of this class, on the CPU, in evaluation mode.

        Args:
            directory: The model's directory, or ``hf://user/name`` for one on the Hugging Face Hub.
            encoder: Directory of the model's frozen encoder, if it was moved.

        Raises:
            ModelError: The directory is not a saved model, is damaged, or holds another kind of
                model; or its encoder is missing or a different one.
        """
        directory = local_directory(directory)
        return settled(directory, lambda: cls.from_saved(read_model(directory), directory, encoder))

    @classmethod
    def from_saved(
        cls: type[ModelType],
        saved: SavedModel,
        directory: str | os.PathLike[str],
        encoder: str | os.PathLike[str] | None = None,
    ) -> ModelType:
        """Builds the model from ``read_model(directory)``; errors as in :meth:`from_pretrained`."""
        with torch.device("cpu"):  # whatever torch's default device is
            return restore(cls, saved, directory, encoder)
