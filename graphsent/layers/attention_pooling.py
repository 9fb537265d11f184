"""Attention pooling: means over sentences, weighted by similarity to a guide vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphsent.layers.errors import LayerError
from graphsent.layers.lengths import check_batch, time_mask, zero_beyond


class AttentionPooling(nn.Module):
    r"""The mean over the steps of a sentence, weighted by their similarity to a guide vector.

    *Tree-LSTM Guided Attention Pooling of DCNN for Semantic Sentence Modeling* (Chen et al.),
    equations 10 and 11:

    .. math::
        \alpha_t &= \frac{\exp(\cos(x_t, g) / \tau)}{\sum_{u} \exp(\cos(x_u, g) / \tau)} \\
        y &= \sum_t \alpha_t x_t

    over the steps of the sentence. In the paper, g is the state of a Tree-LSTM at the root, and
    :math:`\tau = 1`, so that no weight is more than :math:`e^2` times another. Gradients also reach
    x and g through the weights. A vector whose norm is at most ``eps`` has similarity 0, and no
    gradient through the weights. A sentence of length 0 gets zeros. Half-precision similarities are
    computed in float32.

    Args:
        temperature: :math:`\tau`, above 0.
        eps: Largest norm that counts as zero.

    Raises:
        LayerError: ``temperature`` or ``eps`` is not above 0; in ``forward``, the shapes do not
            match.

    Shapes:
        - x: (batch, channels, time)
        - lengths: (batch,) int64
        - g: (batch, channels)
        - y: (batch, channels)
        - :math:`\alpha`: (batch, time), zeros beyond the lengths

    Example:
        >>> import torch
        >>> x = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
        >>> y, weights = AttentionPooling()(
        ...     x, torch.tensor([2]), torch.ones(1, 2), return_weights=True
        ... )
        >>> y.tolist(), weights.tolist()
        ([[0.5, 0.5]], [[0.5, 0.5]])
    """

    def __init__(self, temperature: float = 1.0, eps: float = 1e-8) -> None:
        super().__init__()
        for name, value in (("temperature", temperature), ("eps", eps)):
            if not value > 0:
                raise LayerError(f"expected {name} above 0, got {value}")
        self.temperature = temperature
        self.eps = eps

    def forward(
        self, x: Tensor, lengths: Tensor, guide: Tensor, *, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Averages x, (batch, channels, time), guided by g, (batch, channels).

        Returns:
            y, (batch, channels); with ``return_weights``, ``(y, weights)``.
        """
        check_batch(x, lengths)
        if guide.shape != x.shape[:2]:
            raise LayerError(
                f"expected guide of shape (batch, channels) = {tuple(x.shape[:2])}, "
                f"got {tuple(guide.shape)}"
            )
        x = zero_beyond(x, lengths)
        weights = self._weights(x, lengths, guide)
        y = (x @ weights[:, :, None]).squeeze(2)
        return (y, weights) if return_weights else y

    def weights(self, x: Tensor, ranges: Tensor, guide: Tensor) -> Tensor:
        """The weights of the steps of concatenated sentences, without padding.

        Args:
            x: The steps of all sentences, (num_steps, channels).
            ranges: First step and last step + 1 of each sentence, (num_sentences, 2) int64.
            guide: g of each sentence, (num_sentences, channels).

        Returns:
            (num_steps,); the weights of a sentence sum to one.
        """
        begin, end = ranges.unbind(1)
        lengths = end - begin
        sentence = torch.repeat_interleave(lengths)
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        norm = torch.linalg.vector_norm(wide, dim=1)
        none = norm <= self.eps
        products = (wide * self._directions(guide).index_select(0, sentence)).sum(1)
        similarity = (products / norm.masked_fill(none, 1)).masked_fill(none, 0)
        longest = int(lengths.max()) if len(lengths) else 0
        places = sentence * longest + torch.arange(len(x), device=x.device) - begin[sentence]
        scores = similarity.new_full((len(ranges) * longest,), -torch.inf)
        scores = scores.index_copy(0, places, similarity / self.temperature)
        scores = scores.view(len(ranges), longest).masked_fill((lengths == 0)[:, None], 0)
        return torch.softmax(scores, 1).flatten().index_select(0, places).to(x.dtype)

    def _weights(self, x: Tensor, lengths: Tensor, guide: Tensor) -> Tensor:
        steps, guide = self._directions(x), self._directions(guide)
        similarity = (guide[:, None] @ steps).squeeze(1)
        own = time_mask(lengths, x.shape[2])
        # For an empty sentence, the softmax is over zeros; the mask follows.
        beyond = ~own & (lengths > 0)[:, None]
        scores = (similarity / self.temperature).masked_fill(beyond, -torch.inf)
        return torch.softmax(scores, 1).masked_fill(~own, 0).to(x.dtype)

    def _directions(self, vectors: Tensor) -> Tensor:
        """Vectors (batch, channels, ...) of norm one, or zero if the norm is at most ``eps``."""
        wide = vectors.to(torch.promote_types(vectors.dtype, torch.float32))
        norm = torch.linalg.vector_norm(wide, dim=1, keepdim=True)
        none = norm <= self.eps
        return (wide / norm.masked_fill(none, 1)).masked_fill(none, 0)

    def extra_repr(self) -> str:
        """The temperature, unless it is 1."""
        return "" if self.temperature == 1 else f"temperature={self.temperature}"
