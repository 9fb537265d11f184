"""Weight averaging over training steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

__all__ = ["WeightAverage"]


class WeightAverage(nn.Module):
    r"""An average of parameters over steps that gives later steps more weight.

    .. math::
        \bar\theta_t = \bar\theta_{t-1} + \frac{k + 1}{k + t} (\theta_t - \bar\theta_{t-1})

    where :math:`\theta_t` are the parameters after step :math:`t = 1, 2, \dots`. Step s has a
    weight of about :math:`s^k`: the polynomial-decay averaging of `Shamir and Zhang 2013
    <https://proceedings.mlr.press/v28/shamir13.html>`_. Unlike an exponential moving average, it
    covers the same fraction of a run whatever its number of steps.

    Its state is part of ``state_dict``.

    Args:
        parameters: The parameters to average.
        exponent: k in the equation; 0 weights all steps equally.
    """

    def __init__(self, parameters: Iterable[Tensor], exponent: float) -> None:
        super().__init__()
        self.exponent = exponent
        self.num_steps = 0
        self._averaged = list(parameters)
        for number, parameter in enumerate(self._averaged):
            self.register_buffer(f"average_{number}", parameter.detach().clone())

    @torch.no_grad()
    def update(self) -> None:
        """Updates the average with the parameters after a step."""
        self.num_steps += 1
        share = (self.exponent + 1) / (self.exponent + self.num_steps)
        for average, parameter in zip(self.buffers(), self._averaged, strict=True):
            average.lerp_(parameter, share)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Replaces the parameters by their averages within the context."""
        self.exchange()
        try:
            yield
        finally:
            self.exchange()

    @torch.no_grad()
    def exchange(self) -> None:
        """Swaps parameters and averages; a second call swaps them back."""
        for average, parameter in zip(self.buffers(), self._averaged, strict=True):
            value = parameter.clone()
            parameter.copy_(average)
            average.copy_(value)

    def get_extra_state(self) -> int:
        """The number of steps, for ``state_dict``."""
        return self.num_steps

    def set_extra_state(self, state: int) -> None:
        """Restores the number of steps from a ``state_dict``."""
        self.num_steps = state
