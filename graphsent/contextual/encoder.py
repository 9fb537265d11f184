"""Pre-trained encoders, read from a directory."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from graphsent._files import sha256
from graphsent._names import check_choice, message_of
from graphsent.contextual.pieces import POOLINGS, Pieces, read_pieces
from graphsent.contextual.spans import WordSpan
from graphsent.errors import ModelError

__all__ = ["Encoder", "encoder_sha256", "load_encoder"]

_CONFIG = "config.json"
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")  # the first kind present is read
_TOKENIZER = ("tokenizer.json", "vocab*", "*.model")  # at least one of them
_MORE_OF_TOKENIZER = (
    "tokenizer_config.json",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
)
_HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair, which tokenizers refuse
_READ_AT_ONCE = 16  # parts of similar length; 8 and 32 were slower for batches of 25 and of 100
_SAME = 1e-3  # relative difference of features that is still rounding
_FULL = 0.75  # with a larger share of pieces (not padding), all parts are read at once


class Encoder:
    """A pre-trained network that reads subword pieces in context, with its tokenizer.

    Attributes:
        directory: Directory it was read from.
        sha256: Digest of its weights, configuration and tokenizer, see :func:`encoder_sha256`.
        pooling: How the pieces of a word are pooled, one of :data:`POOLINGS`.
        model: The network, in evaluation mode, on the CPU unless moved.
        dim: Size of a feature vector.
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
        self._longest = _longest(model, tokenizer)
        self._num_pieces = getattr(model.config, "vocab_size", 1 << 30)

    def read(self, spans: Sequence[WordSpan]) -> Pieces:
        """Tokenizes words in their sentences into subword pieces.

        Raises:
            ModelError: The network lacks one of them.
        """
        pieces = read_pieces(
            spans,
            self._tokenize,
            longest=self._longest,
            pooling=self.pooling,
            padding=self._padding,
        )
        largest = int(pieces.ids.max()) if len(pieces.ids) else 0
        if largest >= self._num_pieces:
            raise ModelError(
                f"{self.directory}: the tokenizer has pieces that the network lacks, such as "
                f"{self._tokenizer.convert_ids_to_tokens(largest)!r}: expected those of the "
                f"{self._num_pieces:,} in its {_CONFIG}"
            )
        return pieces

    def encode(self, pieces: Pieces, model: nn.Module | None = None) -> Tensor:
        """Computes the features of words, (num_words, dim) float32, on the network's device.

        Args:
            pieces: The result of :meth:`read`.
            model: The network to use; :attr:`model` by default.
        """
        network = self.model if model is None else model
        place = next(network.parameters()).device
        if not len(pieces.words):
            return torch.zeros(0, self.dim, device=place)
        pieces = pieces.to(place)
        return pieces.pooled(_last_layer(network, pieces.ids, pieces.mask))

    def save(self, directory: Path) -> None:
        """Saves network and tokenizer in the format that :func:`load_encoder` reads."""
        with _quiet():
            self.model.save_pretrained(directory)
            self._tokenizer.save_pretrained(directory)
        for path in directory.glob("*.safetensors"):
            shutil.copymode(directory / _CONFIG, path)  # only the owner could read it

    def _tokenize(self, texts: list[str]) -> tuple[list[list[int]], list[list[tuple[int, int]]]]:
        texts = [_HALF.sub("\N{REPLACEMENT CHARACTER}", text) for text in texts]
        found = self._tokenizer(
            texts,
            return_offsets_mapping=True,
            padding=False,
            truncation=False,
            verbose=False,  # texts longer than its limit are split later
        )
        return found["input_ids"], found["offset_mapping"]


def load_encoder(directory: str | os.PathLike[str], pooling: str = "mean") -> Encoder:
    """Loads an encoder; nothing is downloaded, and no code in the directory is run.

    Args:
        directory: Directory written by ``save_pretrained`` of the transformers library.
        pooling: How the features of a word's pieces are pooled: ``"mean"``, their mean, or
            ``"first"``, the first piece.

    Raises:
        ModelError: The directory does not exist, or does not hold an encoder with a fast tokenizer,
            whose features do not depend on padding.
        ImportError: The transformers library is not installed.
    """
    check_choice("pooling", pooling, POOLINGS, ModelError)
    directory = Path(os.path.expanduser(directory)).resolve()
    digest = encoder_sha256(directory)
    transformers = _transformers()
    try:
        with _quiet(), torch.device("cpu"):  # whatever torch's default device is
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                directory, local_files_only=True, trust_remote_code=False
            )
            model, found = transformers.AutoModel.from_pretrained(
                directory,
                local_files_only=True,
                trust_remote_code=False,
                ignore_mismatched_sizes=True,  # they are in found
                output_loading_info=True,
            )
    except Exception as error:  # the library lets exceptions of any type through
        raise ModelError(f"{directory}: cannot read the encoder: {message_of(error)}") from error
    if model.config.is_encoder_decoder or not hasattr(model.config, "hidden_size"):
        kind = model.config.model_type
        raise ModelError(f"{directory}: expected a text encoder such as BERT, got {kind}")
    unread = [*found["missing_keys"], *found["mismatched_keys"]]
    names = {each if isinstance(each, str) else each[0] for each in unread}  # [0]: transformers 5
    lacking = sorted(name for name in names if "pooler" not in name)
    if lacking:  # the library draws random numbers in their place
        raise ModelError(
            f"{directory}: the encoder's weights do not fit its {_CONFIG}: parameters of a "
            f"{type(model).__name__} are missing or of another shape, such as {lacking[0]}"
        )
    if not tokenizer.is_fast:
        raise ModelError(f"{directory}: expected a fast tokenizer (with tokenizer.json)")
    encoder = Encoder(directory, digest, pooling, model.float().eval(), tokenizer)
    with torch.device("cpu"):
        _check_features(encoder)
    return encoder


