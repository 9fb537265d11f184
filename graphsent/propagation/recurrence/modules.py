"""The recurrence of a cell, from its ``project``, ``start`` and ``combine``."""

from __future__ import annotations

import random
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules import module as of_all_modules
from torch.nn.utils import parametrize
from torch.utils._python_dispatch import _disable_current_modes

from graphsent.propagation.autocast import without_autocast
from graphsent.propagation.recurrence.recurrence import Recurrence, linear_map, trace
from graphsent.propagation.recurrence.surroundings import (
    TooManyParts,
    Variable,
    Walk,
    surroundings_of,
)
from graphsent.propagation.recurrence.symbols import Untraceable
from graphsent.propagation.recurrence.tracing import DRAWS, like_of

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_HOOKS_OF_ALL_MODULES = [getattr(of_all_modules, f"_global{name}") for name in _HOOKS]
_NOT_SEEN = {  # functions that a symbol cannot answer for, nor refuse
    **dict.fromkeys(
        [f"is_{mode}_enabled" for mode in ("grad", "autocast", "inference_mode")],
        "it asks whether gradients or autocast are enabled",
    ),
    **dict.fromkeys(("is_anomaly_enabled", "initial_seed"), "it asks for a setting of torch"),
    # Their generators are new ones, whose states are not compared before and after.
    **dict.fromkeys(("default_rng", "SystemRandom", "urandom", "secrets"), DRAWS),
}
_OF_MODULES = frozenset(vars(nn.Module()))
_CHANGES = "it changes attributes, variables or random generators"
_TOO_MANY = (
    "its attributes, or variables that it reads, refer to too many objects, or to arrays that are "
    "too large, to be watched"
)
_known: weakref.WeakKeyDictionary[nn.Module, dict[bool, _Cached]] = weakref.WeakKeyDictionary()
"""By cell and whether it is in training: a program may alternate between training and evaluation in
every step."""

_sources: weakref.WeakKeyDictionary[nn.Module, set[str]] = weakref.WeakKeyDictionary()
"""All sources compiled for a cell."""

_Signature = tuple[torch.dtype, Sequence[int], int | None]
"""Arguments of :func:`recurrence_of` after the cell."""


class _Cached(NamedTuple):
    """The recurrence of a cell, and the facts that it depends on.

    Without facts, it does not depend on any.
    """

    facts: list[Any]
    variables: list[Variable]
    recurrence: Recurrence | str


def recurrence_of(
    cell: nn.Module,
    dtype: torch.dtype,
    extra_widths: Sequence[int] = (),
    num_slots: int | None = None,
) -> Recurrence | str:
    """The recurrence of a cell, or why it cannot be traced.

    It is traced once for training and once for evaluation, and again when the cell has changed:
    attributes of the cell or its modules, tied parameters, or other variables that its functions
    read. ``dtype`` is that of parameters, ``extra_widths`` are those of the inputs after x, and
    ``num_slots`` is None if predecessors are unordered.
    """
    signature = dtype, tuple(extra_widths), num_slots
    modes = _known.setdefault(cell, {})
    known = modes.get(cell.training)
    if known is not None and not known.facts:  # for good
        return known.recurrence
    try:
        if known is None or known.facts != _facts(cell, signature, known.variables):
            variables, names, of_globals, containers = surroundings_of(cell)
            asked = [_NOT_SEEN[name] for name in sorted(names & _NOT_SEEN.keys())]
            asked += ["it calls type"] * ("type" in of_globals)  # not an attribute of that name
            traced: Recurrence | str
            for _ in range(2):  # an object may cache what it computes, as a Path does its text
                facts = _facts(cell, signature, variables)
                traced = asked[0] if asked else _traced(cell, containers, signature)
                if isinstance(traced, str) or _facts(cell, signature, variables) == facts:
                    break
            else:
                traced = _CHANGES
            if known is not None and traced == known.recurrence == _CHANGES:
                facts = []  # not only before its first run, which may have cached something
            if not isinstance(traced, str):
                traced.sources = _sources.setdefault(cell, set())
            known = modes[cell.training] = _Cached(facts, variables, traced)
    except (TooManyParts, RecursionError):
        known = modes[cell.training] = _Cached([], [], _TOO_MANY)
    except Exception as error:  # from an object that it refers to, such as a proxy of nothing
        return f"what it refers to cannot be watched: {type(error).__name__}: {error}"
    return known.recurrence


def has_hooks(module: nn.Module) -> bool:
    """Whether functions are called before or after a module, or all modules."""
    return any(_HOOKS_OF_ALL_MODULES) or any(vars(module)[name] for name in _HOOKS)


