"""Parameters are drawn from the ranges that the papers and docstrings of cells give."""

import pytest

from graphsent import cells

IN, HIDDEN, ATTENTION_FEATS = 300, 200, 100  # so many that some value is near each bound
GATES = {"W": 1 / IN, "U": 1 / HIDDEN, "U_f": 1 / HIDDEN}
RESET = {"W": 1 / IN, "U": 1 / HIDDEN, "U_r": 1 / HIDDEN, "U_z": 1 / HIDDEN}
ATTENTION = {
    "attention.W_c": 1 / HIDDEN,
    "attention.W_a": 1 / ATTENTION_FEATS,
    "attention.w": 1 / HIDDEN,
}
SQUARE = 6 / (HIDDEN + HIDDEN)
UP = {"W": 6 / (HIDDEN + IN), "U": SQUARE, "V": SQUARE, "V_o": SQUARE}
BOTTOM_UP = {**UP, "U.bias": 6 / HIDDEN}
TOP_DOWN = {**UP, "W.bias": 6 / HIDDEN}
ROOT = {"root_h": SQUARE, "root_c": SQUARE, "root_h.bias": 6 / HIDDEN, "root_c.bias": 6 / HIDDEN}

# The square of the bound of each weight, or of another parameter that is not zero.
CASES = {
    "ChildSumTreeLSTM": (cells.ChildSumTreeLSTM, {}, GATES),
    "NaryTreeLSTM": (cells.NaryTreeLSTM, {"num_children": 3}, {"W": 1 / IN, "U": 1 / HIDDEN}),
    "ChildSumTreeGRU": (cells.ChildSumTreeGRU, {}, RESET),
    "RecursiveCell": (cells.RecursiveCell, {"num_children": 3}, {"W": 1 / IN, "U": 1 / HIDDEN}),
    "TreeNet": (cells.TreeNet, {}, {"encoder.W": 1 / IN, "compositor.W": 1 / HIDDEN}),
    "AttentiveTreeLSTM": (
        cells.AttentiveTreeLSTM,
        {"attention_feats": ATTENTION_FEATS},
        {**GATES, **ATTENTION, "attention.q": 0.05**2},
    ),
    "AttentiveTreeGRU, dynamic": (
        cells.AttentiveTreeGRU,
        {"attention": "dynamic", "attention_feats": ATTENTION_FEATS},
        {**RESET, **ATTENTION},
    ),
    "LexicalizedTreeLSTM": (
        cells.LexicalizedTreeLSTM,
        {},
        {**BOTTOM_UP, "lexicalizer.W": 6 / (IN + IN), "lexicalizer.W.bias": 6 / IN},
    ),
    "TopDownTreeLSTM": (cells.TopDownTreeLSTM, {}, TOP_DOWN),
    "TopDownTreeLSTM, unshared": (cells.TopDownTreeLSTM, {"td_share_input": False}, TOP_DOWN),
    "BiTreeLSTM": (
        cells.BiTreeLSTM,
        {"td_root": "bu_root", "lexicalized": False},
        {
            **{f"bottom_up.{name}": square for name, square in BOTTOM_UP.items()},
            **{f"top_down.{name}": square for name, square in TOP_DOWN.items()},
            **ROOT,
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_ranges(name):
    kind, options, squares = CASES[name]
    for parameter, values in kind(IN, HIDDEN, **options).named_parameters():
        bound = squares.get(parameter.removesuffix(".weight"), 0) ** 0.5
        assert 0.95 * bound <= values.abs().max() <= bound, parameter


@pytest.mark.parametrize(
    "kind", [cells.ChildSumTreeLSTM, cells.NaryTreeLSTM, cells.AttentiveTreeLSTM]
)
def test_forget_bias(kind):
    bias = kind(IN, HIDDEN, forget_bias=1.5).W.bias
    assert bias[-HIDDEN:].eq(1.5).all()
    assert not bias[:-HIDDEN].any()


def test_forget_bias_with_affine_leaves():
    cell = cells.NaryTreeLSTM(IN, HIDDEN, leaf="affine", forget_bias=1.5)
    assert cell.U.bias[-2 * HIDDEN :].eq(1.5).all()  # of two children
    assert not cell.U.bias[: -2 * HIDDEN].any()
    assert not cell.W.bias.any()
