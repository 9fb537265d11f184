"""Counts what a GPU would be asked to do, on a machine that has none."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode

# They find memory, or are views of it, though their schemas do not say so.
WITHOUT_KERNEL = ("aten.empty", "aten.new_empty", "aten._unsafe_view", "aten._reshape_alias")


class CountOperators(TorchDispatchMode):
    """Counts the operators of torch that launch a kernel; some launch several.

    Attributes:
        count: of all that were called inside.
    """

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        is_view = any(
            each.alias_info is not None and not each.alias_info.is_write
            for each in func._schema.returns
        )
        self.count += not is_view and not str(func).startswith(WITHOUT_KERNEL)
        return func(*args, **(kwargs or {}))