def parameters_of(cell: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name."""
    return {
        f"{prefix}.{name}" if prefix else name: tensor
        for prefix, module in cell.named_modules(remove_duplicate=False)
        for tensors in (module._parameters, module._buffers)
        for name, tensor in tensors.items()
        if tensor is not None
    }


def _facts(cell: Any, signature: _Signature, variables: Sequence[Variable]) -> list[Any]:
    """What the functions of a cell may depend on, except the values of its parameters."""
    kind, modules = type(cell), list(cell.named_modules(remove_duplicate=False))
    walk = Walk(module for _, module in modules)
    facts = [any(_HOOKS_OF_ALL_MODULES), torch.get_default_dtype(), signature]
    facts += [kind.project, kind.start, kind.combine]
    for path, module in modules:
        facts += [path, type(module)]
        for name, value in vars(module).items():
            if name in _HOOKS:
                facts.append(len(value))
            elif name not in _OF_MODULES or name == "training":
                facts += [name, walk.fact(value)]
    named = parameters_of(cell)
    facts += [(name, part.shape, part.dtype, part.device) for name, part in named.items()]
    tensors = [*map(id, named.values())]
    if len(set(tensors)) < len(tensors):
        facts.append([tensors.index(tensor) for tensor in tensors])
    return facts + [walk.fact(variable()) for variable in variables]


def _traced(cell: nn.Module, containers: Sequence[Any], signature: _Signature) -> Recurrence | str:
    if any(map(has_hooks, cell.modules())):
        return "modules have hooks"
    before = _random_states()
    recurrence, draws = _traced_once(cell, containers, signature)
    if draws or recurrence == _CHANGES:  # it may have been another thread
        recurrence, draws = _traced_once(cell, containers, signature)
    if draws:
        _set_random_states(before)
    return recurrence


def _traced_once(
    cell: nn.Module, containers: Sequence[Any], signature: _Signature
) -> tuple[Recurrence | str, bool]:
    """The recurrence, or why there is none, and whether random numbers were drawn meanwhile."""
    before = [(each, dict(each) if isinstance(each, dict) else list(each)) for each in containers]
    recurrence: Recurrence | str
    drawn_before = _random_states()
    cache = parametrize._cache  # weights that are computed here have no gradients
    cached = dict(cache)
    cache.clear()
    try:
        # Modes of the caller, such as those of selective checkpoints, record what a run computes.
        device_type = next((p.device.type for p in cell.parameters()), "cpu")
        with without_autocast(device_type), _disable_current_modes():
            recurrence = _trace(cell, *signature)
    except Untraceable as problem:
        recurrence = str(problem)
    except Exception as error:  # of other libraries, which expect tensors
        recurrence = f"it cannot be traced: {type(error).__name__}: {error}"
    finally:
        changed = [_restore(*pair) for pair in before]
        _restore(cache, cached)
    draws = _random_states() != drawn_before
    return (_CHANGES if any(changed) else recurrence), draws


def _restore(container: Any, before: Any) -> bool:
    """Restores the values in a container, from a copy; returns whether they had changed."""
    if isinstance(container, dict):  # only what differs: other threads may use it
        missing = object()
        added = container.keys() - before.keys()
        changed = [n for n, old in before.items() if container.get(n, missing) is not old]
        container.update({name: before[name] for name in changed})
        for name in added:
            del container[name]
        return bool(changed or added)
    if [*map(id, container)] == [*map(id, before)]:
        return False
    container.clear()
    (container.update if isinstance(container, set) else container.extend)(before)
    return True


def _random_states() -> tuple[Any, ...]:
    state: Any = np.random.get_state()
    kind, keys, *others = state
    numbers = torch.get_rng_state().tolist()
    return numbers, random.getstate(), (kind, keys.tolist(), *others)


def _set_random_states(states: tuple[Any, ...]) -> None:
    of_torch, of_python, of_numpy = states
    torch.set_rng_state(torch.tensor(of_torch, dtype=torch.uint8, device="cpu"))
    random.setstate(of_python)
    np.random.set_state(of_numpy)


def _trace(
    cell: Any, dtype: torch.dtype, extra_widths: Sequence[int], num_slots: int | None
) -> Recurrence:
    tensors, before = parameters_of(cell), _random_states()
    projection, width = _projection(cell, tensors, dtype)
    if (drawn := _random_states()) != before:  # project may draw: each run calls it
        projection = None
    widths = (width, *extra_widths)
    size, num_parts = cell.hidden_feats, len(cell.state_names)
    sizes = dtype, widths, size, num_parts
    combine = trace(cell.combine, tensors, *sizes, children=True, num_slots=num_slots)
    start = trace(cell.start, tensors, *sizes, children=False)
    if _random_states() != drawn:
        raise Untraceable(DRAWS)
    return Recurrence(size, num_parts, num_slots, combine, start, projection)


def _projection(
    cell: Any, tensors: dict[str, Tensor], dtype: torch.dtype
) -> tuple[tuple[str, str | None] | None, int]:
    try:
        return linear_map(cell.project, tensors, dtype, cell.in_feats)
    except Untraceable:
        like = like_of(tensors, dtype)
        buffers = [(buffer, buffer.clone()) for buffer in cell.buffers()]
        with torch.no_grad():
            x = cell.project(like.new_zeros(1, cell.in_feats))
            for buffer, before in buffers:  # it may count its calls, for example
                if not torch.equal(buffer, before):
                    buffer.copy_(before)
        if x.dim() != 2:
            raise Untraceable(
                "project does not return a matrix: combine can reshape its rows"
            ) from None
        return None, x.shape[1]
