"""Where the time of a step goes: operations by kind, from torch's profiler.

The profiler adds about a microsecond to each operation, and its clock is that on the wall. What is
left of a step without the profiler is Python's, between operations.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from torch.profiler import ProfilerActivity, profile

from .measuring import Contender

KINDS: dict[str, tuple[str, ...]] = {
    "products": ("mm", "addmm", "addmm_", "bmm", "baddbmm", "dot", "mv"),
    "rows moved": (
        "index_select",
        "index",
        "index_add",
        "index_add_",
        "index_put_",
        "_index_put_impl_",
        "index_copy",
        "embedding",
        "embedding_dense_backward",
        "_embedding_bag",
        "gather",
        "scatter",
        "scatter_",
        "scatter_add_",
        "cat",
        "copy_",
        "_to_copy",
        "clone",
    ),
    "optimizer": ("_fused_adagrad_", "_foreach_addcdiv_", "_foreach_addcmul_"),
    "views, allocation": (
        "as_strided",
        "view",
        "reshape",
        "_unsafe_view",
        "slice",
        "select",
        "split",
        "split_with_sizes",
        "unbind",
        "t",
        "transpose",
        "expand",
        "unsqueeze",
        "squeeze",
        "flatten",
        "unflatten",
        "narrow",
        "detach",
        "alias",
        "empty",
        "empty_like",
        "empty_strided",
        "new_empty",
        "resize_",
        "zeros",
        "zeros_like",
        "ones_like",
        "zero_",
        "fill_",
    ),
}
POINTWISE = "pointwise, loss"
ENGINE = "engine, autograd"
REST = "Python between"
STEPS = 5


def profile_steps(contender: Contender, prepared: object) -> dict[str, float]:
    """Seconds of a step in each kind of operations; the sum is that of a step."""
    warm, timed, profiled = ([contender.fresh(prepared) for _ in range(STEPS)] for _ in range(3))
    _run(contender, warm)
    start = time.perf_counter()
    _run(contender, timed)
    step = (time.perf_counter() - start) / STEPS
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        _run(contender, profiled)
    seconds = dict.fromkeys((*KINDS, POINTWISE, ENGINE), 0.0)
    for event in profiler.key_averages():
        seconds[_kind(event.key)] += event.self_cpu_time_total / 1e6 / STEPS
    seconds[REST] = max(0.0, step - sum(seconds.values()))
    return seconds


def _run(contender: Contender, inputs: Sequence[object]) -> None:
    for each in inputs:
        contender.step(each)


def _kind(key: str) -> str:
    name = key.removeprefix("aten::")
    for kind, names in KINDS.items():
        if name in names:
            return kind
    return POINTWISE if key.startswith("aten::") else ENGINE
