"""What every model has: a vocabulary, arguments to build it again, saving and loading."""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import nn

from graphsent.cells import TreeCell
from graphsent.contextual import Encoder, WordSpan
from graphsent.errors import ModelError
from graphsent.models.arguments import check_types
from graphsent.models.base.losses import classification_loss
from graphsent.models.base.raw_text import RawText, tree_source
from graphsent.models.base.storage import SavedModel, read_model, write_model
from graphsent.models.embeddings.contextual import Context, ContextualFeatures, find_encoder
from graphsent.models.embeddings.inputs import Inputs, WordInputs
from graphsent.models.embeddings.table import WordEmbedding
from graphsent.pairs import TreePair
from graphsent.propagation import resolve_engine
from graphsent.sentences import Phrase
from graphsent.vocabulary import Vocabulary

__all__ = ["Model"]

_NETWORK = "embedding.contextual."  # parameters of an encoder that is tuned

ModelType = TypeVar("ModelType", bound="Model")


class Model(RawText, nn.Module, ABC):
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
        vocab: The words it knows.
        tokenizer: How it divides raw text into words; None if it reads nothing but trees.
        unsaved_tokenizer: That of a model that was saved without one.
    """

    name: str
    tree_kind: str = "constituency"
    examples: str = "trees"
    goals: tuple[str, ...] = ("classification",)
    training_defaults: Mapping[str, Any] = {}
    task_defaults: Mapping[str, Mapping[str, Any]] = {}
    task_option_defaults: Mapping[str, Mapping[str, Any]] = {}
    vocab: Vocabulary
    tokenizer: str | None = None
    unsaved_tokenizer: str | None = None
    _arguments: dict[str, Any]
    _engine: str = "auto"
    _inputs: Inputs | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Model:
        """Checks the arguments of the call, and keeps them for :attr:`config`."""
        model = super().__new__(cls)
        # Copying and unpickling call this without arguments and set the state afterwards.
        call = inspect.signature(cls.__init__).bind_partial(model, *args, **kwargs)
        call.apply_defaults()
        _, *arguments = call.arguments.items()
        check_types(cls.__init__, dict(arguments))
        object.__setattr__(model, "_arguments", dict(arguments))
        return model

    def __init__(self, vocab: Vocabulary) -> None:
        super().__init__()
        if not isinstance(vocab, Vocabulary):
            raise ModelError(f"expected a Vocabulary as vocab, got {type(vocab).__name__}")
        self.vocab = vocab

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

    @property
    def inputs(self) -> Inputs | None:
        """What stands for words; None for the vectors of a table as they are."""
        return self._inputs

    def set_inputs(self, inputs: Inputs, encoder: Encoder | None = None) -> None:
        """Puts other inputs, with a new word table, in place of the table of word vectors.

        The length that the model reads stays: its argument ``embedding_dim``. They are saved with
        the model.

        Args:
            inputs: What stands for words.
            encoder: That of their contextual features. Without it there are none before
                :meth:`attach_encoder`.

        Raises:
            ModelError: The model has no table of word vectors or other inputs already, or these do
                not fit.
        """
        if self._inputs is not None:
            raise ModelError(f"this {self.name} has its inputs already: {self._inputs}")
        table = getattr(self, "embedding", None)
        if not isinstance(table, WordEmbedding):
            raise ModelError(f"{self.name} has no table of word vectors to replace")
        self.embedding = WordInputs(inputs, table)
        self._inputs = inputs
        if encoder is not None:
            self.attach_encoder(encoder)

    def attach_encoder(self, encoder: Encoder) -> None:
        """Gives the model the encoder of its contextual features.

        Raises:
            ModelError: It has no contextual features.
        """
        features = self._contextual
        if features is None:
            raise ModelError(f"this {self.name} has no contextual features")
        features.attach(encoder)

    def keep_features(
        self, examples: Iterable[Any], report: Callable[[int], None] | None = None
    ) -> None:
        """Computes the features of a frozen encoder once for all, and keeps them on disk.

        They are in ``features`` of the cache directory, by the SHA-256 of encoder and words.
        Without such an encoder nothing is done; without this call features are computed for each
        batch.

        Args:
            examples: Trees, sentences, or pairs of trees.
            report: Is given how many sentences have been computed.
        """
        if self._contextual is None:
            return
        parts = (each[:2] if isinstance(each, TreePair) else (each,) for each in examples)
        sentences = (self._span(tree).sentence for trees in parts for tree in trees)
        self._contextual.keep(sentences, report)

    def context(self, trees: Iterable[Any]) -> Context | None:
        """What a batch carries for the words of its sentences, in their order.

        The words of a phrase that stands in a sentence are read in that sentence.

        Args:
            trees: The sentences of the batch.

        Returns:
            None where words are looked up by themselves.
        """
        return self.embedding.read(map(self._span, trees))

    @property
    def _contextual(self) -> ContextualFeatures | None:
        return self.embedding.contextual if self._inputs is not None else None

    def _span(self, tree: Any) -> WordSpan:
        if isinstance(tree, Phrase):
            begin, words = tree.begin, tree.sentence
        else:
            begin, words = 0, tree.words
        normal = tuple(map(self.vocab.normal, words))
        return WordSpan(normal, begin, begin + len(tree.words))

    @abstractmethod
    def collate(self, trees: Iterable[Any]) -> NamedTuple:
        """The batch of some trees: a named tuple with ``labels``, ``roots`` and ``to(device)``."""

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
    def predict(self, trees: Iterable[Any], batch_size: int = 64) -> Sequence[Any]:
        """The prediction for each tree, in the order given."""

    @abstractmethod
    def encode(self, trees: Iterable[Any], batch_size: int = 64) -> np.ndarray:
        """The vector of each sentence, (num_trees, features) float32, in the order given."""

    def save_pretrained(self, directory: str | os.PathLike[str]) -> None:
        """Writes ``config.json``, ``vocabulary.json`` and ``model.safetensors`` to a directory.

        The directory appears complete or not at all; a model that is there is replaced. An encoder
        that was tuned is in its directory ``encoder``; a frozen one is named alone.

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
        inputs = None if self.inputs is None else self.inputs.to_dict()
        trees = None if self.tree_source is None else self.tree_source._asdict()
        saved = SavedModel(
            self.name, self.config, self.vocab, state, self.tokenizer, inputs, trees, encoder
        )
        write_model(directory, saved)

    @classmethod
    def from_pretrained(
        cls: type[ModelType],
        directory: str | os.PathLike[str],
        encoder: str | os.PathLike[str] | None = None,
    ) -> ModelType:
        """Reads a model of this class, on the CPU, in evaluation mode.

        Args:
            directory: The model.
            encoder: Where the frozen encoder is now that it was trained with, if not where it was.

        Raises:
            ModelError: The directory is no saved model, is damaged, or holds another kind of model;
                or its encoder is not there, or another one.
        """
        return cls.from_saved(read_model(directory), directory, encoder)

    @classmethod
    def from_saved(
        cls: type[ModelType],
        saved: SavedModel,
        directory: str | os.PathLike[str],
        encoder: str | os.PathLike[str] | None = None,
    ) -> ModelType:
        """The model that ``read_model(directory)`` gave; errors as :meth:`from_pretrained`."""
        if saved.name != cls.name:
            raise ModelError(
                f"{directory}: expected a model {cls.name!r} for {cls.__name__}, got {saved.name!r}"
            )

        def build() -> ModelType:
            try:
                model = cls(saved.vocab, **saved.arguments)
                if saved.inputs is not None:
                    model.set_inputs(Inputs.from_dict(saved.inputs))
                return model
            except NotImplementedError:  # a model that cannot be built without memory
                raise
            except (TypeError, ValueError, RuntimeError, OverflowError, MemoryError) as error:
                reason = str(error).partition("\n")[0]
                name = cls.__name__
                raise ModelError(f"{directory}: wrong arguments of {name}: {reason}") from None

        # Shapes first, without memory for them: sizes in a damaged config may be anything.
        with suppress(NotImplementedError), torch.device("meta"):
            _check_tensors(build().state_dict(), saved.tensors, directory)
        model = build()
        if model.tokenizer is not None:
            model.tokenizer = saved.tokenizer or model.unsaved_tokenizer
        model.tree_source = tree_source(saved.trees, directory)
        _check_tensors(model.state_dict(), saved.tensors, directory)
        for tensor in saved.tensors.values():
            if tensor.is_floating_point():
                model.to(tensor.dtype)
                break
        model.load_state_dict(saved.tensors)
        contextual = None if model.inputs is None else model.inputs.contextual
        if contextual is not None:
            model.attach_encoder(find_encoder(contextual, directory, encoder))
        elif encoder is not None:
            raise ModelError(f"{directory}: the model has no encoder, but one was given: {encoder}")
        return model.eval()


def _check_tensors(
    expected: Mapping[str, torch.Tensor],
    found: Mapping[str, torch.Tensor],
    directory: str | os.PathLike[str],
) -> None:
    lacking = sorted(expected.keys() - found.keys())
    if lacking:
        raise ModelError(f"{directory}: the parameter {lacking[0]!r} of its config is missing")
    foreign = sorted(found.keys() - expected.keys())
    if foreign:
        raise ModelError(f"{directory}: the parameter {foreign[0]!r} does not fit its config")
    for name, tensor in expected.items():
        if found[name].shape != tensor.shape:
            raise ModelError(
                f"{directory}: the parameter {name!r} has shape {tuple(found[name].shape)}, but "
                f"its config and vocabulary ask for {tuple(tensor.shape)}"
            )
        is_other = found[name].is_floating_point() != tensor.is_floating_point()
        if is_other or (found[name].dtype != tensor.dtype and not tensor.is_floating_point()):
            raise ModelError(
                f"{directory}: the parameter {name!r} is of type {found[name].dtype}, expected "
                f"{tensor.dtype}"
            )
