"""The documentation of the layers."""

import torch

from graphsent import layers


def test_every_layer_has_an_example():
    for name in layers.__all__:
        member = getattr(layers, name)
        if isinstance(member, type) and issubclass(member, torch.nn.Module):
            assert ">>>" in member.__doc__, name
