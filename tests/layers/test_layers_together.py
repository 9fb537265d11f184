"""The layers of a DCNN in sequence, on a batch large enough for all code paths."""

import pytest
import torch
from sentence_batches import batch_of, sentences
from sentence_references import dynamic_k, folding, k_max
from torch.nn.functional import conv1d, pad

from graphsent.layers import BiasActivation, DynamicKMaxPooling, WideConv1d

ROWS, WIDTHS, MAPS, K_TOP = 16, (6, 4), (3, 4), 3
LENGTHS = [30, 1, 0, 17, 8, 2, 45, 0, 5, 21, 12, 3, 9, 33, 26, 40]


class Network(torch.nn.Module):
    def __init__(self, method):
        super().__init__()
        sizes = ((ROWS, 1, *MAPS[:1], WIDTHS[0]), (ROWS // 2, *MAPS, WIDTHS[1]))
        self.convolutions = torch.nn.ModuleList(
            WideConv1d(rows * before, rows * maps, width, rows=rows, fold=True, method=method)
            for rows, before, maps, width in sizes
        )
        self.activations = torch.nn.ModuleList(
            BiasActivation(convolution.out_channels) for convolution in self.convolutions
        )
        for activation in self.activations:
            torch.nn.init.normal_(activation.bias)

    def forward(self, x, lengths):
        num_words = lengths
        for layer, convolution in enumerate(self.convolutions):
            x, lengths = convolution(x, lengths)
            pooling = DynamicKMaxPooling(K_TOP, layer + 1, 2)
            x, lengths = pooling(x, lengths, num_words)
            x = self.activations[layer](x, lengths)
        return x.flatten(1)

    def reference(self, part):
        """One sentence, with torch's convolution and sorted lists."""
        if not part.shape[1]:
            return part.new_zeros(self.convolutions[1].out_channels * K_TOP)
        x = part
        for layer, convolution in enumerate(self.convolutions):
            margin = convolution.width - 1
            x = conv1d(x, convolution.weight, padding=margin, groups=convolution.rows)
            x = folding(x, MAPS[layer])
            x, _ = k_max(x, dynamic_k(part.shape[1], K_TOP, layer + 1, 2))
            x = torch.tanh(x + self.activations[layer].bias[:, None])
        return pad(x, (0, K_TOP - x.shape[1])).flatten()


@pytest.mark.parametrize("method", ["auto", "fft"])
def test_a_batch_is_its_sentences(method):
    network = Network(method).double()
    parts = sentences(LENGTHS, ROWS)
    y = network(*batch_of(parts, margin=2))
    expected = torch.stack([network.reference(part) for part in parts])
    torch.testing.assert_close(y, expected, rtol=0, atol=1e-12)
    signal = torch.randn_like(y)
    inputs = [part for part in parts if part.shape[1]] + list(network.parameters())
    found = torch.autograd.grad((y * signal).sum(), inputs)
    for one, other in zip(
        found, torch.autograd.grad((expected * signal).sum(), inputs), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


def test_batch_and_padding_do_not_matter():
    network = Network("auto").double()
    parts = sentences(LENGTHS, ROWS)
    x, lengths = batch_of(parts)
    whole = network(x, lengths)
    order = torch.randperm(len(parts))
    for chosen in (order, order[:9], order[:2]):
        wider = pad(x[chosen], (0, 11), value=torch.nan)
        y = network(wider, lengths[chosen])
        torch.testing.assert_close(y, whole[chosen], rtol=0, atol=1e-12)
