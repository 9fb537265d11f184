"""Checks of a cell as a torch module: dtypes, devices, copies, saved weights."""

from __future__ import annotations

import copy
import io
import pickle
import sys
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized
from torch.utils.checkpoint import checkpoint

from graphsent.testing.case import Case, states, trainable

_PRECISIONS = ((torch.float32, 1e-4), (torch.bfloat16, 0.3))


def lower_precision(case: Case, engine: str) -> None:
    """States in float32 and bfloat16 are near those in float64; gradients have the same dtype."""
    cell, (graph, feat, arguments) = case.cell(), _inputs(case)
    exact = cell(graph, feat, engine=engine, **arguments)
    for dtype, tolerance in _PRECISIONS:
        cell = cell.to(dtype)
        x = feat.to(dtype).requires_grad_()
        h = cell(graph, x, engine=engine, **_cast(arguments, dtype))
        case.expect(h.dtype == dtype, f"with parameters of {dtype}, h is of {h.dtype}")
        case.expect_close([h], [exact], f"in {dtype} and float64", tolerance=tolerance)
        h.sum().backward()
        for name, parameter in cell.named_parameters():
            found = dtype if parameter.grad is None else parameter.grad.dtype
            case.expect(found == dtype, f"the gradient of {name}, of {dtype}, is of {found}")
        cell.zero_grad()


def under_autocast(case: Case, engine: str, tolerance: float = 0.1) -> None:
    """Under autocast to bfloat16, states and gradients are near those without.

    The backward pass runs within autocast, and after it.
    """
    cell, (graph, feat, arguments) = case.cell(), _inputs(case)

    def gradients(h: Tensor, feat: Tensor) -> tuple[Tensor, ...]:
        loss = h.double().square().sum()
        inputs = [feat, *trainable(cell).values()]
        return torch.autograd.grad(loss, inputs, allow_unused=True, materialize_grads=True)

    feat.requires_grad_()
    arguments["engine"] = engine
    exact = cell(graph, feat, **arguments)
    expected = gradients(exact, feat)
    cell, arguments = cell.float(), _cast(arguments, torch.float32)
    narrow = feat.detach().float().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = cell(graph, narrow, **arguments)
        within = gradients(cell(graph, narrow, **arguments), narrow)
    case.expect_close([h], [exact], "under autocast", tolerance=0.3)
    names = [f"gradient of {name}" for name in ("feat", *trainable(cell))]
    for found in (within, gradients(h, narrow)):
        case.expect_close(found, expected, "under autocast", names, tolerance)


def no_gradients(case: Case, engine: str) -> None:
    """Without gradients, in inference mode and in eval mode, states are the same."""
    cell, (graph, feat, arguments) = case.cell(), _inputs(case)
    expected = cell(graph, feat, engine=engine, **arguments)
    with torch.no_grad():
        h = cell(graph, feat, engine=engine, **arguments)
    case.expect(not h.requires_grad, "h requires gradients under no_grad")
    with torch.inference_mode():
        inferred = cell.eval()(graph, feat, engine=engine, **arguments)
    for found, what in ((h, "under no_grad"), (inferred, "in inference and eval mode")):
        case.expect(torch.equal(found, expected), f"h differs {what}")


def functional_call(case: Case, engine: str) -> None:
    """``torch.func.functional_call`` runs the cell with the given weights."""
    cell, other = case.cell(), case.cell()
    graph, feat, arguments = _inputs(case)
    weights = {name: value.detach() for name, value in other.named_parameters()}
    options = {**arguments, "engine": engine}
    given = {**weights, **dict(other.named_buffers())}  # which may be random, too
    h = torch.func.functional_call(cell, given, (graph, feat), options)
    same = torch.equal(h, other(graph, feat, **options))
    case.expect(same, "h differs from that of a cell with the weights of functional_call")
    used = not weights or not torch.equal(h, cell(graph, feat, **options))
    case.expect(used, "functional_call with other weights gives the same h")


