"""What a run of a recurrence in torch computes for each level, and what for all levels at once."""

from __future__ import annotations

from graphsent.propagation.recurrence.differentiation import differentiate
from graphsent.propagation.recurrence.expressions import Domain, depending, reached
from graphsent.propagation.recurrence.recurrence import Recurrence


class Program:
    """The values of a recurrence and their gradients, by when they are computed.

    Attributes:
        common: those that all nodes share.
        forward: the others of the forward pass, once a level.
        given: inputs and states that the backward pass reads.
        kept: what else of the forward pass it reads.
        given_gradients: of the states.
        coefficients: of the backward pass, what depends on the forward pass alone; at once.
        read: what of these the walk back reads.
        back: what the walk back computes, once a level.
        collected: those of them that are read behind it.
        behind: all others, at once.
    """

    def __init__(self, recurrence: Recurrence) -> None:
        traced = recurrence.combine
        self.gradients = gradients = differentiate(traced.expressions, traced.results)
        forward = reached(ref.value for part in traced.results for ref in part)
        wanted = [*gradients.values(), *(share.term.rows for share in gradients.weights)]
        everything = reached([*wanted, *forward])
        self.common = [value for value in everything if value.domain == Domain.CONSTANT]
        self.forward = [value for value in forward if value.domain != Domain.CONSTANT]
        later = [value for value in everything if value not in set(forward)]
        used = {part for value in later for part in value.inputs()} | set(wanted)
        self.given = [v for v in self.forward if v in used and v.op in ("input", "state")]
        self.kept = [v for v in self.forward if v in used and v not in self.given]
        varying = depending(everything, ("gradient",))
        ends = {share.ref.value for shares in gradients.states.values() for share in shares}
        self.given_gradients = [value for value in everything if value.op == "gradient"]
        self.coefficients = [value for value in later if value not in varying]
        self.back = [value for value in reached(ends) if value in varying]
        on_path = set(self.back)
        used = {part for value in self.back for part in value.inputs()} | ends
        self.read = [v for v in everything if v in used - on_path and v not in self.common]
        self.behind = [value for value in later if value in varying - on_path]
        used = {part for value in self.behind for part in value.inputs()} | set(wanted)
        self.collected = [v for v in self.back if v in used and v.op != "gradient"]


def program_of(recurrence: Recurrence) -> Program:
    """The program of a recurrence, which is kept with it."""
    known = recurrence.derived
    if "program" not in known:
        known["program"] = Program(recurrence)
    return known["program"]
