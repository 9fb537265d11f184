"""The memory of a walk, in C: arrays, packed weights, rows of states."""

from __future__ import annotations

from collections.abc import Sequence

from graphsent.propagation.backends.c.layout import EDGE, NODE, Layout
from graphsent.propagation.backends.c.steps import Steps

_PROJECTION = """
  if (w->num_projected) {
    s->affine = (struct affine){.in_feats = w->start_feats,
                                .num_rows = w->num_starts,
                                .columns = w->num_projected,
                                .num_outputs = w->start_outputs,
                                .inputs = w->start_x,
                                .weight = w->start_weight,
                                .bias = w->start_bias,
                                .dinputs = w->dstart_x,
                                .dweight = w->dstart_weight,
                                .dbias = w->dstart_bias};
    begin_affine(&s->affine, work, backward, threads);
    s->projected = take(kept, w->num_starts * PROJECTED);
    if (backward) s->dprojected = take(work, w->num_starts * w->num_projected);
  }"""


class Memory:
    """Writes what finds and fills memory before a walk.

    Args:
        layout: where values are.
        steps: all steps of the walk, written.
    """

    def __init__(self, layout: Layout, steps: Steps) -> None:
        self.layout, self.steps = layout, steps
        self.slotted, self.size = layout.slotted, layout.size

    def struct(self) -> str:
        """What a thread knows of a walk."""
        layout = self.layout
        names = [
            name
            for fields in (
                layout.fields,
                layout.back_fields,
                layout.scratch,
                layout.back_scratch,
            )
            for name, _ in fields
        ]
        names += [name for name, _ in layout.kept_fields if name not in names]
        arrays = "".join(f"  real *{name};\n" for name in names)
        return (
            "struct own {\n  struct walk walk;\n  struct arena kept_arena, work_arena;\n"
            "  int64_t thread, threads, inner, num_rows, block, edge_block, pairs_a_slot;\n"
            "  int64_t first_edge, last_edge, num_places;\n  struct places places;\n"
            "  int64_t *rows, *target, *out_first, *out;\n"
            "  real *state[PARTS], *dstate[PARTS], *given[PARTS], *packed[NUM_WEIGHTS];\n"
            "  struct affine affine;\n  real *projected, *dprojected;\n"
            "  real *zeros, *acc, *all_acc, *copied, *turned;\n"
            f"{arrays}}};\n\n"
        )

    def divide(self) -> str:
        """The function that finds the arrays."""
        layout = self.layout
        widths = [
            value.width
            for value in layout.combine.forward
            if value.domain in (NODE, EDGE) and value not in layout.combine.brief
        ]
        row = self.size + sum(widths)
        lines = [
            "static void divide(struct own *s, const struct walk *given, int64_t thread,",
            "                   int64_t threads, int backward) {",
            "  memset(s, 0, sizeof *s);",
            "  s->walk = *given;",
            "  struct walk *w = &s->walk;",
            "  s->thread = thread;",
            "  s->threads = threads;",
            "  s->inner = w->num_nodes - w->num_sources;",
            "  s->num_rows = w->num_starts + s->inner;",
            "  s->kept_arena.begin = w->keep ? (char *)w->kept : NULL;",
            "  s->work_arena.begin = (char *)w->workspace;",
            "  struct arena *work = &s->work_arena, *kept = w->keep ? &s->kept_arena : work;",
            "  int64_t largest = 1, degree = 0;",
            "  for (int64_t level = 0; level < w->num_levels; level++) {",
            "    largest = larger(largest, first_row(w, level + 1) - first_row(w, level));",
            "  }",
            "  largest = larger(largest, w->num_starts);",
            "  for (int64_t r = 0; w->first_edge && r < s->inner; r++) {",
            "    degree = larger(degree, w->first_edge[r + 1] - w->first_edge[r]);",
            "  }",
            f"  s->block = CACHE / {row} / TILE_ROWS * TILE_ROWS + TILE_ROWS;",
            "  s->edge_block = larger(s->block, degree);",
            "  s->block = smaller(s->block, largest);",
            "  s->pairs_a_slot = smaller(w->num_starts, s->inner);",
            "  const int64_t links = COUNT ? s->inner * COUNT : w->num_edges;",
            "  s->rows = w->places;",
            "  s->num_places = links;",
        ]
        if self.slotted:
            lines += [
                "  if (w->places) w->places += links;",
                "  s->num_places += size_of_places(w, s->inner);",
            ]
        else:
            lines += [
                "  s->target = w->places + links;",
                "  s->num_places += links;",
            ]
        lines += [
            "  for (int part = 0; part < PARTS; part++) {",
            "    s->state[part] = take(kept, (s->num_rows + 1) * SIZE);",
            "  }",
        ]
        lines.append(_PROJECTION.strip())
        local = {name for name, _ in layout.scratch}
        for name, size in layout.kept_fields:
            only = "if (w->keep) " if name in local else ""
            lines.append(f"  {only}s->{name} = take(kept, {size});")
        if self.slotted:
            lines.append("  s->places = places_of(w, s->inner);")
        lines.append("  if (!backward) {")
        lines += [f"    s->{name} = take(work, {size});" for name, size in layout.fields]
        lines += self._packed_fields(False) + self._scratch(
            layout.scratch, self._copied(False), "0"
        )
        lines += ["    return;", "  }"]
        lines += [
            "  s->out_first = take_places(work, s->num_rows + 3);",
            "  s->out = take_places(work, links);",
            "  for (int part = 0; part < PARTS; part++) {",
            "    s->dstate[part] = take(work, s->num_rows * SIZE);",
            "    s->given[part] = take(work, w->num_starts * SIZE);",
            "  }",
            "  s->zeros = take(work, SIZE);",
            "  s->all_acc = take(work, threads * ACCUMULATED);",
            "  s->acc = s->all_acc + thread * ACCUMULATED;",
        ]
        if self.slotted:
            lines += [
                "  w->seen = take_places(work, size_of_seen(w, s->inner));",
                "  s->places = places_of(w, s->inner);",
            ]
        lines += [f"  s->{name} = take(work, {size});" for name, size in layout.back_fields]
        lines += self._packed_fields(True)
        turned = self._turned()
        lines += self._scratch(layout.back_scratch, self._copied(True), turned)
        lines.append("}")
        return "\n".join(lines) + "\n\n"

    def _packed_fields(self, back: bool) -> list[str]:
        lines = []
        for weight in self.steps.weights:
            if weight.back != back:
                continue
            depth, columns = weight.term.rows.width, weight.term.width
            if back:
                depth, columns = columns, depth
            lines.append(f"  s->{weight.name} = take(work, {depth} * (int64_t)PADDED({columns}));")
        return lines

    def _copied(self, back: bool) -> str:
        """Numbers of the rows that a product takes."""
        if not self.slotted:
            return "0"
        widths = [self.size]
        if back:
            widths += [term.width for _, term, _ in self.steps.back_pairs]
        return f"s->block * PADDED({max(widths)})"

    def _turned(self) -> str:
        depths = {share.term.rows.width for share in self.layout.combine.gradients.weights}
        found = [f"scratch_for_transposed({depth})" for depth in sorted(depths)]
        text = "0"
        for part in found:
            text = f"larger({text}, {part})"
        return text

    def _scratch(self, fields: Sequence[tuple[str, str]], copied: str, turned: str) -> list[str]:
        """Arrays of one thread; all threads have as many numbers."""
        named = [*fields, ("copied", copied), ("turned", turned)]
        lines = ["  for (int64_t n = 0; n < threads; n++) {"]
        kept = {name for name, _ in self.layout.kept_fields}
        for name, size in named:
            only = "if (!w->keep) " if name in kept else ""
            taken = f"real *here = take(work, {size}); if (n == thread) s->{name} = here;"
            lines.append(f"    {only}{{ {taken} }}")
        return [*lines, "  }"]

    def pack(self, *, back: bool) -> str:
        """Packs the weights of a pass."""
        text = ""
        for weight in self.steps.weights:
            if weight.back != back:
                continue
            stride = self.layout.recurrence.combine.shapes[weight.term.weight][1]
            matrix = f"w->constants[{weight.term.weight}] + {weight.term.column}"
            depth, columns, function = weight.term.rows.width, weight.term.width, "pack_transposed"
            if back:
                depth, columns, function = columns, depth, "pack"
            text += (
                f"  {function}({matrix}, {stride}, {depth}, {columns}, s->{weight.name}, "
                "s->thread, s->threads);\n"
            )
        return text

    def find_rows(self) -> str:
        """Finds the rows of states that nodes see."""
        zeros = (
            "  for (int part = 0; part < PARTS; part++) {\n"
            "    memset(s->state[part] + s->num_rows * SIZE, 0, SIZE * sizeof(real));\n  }\n"
        )
        if self.slotted:
            return zeros + (
                "  for (int64_t n = 0; n < s->inner * COUNT; n++) {\n"
                "    const int64_t p = w->source[n];\n"
                "    s->rows[n] = p < w->num_nodes ? row_at(w, p) : s->num_rows;\n  }\n"
                "  find_places(w, s->inner);\n"
            )
        return zeros + (
            "  for (int64_t r = 0; r < s->inner; r++) {\n"
            "    for (int64_t e = w->first_edge[r]; e < w->first_edge[r + 1]; e++) {\n"
            "      s->rows[e] = row_at(w, w->source[e]);\n      s->target[e] = r;\n    }\n  }\n"
        )

    def find_successors(self) -> str:
        """Finds the nodes that see a row of states."""
        text = "  memset(s->zeros, 0, SIZE * sizeof(real));\n"
        links = "s->inner * COUNT" if self.slotted else "w->num_edges"
        text += f"  order_by_row(s->rows, {links}, s->num_rows + 1, s->out_first, s->out);\n"
        return text + ("  find_seen(w, s->inner);\n" if self.slotted else "")
