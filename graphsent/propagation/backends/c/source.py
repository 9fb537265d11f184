"""The C of a recurrence: a walk over the levels of a schedule, forward and backward."""

from __future__ import annotations

from graphsent.kernels.structures import Walk, layout_in_c
from graphsent.propagation.backends.c.layout import Layout
from graphsent.propagation.backends.c.passes import Passes

_HEAD = """#define GENERATED
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "team.h"
#include "vectors.h"
#include "functions.h"
#include "matrices.h"
#include "arena.h"
#include "library.h"
"""
_WALK = "  const struct walk *w = &s->walk;\n  (void)w;\n"
_ROWS = f"{_WALK}  (void)first;\n  (void)last;\n"


def source_of(layout: Layout) -> str:
    """The text of a library.

    Args:
        layout: of the recurrence.

    Raises:
        Unsupported: if there is no C for it.
    """
    passes = Passes(layout)
    functions = _functions("struct own *s, int64_t first, int64_t last", _ROWS, passes.of_rows())
    functions += _functions("struct own *s", _WALK, passes.of_all())
    slots = '#include "recurrence_slots.h"\n' if layout.slotted else ""
    return "".join(
        (
            _HEAD,
            _sizes(layout, passes),
            '#include "recurrence.h"\n#include "recurrence_memory.h"\n',
            slots,
            _projected(layout),
            functions,
            '#include "recurrence_walk.h"\n',
            layout_in_c((Walk,)),
        )
    )


def _sizes(layout: Layout, passes: Passes) -> str:
    """Numbers and arrays that differ between recurrences."""
    copied = [layout.size, *(term.width for _, term in passes.products.pairs[True])]
    weighed = "0"
    for depth in sorted({share.term.rows.width for share in layout.combine.gradients.weights}):
        weighed = f"larger({weighed}, scratch_for_transposed({depth}))"
    text = (
        f"enum {{ SIZE = {layout.size}, PARTS = {layout.recurrence.num_parts}, "
        f"COUNT = {layout.count}, ACCUMULATED = {max(passes.num_accumulated, 1)}, "
        f"PROJECTED = {layout.columns[-1][1]}, NUMBERS_A_NODE = {layout.numbers_a_node()}, "
        f"COPIED = {max(copied)} }};\n"
        "#define PADDED(n) (((n) + PANEL - 1) / PANEL * PANEL)\n"
        f"#define WEIGHED {weighed}\n"
    )
    for group, arrays in layout.arrays.items():
        listed = "".join(f" \\\n  ARRAY({name}, {numbers})" for name, numbers in arrays.items())
        text += f"#define {group}(ARRAY){listed}\n"
    return text


def _projected(layout: Layout) -> str:
    """The function that puts columns of a projection where they are read."""
    text, at = "", 0
    for first, last in layout.columns:
        text += f"  memcpy(to + {first}, sums + {at}, {last - first} * sizeof(real));\n"
        at += last - first
    return f"static void place_projected(real *to, const real *sums) {{\n{text}}}\n\n"


def _functions(arguments: str, head: str, bodies: dict[str, str]) -> str:
    return "".join(
        f"static void {name}({arguments}) {{\n{head}{body}}}\n\n" for name, body in bodies.items()
    )