def copies_and_saved_weights(case: Case, engine: str) -> None:
    """Copies, and new cells with the saved weights, give the same states and have the same repr."""
    cell, (graph, feat, arguments) = case.cell(), _inputs(case)
    expected = cell(graph, feat, engine=engine, **arguments)
    file = io.BytesIO()
    torch.save(cell.state_dict(), file)
    file.seek(0)
    loaded = case.make().double()
    loaded.load_state_dict(torch.load(file, weights_only=True))
    twins = {"a deep copy": copy.deepcopy(cell), "a cell with saved weights": loaded}
    module = sys.modules.get(type(cell).__module__)
    found = getattr(module, type(cell).__name__, None) is type(cell)
    if found and not any(map(is_parametrized, cell.modules())):  # otherwise it cannot be pickled
        twins["a pickled cell"] = pickle.loads(pickle.dumps(cell))
    for name, twin in twins.items():
        h = twin(graph, feat, engine=engine, **arguments)
        case.expect(torch.equal(h, expected), f"{name} gives another h")
        case.expect(repr(twin) == repr(cell), f"{name} is printed as {twin!r}, expected {cell!r}")


def checkpointing(case: Case, engine: str) -> None:
    """``torch.utils.checkpoint`` computes the same gradients."""
    cell, (graph, feat, arguments) = case.cell(), _inputs(case)
    feat.requires_grad_()
    found = []
    for run in (cell, lambda *args, **kw: checkpoint(cell, *args, use_reentrant=False, **kw)):
        h = run(graph, feat, engine=engine, **arguments)
        found.append(torch.autograd.grad(h.square().sum(), [feat]))
    one, other = found
    case.expect_close(one, other, "with and without checkpoints", ["gradient of feat"], 1e-12)


def every_parameter_is_used(case: Case, engine: str) -> None:
    """Each parameter that requires a gradient receives one that is not zero."""
    cell, (graph, feat, arguments) = case.cell(), _inputs(case)
    parts = states(cell, graph, feat.requires_grad_(), engine=engine, **arguments)
    torch.stack([part.square().sum() for part in parts]).sum().backward()
    for name, parameter in trainable(cell).items():
        used = parameter.grad is not None and bool(parameter.grad.ne(0).any())
        case.expect(used, f"{name} has no gradient: is it used?")


def reset_parameters(case: Case) -> None:
    """``reset_parameters`` draws every matrix anew, from the global seed."""
    cell: Any = case.make()
    fresh = {name: value.clone() for name, value in cell.named_parameters()}
    for parameter in cell.parameters():
        nn.init.constant_(parameter, 7.0)
    cell.reset_parameters()
    for name, value in cell.named_parameters():
        case.expect(not value.eq(7.0).any(), f"reset_parameters leaves {name} unchanged")
        differs = value.dim() < 2 or not torch.equal(value, fresh[name])
        case.expect(differs, f"reset_parameters draws the same {name} again")
    torch.manual_seed(0)
    first = case.make().state_dict()
    torch.manual_seed(0)
    for name, value in case.make().state_dict().items():
        case.expect(torch.equal(value, first[name]), f"{name} is not determined by the seed")


def runs_on_cuda(case: Case) -> None:
    """States and gradients on a GPU are those on the CPU; the graph stays on the CPU."""
    cell, (graph, feat, arguments) = case.cell(), _inputs(case)
    found = []
    for device in ("cuda", "cpu"):
        cell = cell.to(device)
        x = feat.detach().to(device).requires_grad_()
        own = {name: value.to(device) for name, value in arguments.items()}
        h = cell(graph, x, **own)
        case.expect(h.device == x.device, f"with inputs on {x.device}, h is on {h.device}")
        parameters = trainable(cell).values()
        grads = torch.autograd.grad(
            h.square().sum(), [x, *parameters], allow_unused=True, materialize_grads=True
        )
        found.append([each.cpu() for each in (h, *grads)])
    names = ["h", *(f"gradient of {name}" for name in ("feat", *trainable(cell)))]
    one, other = found
    case.expect_close(one, other, "on the GPU and on the CPU", names, 1e-9)


def _inputs(case: Case) -> tuple[Any, Tensor, dict[str, Any]]:
    graph = case.small
    return graph, case.feat(graph), dict(case.arguments(graph))


def _cast(arguments: Mapping[str, Any], dtype: torch.dtype) -> dict[str, Any]:
    return {
        name: value.to(dtype) if isinstance(value, Tensor) else value
        for name, value in arguments.items()
    }
