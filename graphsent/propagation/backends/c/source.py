"""The C of a recurrence: a walk over the levels of a schedule, forward and backward."""

from __future__ import annotations

from graphsent.kernels.structures import Walk, layout_in_c
from graphsent.propagation.backends.c.backward import Backward
from graphsent.propagation.backends.c.forward import Forward
from graphsent.propagation.backends.c.layout import Layout
from graphsent.propagation.backends.c.memory import Memory
from graphsent.propagation.backends.c.steps import Steps

HEADERS = (
    *("team.h", "vectors.h", "functions.h", "matrices.h", "arena.h", "library.h"),
    "recurrence.h",
)
_INCLUDES = """#define GENERATED
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
"""
_WALK = "  const struct walk *w = &s->walk;\n  (void)w;\n"


def source_of(layout: Layout) -> str:
    """The text of a library.

    Args:
        layout: of the recurrence.

    Raises:
        Unsupported: if there is no C for it.
    """
    steps = Steps(layout)
    forward, backward = Forward(layout, steps), Backward(layout, steps)
    functions = [
        _of_rows("nodes_forward", forward.nodes()),
        _of_rows("sources_forward", forward.sources()),
        _of_rows("start_forward", forward.start()),
        _of_rows("sources_backward", backward.sources(starts=False)),
        _of_rows("starts_backward", backward.sources(starts=True)),
        _of_rows("nodes_backward", backward.nodes()),
        _of_rows("start_backward", backward.start()),
        _of_all("pairs_forward", forward.pairs()),
        _of_all("pairs_backward", backward.pairs()),
        _of_all("weights_backward", backward.weights()),
    ]
    memory = Memory(layout, steps)  # of all products above
    functions += [
        _of_all("pack_forward", memory.pack(back=False)),
        _of_all("pack_backward", memory.pack(back=True)),
        _of_all("find_rows", memory.find_rows()),
        _of_all("find_successors", memory.find_successors()),
    ]
    headers = "".join(f'#include "{name}"\n' for name in HEADERS)
    slots = '#include "recurrence_slots.h"\n' if layout.slotted else ""
    return "".join(
        (
            _INCLUDES,
            headers,
            _sizes(layout, len(steps.weights)),
            memory.struct(),
            memory.divide(),
            slots,
            _projected(layout),
            *functions,
            '#include "recurrence_walk.h"\n',
            layout_in_c((Walk,)),
        )
    )


def _sizes(layout: Layout, num_weights: int) -> str:
    return (
        f"enum {{ SIZE = {layout.size}, PARTS = {layout.recurrence.num_parts}, "
        f"COUNT = {layout.count}, NUM_WEIGHTS = {max(num_weights, 1)}, "
        f"ACCUMULATED = {max(layout.acc_size, 1)}, PROJECTED = {layout.columns[-1][1]} }};\n"
        "#define PADDED(n) (((n) + PANEL - 1) / PANEL * PANEL)\n"
    )


def _projected(layout: Layout) -> str:
    """The function that puts columns of a projection where they are read."""
    text, at = "", 0
    for first, last in layout.columns:
        text += f"  memcpy(to + {first}, sums + {at}, {last - first} * sizeof(real));\n"
        at += last - first
    return f"static void place_projected(real *to, const real *sums) {{\n{text}}}\n\n"


def _of_rows(name: str, body: str) -> str:
    """A function of some rows."""
    head = f"static void {name}(struct own *s, int64_t first, int64_t last) {{\n{_WALK}"
    return f"{head}  (void)first;\n  (void)last;\n{body}}}\n\n"


def _of_all(name: str, body: str) -> str:
    """A function of all rows."""
    return f"static void {name}(struct own *s) {{\n{_WALK}{body}}}\n\n"