def encoder_sha256(directory: str | os.PathLike[str]) -> str:
    """Digest of an encoder: the SHA-256 over the names and SHA-256 digests of all its files.

    Raises:
        ModelError: The directory does not exist, or lacks a configuration, weights or a tokenizer.
    """
    found = hashlib.sha256()
    for path in _files(Path(directory)):
        found.update(f"{path.name} {sha256(path)}\n".encode())
    return found.hexdigest()


def _check_features(encoder: Encoder) -> None:
    """Raises a ModelError unless a sentence has the same features with padding as without.

    Networks with convolutions or pooling over pieces, such as ConvBERT, MobileBERT and Funnel, read
    the padding as well: features would depend on the other sentences of the batch.
    """
    where = encoder.directory
    short, longer = (WordSpan(("a",) * length, 0, length) for length in (1, 8))
    try:
        with torch.no_grad():
            alone = encoder.encode(encoder.read([short]))
            padded = encoder.encode(encoder.read([short, longer]))[:1]
    except Exception as error:  # a network may take other inputs, or none of this length
        reason = message_of(error)
        raise ModelError(f"{where}: the encoder cannot read a sentence: {reason}") from error
    if alone.shape[1] != encoder.dim:
        raise ModelError(
            f"{where}: expected features of size {encoder.dim}, the hidden_size in its {_CONFIG}, "
            f"got {alone.shape[1]}"
        )
    tolerance = _SAME * float(alone.abs().max())
    if not torch.allclose(alone, padded, rtol=0, atol=tolerance, equal_nan=True):
        raise ModelError(
            f"{where}: the encoder ({encoder.model.config.model_type}) also reads padding, so that "
            "features would depend on the other sentences of a batch: expected one such as BERT"
        )


def _last_layer(network: nn.Module, ids: Tensor, mask: Tensor) -> Tensor:
    """The last hidden layer, (num_parts, longest, dim).

    On the CPU, where padding costs time, parts of similar length are read together, cut to the
    longest of them: a step of MiniLM with 25 sentences of the treebank's lengths, 44 % padding,
    takes .74 to .85 of the time (.88 in bfloat16), one with 100 takes .4. With hardly any padding,
    the smaller products would cost 2 to 25 % more. A GPU reads all parts at once, in the time of
    the longest.
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
        raise ModelError(f"cannot read the encoder: {directory} is not a directory")
    parts = {
        _CONFIG: _matching(directory, _CONFIG),
        "model.safetensors": next(
            filter(None, (_matching(directory, pattern) for pattern in _WEIGHTS)), []
        ),
        "tokenizer.json": _matching(directory, *_TOKENIZER),
    }
    for name, files in parts.items():
        if not files:
            raise ModelError(f"{directory} is not a Hugging Face encoder: it has no {name}")
    return [*chain.from_iterable(parts.values()), *_matching(directory, *_MORE_OF_TOKENIZER)]


def _matching(directory: Path, *patterns: str) -> list[Path]:
    found = {path for pattern in patterns for path in directory.glob(pattern)}
    return sorted(path for path in found if path.is_file())


def _longest(model: Any, tokenizer: Any) -> int:
    """The maximum number of pieces in an input sequence of the network."""
    longest = int(min(tokenizer.model_max_length, 1 << 30))
    positions = getattr(model.config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        tables = (m for name, m in model.named_modules() if name.endswith("position_embeddings"))
        padding = next((getattr(table, "padding_idx", None) for table in tables), None)
        # RoBERTa and its kin number positions from the padding id + 1.
        longest = min(longest, positions - (0 if padding is None else padding + 1))
    return longest


def _transformers() -> Any:
    try:
        import transformers  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as error:
        if error.name != "transformers":
            raise
        message = "contextual features need transformers: pip install 'graphsent[contextual]'"
        raise ModuleNotFoundError(message, name="transformers") from None
    return transformers


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences the library's progress bars and its warnings about unused weights."""
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
