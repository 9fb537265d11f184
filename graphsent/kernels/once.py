"""Values that take long to make: made once in a process, by one thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Once(Generic[Value]):
    """A function whose values are made once, for each tuple of arguments.

    Other threads wait while one makes a value, but not for values that exist. A process forked in
    the meantime makes its own: the thread that held the lock is not in it.
    """

    def __init__(self, make: Callable[..., Value]) -> None:
        self._make, self._made = make, dict[Any, Value]()
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.RLock()  # making one may take another

    def __call__(self, *key: Any) -> Value:
        """The value for these arguments."""
        if key not in self._made:
            with self._lock:
                if key not in self._made:
                    self._made[key] = self._make(*key)
        return self._made[key]
