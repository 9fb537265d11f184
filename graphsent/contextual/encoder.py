"""An encoder in a directory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from graphsent._files import sha256
from graphsent._names import unknown
from graphsent.contextual.pieces import POOLINGS, Pieces, read_pieces
from graphsent.contextual.spans import WordSpan
from graphsent.errors import ModelError

__all__ = ["Encoder", "encoder_sha256", "load_encoder"]

_CONFIG = "config.json"
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")  # the first kind that is there is read
_TOKENIZER = ("tokenizer.json", "vocab*", "*.model")  # at least one of them
_MORE_OF_TOKENIZER = (
    "tokenizer_config.json",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
)
_READ_AT_ONCE = 16  # parts of like length; of 8 and of 32, batches of 25 and of 100 took longer
_FULL = 0.75  # the share of pieces, not padding, from which on all are read at once


class Encoder:
    """A trained network that reads word pieces in their context, and its tokenizer.

    Attributes:
        directory: Where it was read from.
        sha256: Of its weights, configuration and tokenizer, see :func:`encoder_sha256`.
        pooling: One of :data:`POOLINGS`.
        model: The network, in evaluation mode, on the CPU unless it is moved.
        dim: Length of a feature vector.
    """

    def __init__(
        self, directory: Path, digest: str, pooling: str, model: Any, tokenizer: Any
    ) -> None:
        self.directory = directory
        self.sha256 = digest
        self.pooling = pooling
        self.model = model
        self.dim = int(self.model.config.hidden_size)
        self._tokenizer = tokenizer
        self._padding = tokenizer.pad_token_id or 0
        self._longest = _longest(model.config, tokenizer)

    def read(self, spans: Sequence[WordSpan]) -> Pieces:
        """The word pieces of some words in their sentences."""
        return read_pieces(
            spans,
            self._tokenize,
            longest=self._longest,
            pooling=self.pooling,
            padding=self._padding,
        )

    def encode(self, pieces: Pieces, model: nn.Module | None = None) -> Tensor:
        """The features of words, (num_words, dim) float32, on the device of the network.

        Args:
            pieces: What :meth:`read` gave.
            model: The network to use, if it is not :attr:`model` itself.
        """
        network = self.model if model is None else model
        place = next(network.parameters()).device
        if not len(pieces.words):
            return torch.zeros(0, self.dim, device=place)
        pieces = pieces.to(place)
        return pieces.pooled(_last_layer(network, pieces.ids, pieces.mask))

    def save(self, directory: Path) -> None:
        """Writes network and tokenizer as :func:`load_encoder` reads them."""
        with _quiet():
            self.model.save_pretrained(directory)
            self._tokenizer.save_pretrained(directory)

    def _tokenize(self, texts: list[str]) -> tuple[list[list[int]], list[list[tuple[int, int]]]]:
        found = self._tokenizer(
            texts,
            return_offsets_mapping=True,
            padding=False,
            truncation=False,
            verbose=False,  # longer texts than it can read are divided
        )
        return found["input_ids"], found["offset_mapping"]


def load_encoder(directory: str | os.PathLike[str], pooling: str = "mean") -> Encoder:
    """Reads an encoder; nothing is downloaded, and no code in the directory is run.

    Args:
        directory: As ``save_pretrained`` of the transformers library writes it.
        pooling: ``"mean"``, a word has the mean of its pieces, or ``"first"``, that of the first.

    Raises:
        ModelError: There is no such directory, or what it holds is no encoder with a tokenizer
            that knows places in a text.
        ImportError: The transformers library is not installed.
    """
    if pooling not in POOLINGS:
        raise ModelError(unknown("pooling", pooling, POOLINGS))
    directory = Path(directory).expanduser().resolve()
    digest = encoder_sha256(directory)
    transformers = _transformers()
    try:
        with _quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                directory, local_files_only=True, trust_remote_code=False
            )
            model = transformers.AutoModel.from_pretrained(
                directory, local_files_only=True, trust_remote_code=False
            )
    except Exception as error:  # the library raises what its many parts raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(f"{directory}: no encoder that can be read: {reason}") from error
    if model.config.is_encoder_decoder or not hasattr(model.config, "hidden_size"):
        kind = model.config.model_type
        raise ModelError(f"{directory}: expected an encoder of text such as BERT, got {kind}")
    if not tokenizer.is_fast:
        raise ModelError(f"{directory}: expected a fast tokenizer (with a tokenizer.json)")
    return Encoder(directory, digest, pooling, model.float().eval(), tokenizer)


def encoder_sha256(directory: str | os.PathLike[str]) -> str:
    """The SHA-256 of the names and SHA-256 of all files in a directory that make up an encoder.

    Raises:
        ModelError: There is no directory, or it lacks a configuration, weights or a tokenizer.
    """
    found = hashlib.sha256()
    for path in _files(Path(directory)):
        found.update(f"{path.name} {sha256(path)}\n".encode())
    return found.hexdigest()


def _last_layer(network: nn.Module, ids: Tensor, mask: Tensor) -> Tensor:
    """The last layer, (num_parts, longest, dim).

    On the CPU, where padding is paid for, parts of like length are read together, cut to the
    longest of them: a step of MiniLM with 25 sentences as long as the treebank's, 44 % of them
    padding, takes .74 to .85 of the time (.88 in bfloat16), one with 100 takes .4. Where nearly all
    are pieces, smaller products would cost 2 to 25 % more. A GPU reads all at once, which it does
    in the time that the longest part takes.
    """
    if ids.device.type != "cpu" or mask.float().mean() > _FULL:
        return network(input_ids=ids, attention_mask=mask).last_hidden_state
    lengths = mask.sum(1)
    order = lengths.argsort(stable=True)
    layers = []
    for rows in order.split(_READ_AT_ONCE):
        width = int(lengths[rows].max())
        output = network(input_ids=ids[rows, :width], attention_mask=mask[rows, :width])
        missing = ids.shape[1] - width
        layers.append(nn.functional.pad(output.last_hidden_state, (0, 0, 0, missing)))
    return torch.cat(layers)[order.argsort()]


def _files(directory: Path) -> list[Path]:
    if not directory.is_dir():
        raise ModelError(f"no encoder: {directory} is not a directory")
    parts = {
        _CONFIG: _matching(directory, _CONFIG),
        "model.safetensors": next(
            filter(None, (_matching(directory, pattern) for pattern in _WEIGHTS)), []
        ),
        "tokenizer.json": _matching(directory, *_TOKENIZER),
    }
    for name, files in parts.items():
        if not files:
            raise ModelError(f"{directory} holds no encoder of Hugging Face: it has no {name}")
    return [*chain.from_iterable(parts.values()), *_matching(directory, *_MORE_OF_TOKENIZER)]


def _matching(directory: Path, *patterns: str) -> list[Path]:
    found = {path for pattern in patterns for path in directory.glob(pattern)}
    return sorted(path for path in found if path.is_file())


def _longest(config: Any, tokenizer: Any) -> int:
    """How many pieces a network reads at once."""
    longest = int(min(tokenizer.model_max_length, 1 << 30))
    positions = getattr(config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        # The family of RoBERTa counts positions from that after padding's number.
        longest = min(longest, positions - (config.pad_token_id or -1) - 1)
    return longest


def _transformers() -> Any:
    try:
        import transformers  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as error:
        if error.name != "transformers":
            raise
        message = "contextual features need transformers, which the extra 'contextual' brings"
        raise ModuleNotFoundError(message, name="transformers") from None
    return transformers


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the library's bars and its advice on parts of the network that are not used."""
    from transformers.utils import logging  # pyright: ignore[reportMissingImports]

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
