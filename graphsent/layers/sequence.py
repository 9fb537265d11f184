"""Recurrent networks over sequences of different lengths."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from graphsent._names import nearest
from graphsent.errors import ModelError

_CELLS = {"lstm": nn.LSTM, "gru": nn.GRU}


class SequenceEncoder(nn.Module):
    r"""The last state of an LSTM or GRU; of both directions, the two last states side by side.

    .. math::
        y = h_n \qquad \text{or} \qquad y = [\overrightarrow{h}_n ; \overleftarrow{h}_1]

    from zero initial states. Sequences are packed: the state of one does not depend on the lengths
    of others. Cells and initial values are those of ``torch.nn.LSTM`` and ``torch.nn.GRU``, which
    have two biases a gate and apply the reset gate after the product:
    :math:`\tilde h = \tanh(W x + b + r * (U h + b'))`.

    Args:
        in_feats: size of the inputs.
        hidden_feats: size of the state of each direction.
        cell: ``"lstm"`` or ``"gru"``.
        bidirectional: whether sequences are read from both ends, by cells of their own.

    Raises:
        ModelError: There is no such cell.

    Shapes:
        - ``feat``: (num_rows, in_feats)
        - y: (num_sequences, hidden_feats), or twice that

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
        if cell not in _CELLS:
            hint = nearest(cell, ("lstm", "gru"))
            raise ModelError(f"unknown cell {cell!r}: expected 'lstm' or 'gru'{hint}")
        self.out_feats = 2 * hidden_feats if bidirectional else hidden_feats
        self.cell = _CELLS[cell](in_feats, hidden_feats, bidirectional=bidirectional)

    def reset_parameters(self) -> None:
        """Draws all parameters anew, as torch does."""
        self.cell.reset_parameters()

    def forward(self, feat: Tensor, ranges: Tensor) -> Tensor:
        """Runs over sequences, each of which is a range of the rows of ``feat``.

        Args:
            feat: inputs, (num_rows, in_feats).
            ranges: first and last + 1 row of each sequence, (num_sequences, 2) int64. They may
                overlap. The state of an empty one is zero.

        Returns:
            (num_sequences, out_feats).
        """
        if not len(ranges):
            return feat.new_zeros(0, self.out_feats)
        begin, end = ranges.unbind(1)
        filled = torch.nonzero(begin < end).squeeze(1)
        if len(filled) < len(ranges):
            states = feat.new_zeros(len(ranges), self.out_feats)
            return states.index_copy(0, filled, self(feat, ranges[filled]))
        lengths = (end - begin).cpu()
        steps = torch.arange(int(lengths.max()), device=ranges.device)
        rows = (begin[:, None] + steps).clamp(max=len(feat) - 1)  # (num_sequences, longest)
        # Packing row numbers instead of rows leaves no padded copy of the inputs.
        packed = pack_padded_sequence(rows, lengths, batch_first=True, enforce_sorted=False)
        _, state = self.cell(packed._replace(data=feat[packed.data]))
        h = state[0] if isinstance(state, tuple) else state  # (directions, num_sequences, hidden)
        return torch.cat(h.unbind(0), 1)
