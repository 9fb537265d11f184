"""Models of format version 1, with encoder and head parameters side by side, still load.

``models_of_format_1.json`` has what the last version of that format wrote to ``config.json``, the
shapes of the tensors by name, and the models' predictions on ``TREES`` with the weights of
:func:`filled`.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from graphsent.models import MODELS, TreePair, load_pretrained
from graphsent.trees import ParseList, Tree
from graphsent.trees.nbest import Candidate
from graphsent.vocabulary import Vocabulary

CASES = json.loads(Path(__file__).with_name("models_of_format_1.json").read_text())
TREES = [
    Tree.from_string("(3 (2 a) (3 (3 good) (2 film)))"),
    Tree.from_string("(1 (2 the) (1 (1 (2 film) (2 is)) (1 dull)))"),
]
DIGITS = 1e-5


def filled(name, shape):
    """Weights that depend only on the last part of a parameter's name and its shape."""
    first = sum(map(ord, name.rpartition(".")[2])) % 7
    numbers = torch.arange(math.prod(shape), dtype=torch.float64)
    return torch.sin(numbers * 1.3 + first).mul(0.5).reshape(shape)


def of_roots(predictions):
    return np.concatenate([each.probabilities[each.root] for each in predictions])


def said(model):
    if model.examples == "lists":
        candidates = tuple(Candidate(tree, -float(rank)) for rank, tree in enumerate(TREES))
        return model.predict([ParseList(candidates)])[0].scores
    found = model.predict([TreePair(*TREES)] if model.examples == "pairs" else TREES)
    if isinstance(found, np.ndarray):
        return found
    return found[0].probabilities if model.examples == "pairs" else of_roots(found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["config"]["model"])
def test_a_model_of_format_1_predicts_the_same(case, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(case["config"]))
    Vocabulary(["a", "good", "film", "dull", "the", "is"]).save(tmp_path / "vocabulary.json")
    tensors = {name: filled(name, shape) for name, shape in case["tensors"].items()}
    save_file(tensors, tmp_path / "model.safetensors")
    model = load_pretrained(tmp_path)
    np.testing.assert_allclose(said(model), case["predicted"], rtol=0, atol=DIGITS)
    if "encoded" in case:
        np.testing.assert_allclose(
            model.encode(TREES).flatten(), case["encoded"], rtol=0, atol=DIGITS
        )
    model.save_pretrained(tmp_path / "again")
    np.testing.assert_array_equal(said(load_pretrained(tmp_path / "again")), said(model))


def test_every_kind_of_model_is_covered():
    assert {case["config"]["model"] for case in CASES} == set(MODELS)
