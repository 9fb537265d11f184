"""The examples in the documentation of the layers run."""

import doctest
import importlib
import pkgutil

import pytest
import torch

from graphsent import layers

MODULES = [module.name for module in pkgutil.iter_modules(layers.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"graphsent.layers.{name}")
    assert doctest.testmod(module).failed == 0


def test_every_layer_has_an_example():
    for name in layers.__all__:
        member = getattr(layers, name)
        if isinstance(member, type) and issubclass(member, torch.nn.Module):
            assert ">>>" in member.__doc__, name
