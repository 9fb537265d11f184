"""Recurrent encoders of sequences of different lengths."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from graphsent._names import check_choice
from graphsent._numbers import check_sizes
from graphsent.errors import ModelError
from graphsent.layers.chains import Chains, make_chains
from graphsent.layers.errors import LayerError
from graphsent.layers.lengths import check_packable
from graphsent.layers.recurrent import GRU, LSTM
from graphsent.propagation.untraced import untraced

_CELLS = {"lstm": LSTM, "gru": GRU}


class SequenceEncoder(nn.Module):
    r"""The final state of an LSTM or GRU, or the concatenated final states of both directions.

    .. math::
        y = h_n \qquad \text{or} \qquad y = [\overrightarrow{h}_n ; \overleftarrow{h}_1]

    from zero initial states. The state of a sequence does not depend on the lengths of others.
    Cells and initialization are those of ``torch.nn.LSTM`` and ``torch.nn.GRU``, which have two
    biases per gate and apply the reset gate after the product:
    :math:`\tilde h = \tanh(W x + b + r * (U h + b'))`.

    Sequences that begin at the same row share their states from left to right, and those that end
    at the same row share their states from right to left: each is computed once. This needs the
    engine, see :class:`~graphsent.layers.LSTM`; the fallback to torch reads every sequence
    separately.

    Args:
        in_feats: Size of the inputs.
        hidden_feats: Size of the state of each direction.
        cell: ``"lstm"`` or ``"gru"``.
        bidirectional: Whether sequences are also read from the end, by a separate cell.

    Raises:
        ModelError: The cell is unknown.

    Shapes:
        - ``feat``: (num_rows, in_feats)
        - y: (num_sequences, hidden_feats), or (num_sequences, 2 * hidden_feats)

    Example:
        >>> import torch
        >>> encoder = SequenceEncoder(4, 3, cell="gru")
        >>> encoder(torch.randn(5, 4), torch.tensor([[0, 2], [2, 5], [1, 5]])).shape
        torch.Size([3, 3])
    """

    def __init__(
        self,
        in_feats: int,
        hidden_feats: int,
        *,
        cell: str = "lstm",
        bidirectional: bool = False,
    ) -> None:
        super().__init__()
        check_choice("cell", cell, _CELLS, ModelError)
        check_sizes(LayerError, in_feats=in_feats, hidden_feats=hidden_feats)
        self.out_feats = 2 * hidden_feats if bidirectional else hidden_feats
        # torch's constructor takes no integers of NumPy.
        self.cell = _CELLS[cell](int(in_feats), int(hidden_feats), bidirectional=bidirectional)

    def reset_parameters(self) -> None:
        """Draws all parameters anew, as torch does."""
        self.cell.reset_parameters()

    @untraced
    def forward(self, feat: Tensor, ranges: Tensor, index: Tensor | None = None) -> Tensor:
        """Runs over sequences, each of which is a range of rows of ``feat``.

        Args:
            feat: Inputs, (num_rows, in_feats).
            ranges: First row and last row + 1 of each sequence, (num_sequences, 2) int64. They may
                overlap. The state of an empty sequence is zero.
            index: (num_words,) int64; if given, ranges are of ``feat[index]``, and what depends on
                a row of ``feat`` only is computed once.

        Returns:
            (num_sequences, out_feats).

        Raises:
            LayerError: An argument has another shape or dtype, or refers to rows that do not exist
                (not checked on a GPU, where it would synchronize); or it is called under a
                transform of ``torch.func``.
        """
        self._check_arguments(feat, ranges, index)
        if not len(ranges):
            return feat.new_zeros(0, self.out_feats)
        check_packable()
        begin, end = ranges.unbind(1)
        filled = torch.nonzero(begin < end).squeeze(1)
        if len(filled) < len(ranges):
            found = self.forward(feat, ranges[filled], index)
            return found.new_zeros(len(ranges), self.out_feats).index_copy(0, filled, found)
        _check_rows("ranges", torch.stack((begin, end - 1)), len(feat if index is None else index))
        if index is not None:
            _check_rows("index", index, len(feat))
        if not (ranges.is_cpu and self.cell.runs_over(feat)):
            return self._packed(feat if index is None else feat[index], ranges)
        words = np.arange(len(feat), dtype=np.int64) if index is None else index.numpy()
        directions = range(1 + self.cell.bidirectional)
        parts = [self._last_states(feat, ranges.numpy(), words, bool(d)) for d in directions]
        return torch.cat(parts, 1)

    def _check_arguments(self, feat: Tensor, ranges: Tensor, index: Tensor | None) -> None:
        """Raises a LayerError unless all arguments are those of :meth:`forward`."""
        width = self.cell.input_size
        if feat.dim() != 2 or feat.shape[1] != width:
            shape = f"(num_rows, in_feats), with in_feats = {width}"
            raise LayerError(f"expected feat of shape {shape}, got {tuple(feat.shape)}")
        expected: list[tuple[str, Tensor, str, list[int]]]
        expected = [("ranges", ranges, "(num_sequences, 2)", [2])]
        expected += [] if index is None else [("index", index, "(num_words,)", [])]
        for name, part, shape, rest in expected:
            if part.dim() == 0 or [*part.shape[1:]] != rest or part.dtype != torch.int64:
                got = f"{tuple(part.shape)} and {part.dtype}"
                raise LayerError(f"expected {name} of shape {shape} and int64, got {got}")

    def _last_states(
        self, feat: Tensor, ranges: np.ndarray, words: np.ndarray, reverse: bool
    ) -> Tensor:
        """Final states of one direction by the engine, (num_sequences, hidden_feats)."""
        chains, steps, last = _shared_chains(ranges, reverse)
        rows = torch.from_numpy(words[steps])
        h = self.cell.chain_states(chains, feat, rows, reverse=reverse)[0]
        return h.index_select(0, torch.from_numpy(last + chains.num_chains))

    def _packed(self, feat: Tensor, ranges: Tensor) -> Tensor:
        """Final states of all directions by torch, (num_sequences, out_feats)."""
        begin, end = ranges.unbind(1)
        lengths = (end - begin).cpu()
        steps = torch.arange(int(lengths.max()), device=ranges.device)
        rows = begin[:, None] + steps  # (num_sequences, longest)
        # Packing row numbers instead of rows leaves no padded copy of the inputs.
        packed = pack_padded_sequence(rows, lengths, batch_first=True, enforce_sorted=False)
        _, state = self.cell(packed._replace(data=feat[packed.data]))
        h = state[0] if isinstance(state, tuple) else state  # (directions, num_sequences, hidden)
        return torch.cat(h.unbind(0), 1)


def _check_rows(name: str, rows: Tensor, num_rows: int) -> None:
    """Raises a LayerError unless all rows exist; compiled code does not check them."""
    if not rows.is_cpu:
        return
    low, high = map(int, torch.aminmax(rows))
    if low < 0 or high >= num_rows:
        raise LayerError(f"expected {name} of rows from 0 to {num_rows - 1}, got {low} to {high}")


def _shared_chains(ranges: np.ndarray, reverse: bool) -> tuple[Chains, np.ndarray, np.ndarray]:
    """One chain for all ranges that begin at the same row or, with ``reverse``, end at it.

    Args:
        ranges: First row and last row + 1 of each sequence, (num_sequences, 2), none empty.
        reverse: Whether sequences are read from the end.

    Returns:
        The chains; the row of each step; and the last step of each range, (num_sequences,).
    """
    begin, end = ranges.T
    firsts, chain = np.unique(end - 1 if reverse else begin, return_inverse=True)
    longest = np.zeros(len(firsts), np.int64)
    np.maximum.at(longest, chain, end - begin)
    order = np.argsort(-longest, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    chains = make_chains(len(firsts) - np.cumsum(np.bincount(longest))[:-1])
    of_step, step = chains.steps()
    words = firsts[order][of_step] + (-step if reverse else step)
    return chains, words, chains.node(place[chain], end - begin - 1)
