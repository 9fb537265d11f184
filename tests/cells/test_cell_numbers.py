"""Numbers computed by hand: parameter counts of the papers and states of tiny trees."""

import pytest
import torch
from cell_structures import bottom_up, sibling, top_down
from torch import nn

from graphsent import cells
from graphsent._dgl import dgl

PAIR = [[1, 2], [], []]  # a root with two leaves


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def constant(module: nn.Module, weight: float, bias: float) -> nn.Module:
    for name, parameter in module.double().named_parameters():
        nn.init.constant_(parameter, bias if name.endswith("bias") else weight)
    return module


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        # Tai et al. count two biases per gate: 315,840 = 315,168 + 4 * 168 and so on.
        (cells.ChildSumTreeLSTM(300, 168), 315_840 - 4 * 168),
        (cells.ChildSumTreeLSTM(300, 150, gate_output=False), 203_400 - 3 * 150),
        (cells.NaryTreeLSTM(300, 150, leaf="affine"), 316_800 - 5 * 150),
        (cells.NaryTreeLSTM(300, 142, leaf="affine", gate_output=False), 205_190 - 4 * 142),
        (cells.NaryTreeLSTM(300, 150), 405_600),
        (cells.HeadLexicalizer(300), 180_300),
        (cells.LexicalizedTreeLSTM(300, 150, lexicalized=False), 563_250),
        (cells.LexicalizedTreeLSTM(300, 150), 563_250 + 180_300),
        # The authors' code allocates one more, unused matrix: 495,600.
        (cells.TopDownTreeLSTM(300, 150), 495_600 - 150 * 150),
        (cells.TopDownTreeLSTM(300, 150, td_share_input=False), 676_200),
        (cells.BiTreeLSTM(300, 150), 1_216_650),
        (cells.TreeNet(300, 100), 90_300 + 60_300),
        (cells.TreeNet(100, 50), 30_300),
        (cells.ChildSumTreeGRU(300, 150), 3 * (300 * 150 + 150 * 150 + 150)),
        (cells.RecursiveCell(300, 150), 300 * 150 + 2 * 150 * 150 + 150),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else value,
)
def test_parameter_counts_of_cells(cell, expected):
    assert count(cell) == expected


def test_parameter_counts_of_classifiers():
    readout = nn.Sequential(nn.Linear(3 * 150, 128), nn.ReLU(), nn.Linear(128, 5))
    assert count(cells.BiTreeLSTM(300, 150)) + count(readout) == 1_275_023
    assert count(cells.TreeNet(300, 100)) + count(nn.Linear(100, 2)) == 150_802


def test_weights_of_two_children():
    attention = cells.ChildAttention(2, 2, static=True).double()
    with torch.no_grad():
        attention.W_c.weight.copy_(torch.eye(2))
        attention.W_a.weight.copy_(torch.eye(2))
        attention.w.weight.copy_(torch.tensor([[1.0, 2.0]]))
        attention.q.copy_(torch.tensor([0.5, -0.5]))
    h = torch.eye(2, dtype=torch.float64)
    expected = torch.tensor([-0.019086, 1.386351], dtype=torch.float64)
    torch.testing.assert_close(attention.scores(h, attention.query()), expected, rtol=0, atol=1e-6)
    expected = torch.tensor([[0.196955, 0.803045]], dtype=torch.float64)
    torch.testing.assert_close(attention(h.unsqueeze(0)), expected, rtol=0, atol=1e-6)


def test_bidirectional_tree_lstm_of_two_leaves():
    cell = constant(cells.BiTreeLSTM(1, 1), 0.2, 0.1)
    feat = torch.tensor([[9.0], [1.0], [-1.0]], dtype=torch.float64)
    graph = bottom_up(PAIR).graph()
    h, c, weights = cell(graph, feat, return_cell=True, return_head_weights=True)
    expected_h = [[0.070024, 0.030446], [0.095241, 0.118605], [-0.022473, -0.008175]]
    expected_c = [[0.130993, 0.057784], [0.167342, 0.205259], [-0.047344, -0.017188]]
    assert_close(h, expected_h)
    assert_close(c, expected_c)
    assert h[1:, 1].mean().item() == pytest.approx(0.055215, abs=1e-6)
    assert_close(weights, [[0.524979], [1 - 0.524979]])
    assert_close(cell.bottom_up.lexicalizer(graph, feat)[0], [0.049958])
    swapped = cell(graph, feat[[0, 2, 1]])
    assert (swapped[0] - h[0]).abs().min() > 1e-3


def test_top_down_tree_lstm_of_two_leaves():
    cell = constant(cells.TopDownTreeLSTM(1, 1), 0.2, 0.1)
    feat = torch.tensor([[0.04995837], [1.0], [-1.0]], dtype=torch.float64)
    assert_close(cell(top_down(PAIR).graph(), feat), [[0.030446], [0.118605], [-0.008175]])


def test_tree_net_of_three_words():
    cell = constant(cells.TreeNet(1, 1), 0.5, 0.1)
    # (S (NP (D the) (N cat)) (V sat)): S, NP, D, N, V and the tokens in order
    structure = sibling([[1, 4], [2, 3], [], [], []])
    feat = torch.tensor([[9.0]] * 5 + [[1.0], [-1.0], [0.5]], dtype=torch.float64)
    h, c = cell(structure.graph(), feat, return_cell=True)
    assert_close(
        torch.cat([h, c], 1),
        [
            [0.031832, 0.059849],
            [0.005706, 0.010841],
            [0.104283, 0.191312],
            [0.010924, 0.020598],
            [0.060427, 0.112391],
            [0.215320, 0.346749],
            [-0.060722, -0.152478],
            [0.114274, 0.197324],
        ],
    )


def test_two_hundred_children_are_read_one_after_another():
    cell = cells.TreeNet(3, 4).double()
    structure = sibling([list(range(1, 201)), *([] for _ in range(200))])
    feat = torch.randn(structure.num_nodes, 3, dtype=torch.float64)
    h, c = cell(structure.graph(), feat, return_cell=True)
    state = (torch.zeros(1, 4, dtype=torch.float64),) * 2
    for token in feat[201:].split(1):
        state = cell.compositor(cell.encoder(token), state)
    root = cell.compositor(state, (torch.zeros_like(state[0]),) * 2)
    torch.testing.assert_close(torch.cat([h[:1], c[:1]]), torch.cat(root))


def test_dgl_reverse_of_a_bottom_up_graph_is_top_down():
    graph = dgl.reverse(bottom_up(PAIR).graph(), copy_edata=True)
    cell, feat = cells.TopDownTreeLSTM(2, 3), torch.randn(3, 2)
    assert torch.equal(cell(graph, feat), cell(top_down(PAIR).graph(), feat))


def assert_close(found: torch.Tensor, expected: list) -> None:
    expected_tensor = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(found.detach(), expected_tensor, rtol=0, atol=1e-6)
