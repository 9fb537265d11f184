"""What cells, and modules of several cells, have in common as torch modules."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from torch import nn

from graphsent.propagation.recurrence.modules import has_hooks
from graphsent.propagation.untraced import untraced


class CellModule(nn.Module):
    """Base class of modules that take a graph: ``torch.compile`` leaves out their ``forward``.

    Attributes:
        in_feats: Size of the inputs.
        hidden_feats: Size of each part of a state.
    """

    in_feats: int
    hidden_feats: int
    _defaults: tuple[tuple[str, Any], ...] = ()
    """Options that the repr shows unless they have these values."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        forward = vars(cls).get("forward")
        # The code of a decorated function is the decorator's, and may be that of other functions.
        if isinstance(forward, FunctionType) and forward.__code__.co_name == "forward":
            cls.forward = untraced(forward)

    def extra_repr(self) -> str:
        """The sizes, and options other than the default."""
        options = [(name, getattr(self, name), default) for name, default in self._defaults]
        shown = [f"{name}={value!r}" for name, value, default in options if value != default]
        return ", ".join([f"{self.in_feats}, {self.hidden_feats}", *shown])

    def _is_modified(self, kind: type[CellModule]) -> bool:
        """Whether a call may do more than that of ``kind``: by a subclass, a hook or a patch."""
        return type(self) is not kind or "forward" in vars(self) or has_hooks(self)
