"""The checks of graphsent.testing find and name the mistakes in a cell."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrize import register_parametrization

from graphsent._dgl import dgl
from graphsent.cells import ChildSumTreeLSTM, SlottedCell, TreeCell
from graphsent.graphs import constituency_graph
from graphsent.testing import cell_checks, check_cell


class Sum(TreeCell):
    """A cell without mistakes."""

    state_names = ("h",)

    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.W = nn.Linear(in_feats, hidden_feats)
        self.U = nn.Linear(hidden_feats, hidden_feats)

    def project(self, feat):
        return self.W(feat)

    def start(self, x):
        return (torch.tanh(x),)

    def combine(self, children, x):
        (h,) = children
        return (torch.tanh(x + self.U(h.sum(1))),)


class MixesNodes(Sum):
    def combine(self, children, x):
        return super().combine(children, x - x.mean(0))


class SeesTheOrder(Sum):
    def combine(self, children, x):
        return super().combine((children[0][:, :1],), x)


class SeesTheOrderOfThree(Sum):
    def combine(self, children, x):
        h = children[0]
        return super().combine((h[:, :1] if h.shape[1] == 3 else h,), x)


class Random(Sum):
    def combine(self, children, x):
        return super().combine(children, x + torch.rand_like(x))


class Remembers(Sum):
    calls = 0

    def combine(self, children, x):
        self.calls += 1
        return super().combine(children, x * self.calls)


class RemembersTheFirstBatch(Sum):
    center = None

    def combine(self, children, x):
        if self.center is None:
            self.center = x.detach().mean(0)
        return super().combine(children, x - self.center.to(x.dtype))


class CountsInABuffer(Sum):
    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.register_buffer("calls", torch.zeros(()))

    def combine(self, children, x):
        self.calls += 1
        return super().combine(children, x * self.calls)


class HasNoUse(Sum):
    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.V = nn.Linear(hidden_feats, hidden_feats)


class CutsTheGradient(Sum):
    def combine(self, children, x):
        return super().combine((children[0].detach(),), x)


class ThreeParts(HasNoUse):
    """Its V is only in a part of the state on which h does not depend."""

    state_names = ("h", "c", "m")

    def start(self, x):
        return torch.tanh(x), x, x

    def combine(self, children, x):
        h, c, m = (part.sum(1) for part in children)
        return torch.tanh(x + self.U(h)), x + c, self.V(m)


class SeesTheOrderInItsMemory(Sum):
    state_names = ("h", "m")

    def start(self, x):
        return torch.tanh(x), x

    def combine(self, children, x):
        h, m = children
        return *super().combine((h,), x), m[:, 0]


class CutsTheGradientOfItsMemory(SeesTheOrderInItsMemory):
    def combine(self, children, x):
        h, m = children
        return *Sum.combine(self, (h,), x), m.detach().sum(1)


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient


class HasAWrongGradient(Sum):
    def combine(self, children, x):
        return super().combine(children, Round.apply(x))


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x.detach() * gradient


class HasAWrongSecondGradient(Sum):
    def combine(self, children, x):
        return super().combine(children, Square.apply(x))


class HidesAWeight(Sum):
    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.scale = torch.rand(())

    def combine(self, children, x):
        return super().combine(children, x * self.scale)


class ForgetsTheDtype(Sum):
    def start(self, x):
        return (torch.tanh(x.double()).float().to(x.dtype) * 1.001,)

    def project(self, feat):
        return super().project(feat.float().to(feat.dtype) + 1e-3 * (feat.dtype == torch.float32))


class IsOfLogarithms(Sum):
    def start(self, x):
        return (torch.relu(x).log(),)


class ResetsAPart(Sum):
    def reset_parameters(self):
        self.W.reset_parameters()


class ChangesTheGraph(Sum):
    def extra_inputs(self, graph, device):
        graph.ndata["h"] = torch.zeros(graph.num_nodes(), 4)
        return {}


@pytest.mark.parametrize(
    ("cell", "check", "message"),
    [
        (MixesNodes, "batch_equals_single_graphs", "does it use rows of other nodes"),
        (SeesTheOrder, "numbering_does_not_matter", "a SlottedCell has them in their slots"),
        (SeesTheOrderOfThree, "numbering_does_not_matter", "a SlottedCell has them in their slots"),
        (SeesTheOrderInItsMemory, "numbering_does_not_matter", "m differs by"),
        (Random, "agrees_with_dgl-compiled", "or combine random"),
        (RemembersTheFirstBatch, "batch_equals_single_graphs", "in a batch and alone"),
        (Remembers, "agrees_with_dgl-torch", "keep something from one call"),
        (CountsInABuffer, "agrees_with_dgl-torch", "change a parameter or buffer in place"),
        (HasNoUse, "every_parameter_is_used-dgl", r"V\.weight has no gradient"),
        (HasAWrongGradient, "gradients_equal_finite_differences", "Jacobian"),
        (HasAWrongSecondGradient, "second_gradients_equal_finite_differences", "Jacobian"),
        (CutsTheGradientOfItsMemory, "gradients_equal_finite_differences", "Jacobian"),
        (HidesAWeight, "copies_and_saved_weights-dgl", "a cell with saved weights gives another h"),
        (ForgetsTheDtype, "lower_precision-levels", "in torch.float32 and float64: h differs by"),
        (IsOfLogarithms, "agrees_with_dgl-torch", "h is not finite$"),
        (ResetsAPart, "reset_parameters", r"reset_parameters leaves U\.weight unchanged"),
        (ChangesTheGraph, "graph_is_left_as_it_was-levels", "the data of the graph: h$"),
    ],
)
def test_a_mistake_is_found(cell, check, message):
    (found,) = [each for each in cell_checks(cell) if str(each) == check]
    with pytest.raises(AssertionError, match=f"^{cell.__name__}: .*{message}"):
        found()


class Scaled(Sum):
    input_names = ("x", "scale")

    def extra_inputs(self, graph, device, scale):
        return {"scale": scale}

    def forward(self, graph, feat, scale, **options):
        self.check_call(graph, feat)
        return self.run(graph, feat, scale=scale, **options)[0]

    def start(self, x, scale):
        return super().start(x * scale)

    def combine(self, children, x, scale):
        return super().combine(children, x * scale)


class CutsTheGradientOfItsArgument(Scaled):
    def extra_inputs(self, graph, device, scale):
        return {"scale": scale.detach()}


def scale(graph):
    return {"scale": torch.rand(graph.num_nodes(), 1)}


def test_arguments():
    check_cell(Scaled, arguments=scale)
    with pytest.raises(AssertionError, match="gradients_equal_finite_differences: CutsTheGradient"):
        check_cell(CutsTheGradientOfItsArgument, arguments=scale)


def test_a_cut_gradient_is_found():
    with pytest.raises(AssertionError, match="gradients_equal_finite_differences: CutsTheGradient"):
        check_cell(CutsTheGradient)


class IsLinear(Sum):
    def __init__(self, in_feats, hidden_feats):
        TreeCell.__init__(self, in_feats, hidden_feats)

    def project(self, feat):
        return feat[:, :1].expand(-1, self.hidden_feats)

    def start(self, x):
        return (x,)

    def combine(self, children, x):
        return (children[0].sum(1) + x,)


class HasRandomBuffers(Sum):
    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.register_buffer("mixture", torch.randn(hidden_feats, hidden_feats))

    def combine(self, children, x):
        return (torch.tanh(x + self.U(children[0].sum(1)) @ self.mixture),)


class HasAFrozenWeight(Sum):
    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        self.U.weight.requires_grad_(False)


class Symmetric(nn.Module):
    def forward(self, weight):
        return weight + weight.T


class HasAParametrizedWeight(Sum):
    def __init__(self, in_feats, hidden_feats):
        super().__init__(in_feats, hidden_feats)
        register_parametrization(self.U, "weight", Symmetric())


class AttendsToChildren(Sum):
    def combine(self, children, x):
        keys, h = self.U(children[0]).unsqueeze(1), children[0].unsqueeze(1)  # of a single head
        h = nn.functional.scaled_dot_product_attention(x[:, None, None], keys, h)
        return (torch.tanh(x + h.flatten(1)),)


@pytest.mark.parametrize(
    "cell",
    [
        *(Sum, ThreeParts, IsLinear, HasRandomBuffers, HasAFrozenWeight, HasAParametrizedWeight),
        AttendsToChildren,
    ],
)
def test_a_cell_without_mistakes_passes_and_the_seed_stays(cell):
    before = torch.random.get_rng_state()
    check_cell(cell)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_user_defined_graphs():
    chain = dgl.graph((torch.arange(1, 15), torch.arange(14)))
    check_cell(Sum, graphs={"long chain": chain})
    with pytest.raises(ValueError, match="expected at least one graph"):
        cell_checks(Sum, graphs={"empty": dgl.graph(([], []))})


def test_graphs_of_int32():
    graph = constituency_graph("(3 (2 a) (3 (3 lovely) (2 film)))")
    check, *_ = cell_checks(ChildSumTreeLSTM, graphs={"tree": graph.int()})
    check()


def test_what_is_checked_depends_on_the_cell():
    class Ternary(SlottedCell):
        no_initial_state = "it has none"

        def __init__(self, in_feats, hidden_feats):
            super().__init__(in_feats, hidden_feats, num_slots=3)

    names = {check.name.partition("-")[0] for check in cell_checks(Sum)}
    others = {check.name.partition("-")[0] for check in cell_checks(Ternary)}
    assert names - others == {"agrees_with_dgl_from_initial_states"}
    assert "reset_parameters" not in names
    assert ("runs_on_cuda" in names) == torch.cuda.is_available()
