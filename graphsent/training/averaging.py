"""Averages of weights over the steps of training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

__all__ = ["WeightAverage"]


class WeightAverage(nn.Module):
    r"""An average of parameters over steps, in which later steps count more.

    .. math::
        \bar\theta_t = \bar\theta_{t-1} + \frac{k + 1}{k + t} (\theta_t - \bar\theta_{t-1})

    with the parameters :math:`\theta_t` after step :math:`t = 1, 2, \dots`, so that those of step
    s count about as :math:`s^k`: polynomial-decay averaging of `Shamir and Zhang 2013
    <https://proceedings.mlr.press/v28/shamir13.html>`_. Unlike an exponential average it looks
    back over the same share of a run however many steps that has.

    Its state is part of ``state_dict``.

    Args:
        parameters: What is averaged.
        exponent: The equation's k; 0 has all steps count the same.
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
        """Takes the parameters in, as they are after a step."""
        self.num_steps += 1
        share = (self.exponent + 1) / (self.exponent + self.num_steps)
        for average, parameter in zip(self.buffers(), self._averaged, strict=True):
            average.lerp_(parameter, share)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Has the parameters be their averages."""
        self.exchange()
        try:
            yield
        finally:
            self.exchange()

    @torch.no_grad()
    def exchange(self) -> None:
        """Has parameters and averages change places; a second time it puts them back."""
        for average, parameter in zip(self.buffers(), self._averaged, strict=True):
            value = parameter.clone()
            parameter.copy_(average)
            average.copy_(value)

    def get_extra_state(self) -> int:
        """The number of steps, for ``state_dict``."""
        return self.num_steps

    def set_extra_state(self, state: int) -> None:
        """Takes the number of steps from a ``state_dict``."""
        self.num_steps = state
