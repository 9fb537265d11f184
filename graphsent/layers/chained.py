"""The base class of recurrent layers that run on the engine of the cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from graphsent._names import check_choice
from graphsent.kernels.library import kernels_for, needs_gradients
from graphsent.layers.chains import Chains, Step, chain_recurrence, chain_states, make_chains
from graphsent.layers.errors import LayerError
from graphsent.layers.lengths import check_lengths, check_packable
from graphsent.propagation.autocast import autocast_enabled
from graphsent.propagation.backends.c.library import generated_library
from graphsent.propagation.linear import linear
from graphsent.propagation.recurrence.recurrence import Recurrence
from graphsent.propagation.untraced import untraced

ENGINES = ("auto", "levels", "torch")


class Fewest(NamedTuple):
    """The number of steps of the longest sequence from which the engine is faster than torch.

    Measured by ``benchmarks/sequences.py`` on one core at 300 / 168 in float32. The engine has a
    fixed cost of about a millisecond; torch's LSTM is faster for inference without padding, and for
    one sequence.

    Attributes:
        full: Inference on an unpacked batch without padding.
        mixed: Inference on other batches.
        gradients: Training on several sequences.
        alone: Training on one sequence.
    """

    full: float
    mixed: float
    gradients: float
    alone: float


def packed_batch(
    input: Tensor, lengths: Tensor, batch_first: bool
) -> tuple[PackedSequence, Tensor]:
    """Packs a padded batch; torch's functions take several times as long, with gradients.

    Args:
        input: (batch, time, in_feats) with ``batch_first``, otherwise (time, batch, in_feats).
        lengths: (batch,) int64.
        batch_first: Whether the first dimension is the batch.

    Returns:
        The packed sequence; and the places of its rows in the padded batch with its first two
        dimensions flattened, (num_steps,) int64.
    """
    size, longest = input.shape[:2] if batch_first else (input.shape[1], len(input))
    lengths, order = torch.sort(lengths, descending=True)
    sizes = size - np.cumsum(np.bincount(lengths.numpy(), minlength=longest + 1))[:-1]
    sizes = sizes[sizes > 0]
    step = np.repeat(np.arange(len(sizes)), sizes)
    chain = order.numpy()[np.arange(len(step)) - np.repeat(np.cumsum(sizes) - sizes, sizes)]
    places = torch.from_numpy(chain * longest + step if batch_first else step * size + chain)
    data = input.flatten(0, 1).index_select(0, places)
    return PackedSequence(data, torch.from_numpy(sizes), order), places


class Recurrent(nn.RNNBase):
    """What ``LSTM`` and ``GRU`` share: everything but one step of the recurrence."""

    engine = "auto"
    _fewest: Fewest
    _num_parts: int
    _step: Step

    def __init__(self, *args: Any, engine: str = "auto", **options: Any) -> None:
        super().__init__(*args, **options)
        check_choice("engine", engine, ENGINES, LayerError)
        self.engine = engine

    @untraced
    def forward(
        self,
        input: Tensor | PackedSequence,
        hx: Any = None,
        lengths: Tensor | Sequence[int] | None = None,
    ) -> tuple[Any, Any]:
        """Runs over a batch of sequences; the class documents arguments and results."""
        if lengths is not None:
            lengths = self._padded_lengths(input, lengths)
        if not self._runs(input, hx, lengths):
            return self._by_torch(input, hx, lengths)
        if isinstance(input, PackedSequence):
            output, state = self._run(input, hx)
            return input._replace(data=output), state
        if lengths is not None:
            packed, places = packed_batch(input, lengths, self.batch_first)
            output, state = self._run(packed, hx)
            filled = output.new_zeros(input.shape[0] * input.shape[1], output.shape[1])
            return filled.index_copy(0, places, output).unflatten(0, input.shape[:2]), state
        return self._run_unpadded(input, hx)

    @untraced
    def chain_states(
        self,
        chains: Chains,
        feat: Tensor,
        rows: Tensor | None = None,
        start: Sequence[Tensor] | None = None,
        layer: int = 0,
        reverse: bool = False,
    ) -> tuple[Tensor, ...]:
        """The states of one layer and direction along chains, see :mod:`.chains`.

        Args:
            chains: The sequences, in the reading order of this direction.
            feat: Inputs, (num_steps, in_feats), or any rows, selected by ``rows``.
            rows: The row of each step, (num_steps,) int64.
            start: Parts of the states before each chain; zeros by default.
            layer: Number of the layer, from 0.
            reverse: Whether the direction is from the last step to the first.
        """
        weights = self._weights_of(layer, reverse)
        bias, step_weights = self._divided(weights)
        inputs = linear(feat, weights[0], bias)
        return chain_states(
            self._recurrence(step_weights), chains, inputs, step_weights, rows, start
        )

    def _weights_of(self, layer: int = 0, reverse: bool = False) -> Sequence[Tensor]:
        count = len(self._all_weights[0])
        first = (layer * (1 + self.bidirectional) + reverse) * count
        weights: list[Any] = self._flat_weights[first : first + count]
        return weights

    def _recurrence(self, step_weights: Sequence[Tensor]) -> Recurrence:
        shapes = [tuple(weight.shape) for weight in step_weights]
        return chain_recurrence(self._step, self._num_parts, *shapes)

    def runs_over(self, *tensors: Tensor) -> bool:
        """Whether the engine supports the layer, for such inputs and states."""
        if hasattr(self, "_update_flat_weights"):  # in recent versions of torch
            self._update_flat_weights()
        tracing = torch.jit.is_tracing()  # pyright: ignore[reportPrivateImportUsage]
        if self.engine == "torch" or self.proj_size or tracing:
            return False
        if autocast_enabled("cpu") or torch.compiler.is_compiling():
            return False
        if not kernels_for(*tensors, *self._flat_weights):
            return False
        recurrence = self._recurrence(self._divided(self._weights_of())[1])
        return not isinstance(generated_library(recurrence, tensors[0].dtype), str)

    def _divided(self, weights: Sequence[Tensor]) -> tuple[Tensor | None, Sequence[Tensor]]:
        """The bias added to the inputs of all steps, and the weights passed to :meth:`_step`.

        Args:
            weights: Weights of a layer and direction in torch's order: of inputs and states, and
                their biases, if any.
        """
        raise NotImplementedError

    def _runs(self, input: Any, hx: Any, lengths: Tensor | None) -> bool:
        """Whether the engine runs; invalid inputs are left to torch, which raises the errors."""
        packed = isinstance(input, PackedSequence)
        data = input.data if packed else input
        if data.dim() not in (2, 3) or not data.numel() or (packed and not _is_consistent(input)):
            return False
        given = () if hx is None else (hx,) if isinstance(hx, Tensor) else tuple(hx)
        several = self._num_parts > 1  # torch splits a tensor where it expects a tuple
        if given and (len(given) != self._num_parts or isinstance(hx, Tensor) is several):
            return False
        if self.engine != "levels":  # before runs_over, which is slower
            if packed:
                size, longest = int(input.batch_sizes[0]), len(input.batch_sizes)
            else:
                size, longest = self._size_and_time(input)
            if needs_gradients(data, *given, *self._flat_weights):
                fewest = self._fewest.alone if size == 1 else self._fewest.gradients
            else:
                fewest = self._fewest.mixed if packed or lengths is not None else self._fewest.full
            if longest < fewest:
                return False
        return self.runs_over(data, *given)

    def _size_and_time(self, input: Tensor) -> tuple[int, int]:
        """The numbers of sequences and steps of a padded batch."""
        if input.dim() == 2:
            return 1, len(input)
        return (len(input), input.shape[1]) if self.batch_first else (input.shape[1], len(input))

    def _by_torch(self, input: Any, hx: Any, lengths: Tensor | None) -> tuple[Any, Any]:
        is_packed = isinstance(input, PackedSequence)
        if is_packed or lengths is not None:  # torch does not check the width of packed rows
            width = (input.data if is_packed else input).shape[-1]
            if width != self.input_size:
                raise LayerError(f"expected inputs of size {self.input_size}, got {width}")
        if lengths is None:
            return super().forward(input, hx)
        packed = pack_padded_sequence(
            input, lengths, batch_first=self.batch_first, enforce_sorted=False
        )
        output, state = super().forward(packed, hx)
        _, longest = self._size_and_time(input)
        output, _ = pad_packed_sequence(output, batch_first=self.batch_first, total_length=longest)
        return output, state

    def _padded_lengths(
        self, input: Tensor | PackedSequence, lengths: Tensor | Sequence[int]
    ) -> Tensor | None:
        """The lengths on the CPU; None if there is no padding."""
        if isinstance(input, PackedSequence) or input.dim() != 3:
            raise LayerError("expected lengths only for a padded batch, a tensor of 3 dimensions")
        lengths = torch.as_tensor(lengths, device="cpu")
        size, longest = self._size_and_time(input)
        lengths = lengths if lengths.numel() else lengths.long()  # torch takes [] for float32
        check_lengths("lengths", lengths, size, longest, shortest=1)
        shortest = int(lengths.min()) if size else longest
        if shortest == longest:
            return None
        check_packable()
        return lengths

    def _run_unpadded(self, input: Tensor, hx: Any) -> tuple[Tensor, Any]:
        """The results for a batch without padding, or for one sequence, by the engine."""
        size, longest = self._size_and_time(input)
        alone, turned = input.dim() == 2, input.dim() == 3 and self.batch_first
        rows = (input.transpose(0, 1) if turned else input).reshape(longest * size, -1)
        packed = PackedSequence(rows, torch.full((longest,), size, device="cpu"))
        output, state = self._run(packed, hx, alone)
        if not alone:
            output = output.unflatten(0, (longest, size))
        return (output.transpose(0, 1) if turned else output), state

    def _run(self, packed: PackedSequence, hx: Any, alone: bool = False) -> tuple[Tensor, Any]:
        """The outputs, packed as the inputs, and the final state, by the engine.

        Args:
            packed: The sequences.
            hx: The initial state; None for zeros.
            alone: Whether there is one sequence, not a batch, so that states have no dimension of
                the batch.
        """
        before = self._before(packed, hx, alone)
        output, states = self._layers(packed, before)
        if packed.unsorted_indices is not None:
            states = [part.index_select(1, packed.unsorted_indices) for part in states]
        if alone:
            states = [part.squeeze(1) for part in states]
        return output, states[0] if len(states) == 1 else tuple(states)

    def _before(self, packed: PackedSequence, hx: Any, alone: bool) -> list[Tensor] | None:
        """Parts of the initial states of all layers and directions, in the order of the chains."""
        if hx is None:
            self.check_input(packed.data, packed.batch_sizes)
            return None
        parts = [hx] if isinstance(hx, Tensor) else list(hx)
        if alone:
            parts = [part.unsqueeze(1) for part in parts]
        given: Any = parts[0] if isinstance(hx, Tensor) else tuple(parts)
        self.check_forward_args(packed.data, given, packed.batch_sizes)
        if packed.sorted_indices is None:
            return parts
        return [part.index_select(1, packed.sorted_indices) for part in parts]

    def _layers(
        self, packed: PackedSequence, before: list[Tensor] | None
    ) -> tuple[Tensor, list[Tensor]]:
        """The outputs of the last layer, and the final states of all layers and directions."""
        chains = make_chains(packed.batch_sizes.numpy())
        first, data = chains.num_chains, packed.data
        last = torch.from_numpy(chains.last() + first)
        turned = torch.from_numpy(chains.turned()) if self.bidirectional else None
        states: list[list[Tensor]] = []
        for layer in range(self.num_layers):
            outputs = []
            for reverse in range(1 + self.bidirectional):
                start = None if before is None else [part[len(states)] for part in before]
                rows = turned if reverse else None
                parts = self.chain_states(chains, data, rows, start, layer, bool(reverse))
                states.append([part.index_select(0, last) for part in parts])
                steps = parts[0][first:]
                outputs.append(steps if rows is None else parts[0].index_select(0, rows + first))
            data = torch.cat(outputs, 1) if self.bidirectional else outputs[0]
            if layer < self.num_layers - 1:
                data = functional.dropout(data, self.dropout, self.training)
        return data, [torch.stack(parts) for parts in zip(*states, strict=True)]


def _is_consistent(packed: PackedSequence) -> bool:
    """Whether the rows of data match the batch sizes, as torch's packing functions ensure."""
    sizes = packed.batch_sizes.numpy()
    return sizes[-1] > 0 and not (np.diff(sizes) > 0).any() and sizes.sum() == len(packed.data)
