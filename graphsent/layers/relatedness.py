"""Relatedness of two sentences: a distribution over the scores 1, 2, ..., its mean and loss."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphsent._numbers import check_sizes
from graphsent.layers.errors import LayerError


class RelatednessHead(nn.Module):
    r"""Compares two vectors by their products and absolute differences.

    `Improved Semantic Representations From Tree-Structured Long Short-Term Memory Networks
    <https://aclanthology.org/P15-1150>`_ (Tai et al. 2015), section 4.2:

    .. math::
        h_s &= \sigma(W_x (h_1 * h_2) + W_p |h_1 - h_2| + b) \\
        \hat p &= \mathrm{softmax}(W h_s + b')

    It is symmetric in the two vectors.

    Args:
        in_feats: Size of the vectors.
        hidden_feats: Size of :math:`h_s`.
        num_levels: Number K of scores 1, ..., K.

    Shapes:
        - :math:`h_1, h_2`: (num_pairs, in_feats)
        - logits of :math:`\hat p`: (num_pairs, num_levels)

    Example:
        >>> import torch
        >>> head = RelatednessHead(4)
        >>> expected_score(head(torch.randn(2, 4), torch.randn(2, 4))).shape
        torch.Size([2])
    """

    def __init__(self, in_feats: int, hidden_feats: int = 50, num_levels: int = 5) -> None:
        super().__init__()
        check_sizes(LayerError, in_feats=in_feats, hidden_feats=hidden_feats, num_levels=num_levels)
        self.W_x = nn.Linear(in_feats, hidden_feats)
        self.W_p = nn.Linear(in_feats, hidden_feats, bias=False)
        self.output = nn.Linear(hidden_feats, num_levels)

    def reset_parameters(self) -> None:
        """Draws all parameters anew, as ``torch.nn.Linear`` does."""
        for linear in (self.W_x, self.W_p, self.output):
            linear.reset_parameters()

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Logits of the scores: twice (num_pairs, in_feats) -> (num_pairs, num_levels)."""
        hidden = torch.sigmoid(self.W_x(first * second) + self.W_p((first - second).abs()))
        return self.output(hidden)


def expected_score(logits: Tensor) -> Tensor:
    r"""The mean :math:`\sum_i i\, \hat p_i` of each distribution over the scores 1, 2, ...

    Args:
        logits: (num_pairs, num_levels).

    Returns:
        (num_pairs,), between 1 and num_levels.

    Example:
        >>> expected_score(torch.zeros(1, 5))
        tensor([3.])
    """
    levels = torch.arange(1, logits.shape[1] + 1, dtype=logits.dtype, device=logits.device)
    return (torch.softmax(logits, 1) * levels).sum(1)  # a product would be rounded by autocast


def sparse_target(scores: Tensor, num_levels: int) -> Tensor:
    r"""Distributions over the scores 1, ..., K whose means are given.

    .. math::
        p_{\lfloor y \rfloor} = \lfloor y \rfloor + 1 - y, \qquad
        p_{\lfloor y \rfloor + 1} = y - \lfloor y \rfloor

    and all mass is on y if y is an integer (Tai et al. 2015, section 4.2).

    Args:
        scores: y of each pair, (num_pairs,), floating point, from 1 to num_levels.
        num_levels: K, at least 2.

    Returns:
        (num_pairs, num_levels), with the dtype and device of ``scores``.

    Raises:
        LayerError: A score is out of range (not checked on a GPU, where it would synchronize).

    Example:
        >>> sparse_target(torch.tensor([3.5, 5.0]), 5)
        tensor([[0.0000, 0.0000, 0.5000, 0.5000, 0.0000],
                [0.0000, 0.0000, 0.0000, 0.0000, 1.0000]])
    """
    if scores.is_cpu and not ((scores >= 1) & (scores <= num_levels)).all():
        found = [round(float(score), 6) for score in scores if not 1 <= score <= num_levels]
        raise LayerError(f"expected scores from 1 to {num_levels}, got {found[0]}")
    # At y = K, the neighbours are K - 1 and K, with all mass on the upper one.
    lower = scores.floor().clamp(max=num_levels - 1)
    index = lower.long().unsqueeze(1) - 1
    above = (scores - lower).unsqueeze(1)
    target = scores.new_zeros(len(scores), num_levels)
    return target.scatter(1, index, 1 - above).scatter(1, index + 1, above)


def relatedness_loss(logits: Tensor, scores: Tensor) -> Tensor:
    r"""The mean over pairs of :math:`\mathrm{KL}(p \,\|\, \hat p)`, p the :func:`sparse_target`.

    The Lua Torch criterion in the code of Tai et al. also divides by the number of levels. Without
    pairs, the loss is 0.

    Args:
        logits: (num_pairs, num_levels); those of half precision are computed with in float32.
        scores: Gold scores, (num_pairs,).

    Raises:
        LayerError: The shapes do not match, or a score is out of range; see :func:`sparse_target`.
    """
    if logits.dim() != 2 or scores.shape != logits.shape[:1]:
        raise LayerError(
            "expected logits (num_pairs, num_levels) and scores (num_pairs,), "
            f"got {tuple(logits.shape)} and {tuple(scores.shape)}"
        )
    # In the 8 bits of bfloat16, a gold score of 4.7 would be 4.6875.
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    target = sparse_target(scores.to(logits.dtype), logits.shape[1])
    log_probabilities = torch.log_softmax(logits, 1)
    total = functional.kl_div(log_probabilities, target, reduction="sum")
    return total / max(1, len(scores))
