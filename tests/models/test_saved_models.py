"""Saving and loading: equal afterwards, atomic, and with clear errors."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
import torch
from strategies import random_tree
from torch.nn.utils import prune

from graphsent.errors import ModelError
from graphsent.models import NBoW, Sentence, TreeLSTMClassifier, load_pretrained
from graphsent.models.base import storage
from graphsent.parsing import TreeSource
from graphsent.vocabulary import Vocabulary

VOCAB = Vocabulary(["a", "b", "c"])
TREES = [random_tree(random.Random(seed), 5, 2, words=VOCAB.words[1:]) for seed in range(4)]


NAMES = ["bad", "fair", "good"]
MODELS = {
    "nbow": lambda: NBoW(VOCAB, 3, 4, label_names=NAMES),
    "nary": lambda: TreeLSTMClassifier(VOCAB, 3, 5, 4, label_names=NAMES),
    "affine": lambda: TreeLSTMClassifier(VOCAB, 3, 5, 4, leaf="affine"),
    "childsum": lambda: TreeLSTMClassifier(VOCAB, 3, 5, 4, cell="childsum", sparse_embedding=True),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_is_the_saved_one(name, tmp_path):
    model = MODELS[name]()
    model.save_pretrained(tmp_path / "model")
    loaded = load_pretrained(tmp_path / "model")
    assert type(loaded) is type(model)
    assert loaded.config == model.config
    assert loaded.vocab == model.vocab
    assert loaded.label_names == model.label_names
    assert not loaded.training
    for ours, theirs in zip(model.predict(TREES), loaded.predict(TREES), strict=True):
        np.testing.assert_array_equal(ours.probabilities, theirs.probabilities)
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        "config.json",
        "vocabulary.json",
        "model.safetensors",
    }


@pytest.mark.parametrize("load", [load_pretrained, NBoW.from_pretrained])
def test_a_model_that_is_replaced_while_it_is_loaded(load, tmp_path, monkeypatch):
    first, second = (MODELS["nbow"]() for _ in range(2))
    first.save_pretrained(tmp_path / "model")
    original, calls = storage.sha256, []

    def sha256(path):
        calls.append(path)
        if len(calls) == 1:  # the configuration has been read
            second.save_pretrained(tmp_path / "model")
        return original(path)

    monkeypatch.setattr(storage, "sha256", sha256)
    loaded = load(tmp_path / "model")
    assert torch.equal(loaded.embedding.weight, second.embedding.weight)


@pytest.mark.parametrize("tokenizer", ["treebank", "whitespace", "tweet"])
@pytest.mark.parametrize("lower_fallback", [True, False])
def test_how_text_is_read_is_saved(tokenizer, lower_fallback, tmp_path):
    vocab = Vocabulary(["film", "good", ".", "-LRB-", "a\\/b"], lower_fallback=lower_fallback)
    model = NBoW(vocab, 2, 4)
    assert model.tokenizer == "treebank"
    model.tokenizer = tokenizer
    model.save_pretrained(tmp_path / "model")
    loaded = load_pretrained(tmp_path / "model")
    assert loaded.tokenizer == tokenizer
    assert loaded.vocab == vocab
    expected = {
        "treebank": ["Film", "-LRB-", "a\\/b", "-LRB-", "2", "."],
        "whitespace": ["Film", "(", "a/b", "(2."],
        "tweet": ["film", "(", "a", "/", "b", "(", "2", "."],
    }
    assert loaded.predict(["Film ( a/b (2."])[0].tree.words == expected[tokenizer]
    known = tokenizer == "tweet" or lower_fallback
    assert (loaded.collate(["Film"]).tokens.item() == vocab["film"]) is known


def test_words_and_trees_are_never_tokenized():
    given = [["film."], Sentence(["film."]), "(3 (2 film.) (2 good!))"]
    words = [each.tree.words for each in NBoW(VOCAB, 2, 4).predict(given)]
    assert words == [["film."], ["film."], ["film.", "good!"]]


def test_older_models_read_text_as_before(tmp_path):
    model = NBoW(Vocabulary(["film"]), 2, 4)
    model.save_pretrained(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert config.pop("tokenizer") == "treebank"
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    loaded = load_pretrained(tmp_path / "model")
    assert loaded.predict(["Film. (film)"])[0].tree.words == ["Film.", "(film)"]
    assert loaded.collate(["Film"]).tokens.tolist() == [0]


def test_tokenizers_are_for_models_of_words(tmp_path):
    with pytest.raises(ModelError, match="unknown tokenizer 'x': expected one of treebank, tweet"):
        NBoW(VOCAB, 2, 4).tokenizer = "x"
    model = TreeLSTMClassifier(VOCAB, 2, 5, 4)
    assert model.tokenizer is None
    model.save_pretrained(tmp_path / "model")
    assert "tokenizer" not in json.loads((tmp_path / "model" / "config.json").read_text())


def test_saving_replaces_an_older_model_and_nothing_else(tmp_path):
    for size in (4, 6):
        NBoW(VOCAB, 2, size).save_pretrained(tmp_path / "model")
    assert load_pretrained(tmp_path / "model").config["embedding_dim"] == 6
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("mine")
    with pytest.raises(ModelError, match=r"holds other files \(todo\.txt\)"):
        NBoW(VOCAB, 2, 4).save_pretrained(tmp_path / "notes")
    assert (tmp_path / "notes" / "todo.txt").read_text() == "mine"


def test_a_failure_while_writing_leaves_the_old_model(tmp_path, monkeypatch):
    NBoW(VOCAB, 2, 4).save_pretrained(tmp_path / "model")

    def fail(*_args, **_kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(storage, "save_tensors", fail)
    with pytest.raises(OSError, match="disk full"):
        NBoW(VOCAB, 2, 6).save_pretrained(tmp_path / "model")
    monkeypatch.undo()
    assert load_pretrained(tmp_path / "model").config["embedding_dim"] == 4
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.fixture
def saved(tmp_path):
    TreeLSTMClassifier(VOCAB, 2, 5, 4).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_foreign_and_missing_directories(tmp_path, saved):
    with pytest.raises(ModelError, match=r"no saved model: .*nowhere is not a directory"):
        load_pretrained(tmp_path / "nowhere")
    (saved / "vocabulary.json").unlink()
    with pytest.raises(ModelError, match=r"it has no vocabulary\.json"):
        load_pretrained(saved)


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "model.safetensors"])
def test_a_truncated_file_is_named(saved, name):
    content = (saved / name).read_bytes()
    (saved / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelError, match=name.replace(".", r"\.")):
        load_pretrained(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": 99}, "format version 99"),
        ({"format": "other"}, "not written by graphsent"),
        ({"model": "mystery"}, "unknown model 'mystery': expected one of"),
        ({"arguments": {"num_classes": 2, "size": 3}}, "wrong arguments of TreeLSTMClassifier"),
        ({"arguments": {"num_classes": 3, "embedding_dim": 5, "hidden": 4}}, "has shape"),
        ({"model": "nbow", "arguments": {"num_classes": 2}}, "does not fit its config"),
    ],
)
def test_a_mismatched_config_is_explained(saved, changes, message):
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps({**config, **changes}))
    with pytest.raises(ModelError, match=message):
        load_pretrained(saved)


def test_a_model_of_another_class_is_rejected(saved):
    with pytest.raises(ModelError, match="expected a model 'nbow' for NBoW, got 'treelstm'"):
        NBoW.from_pretrained(saved)


def test_numbers_of_numpy_are_saved(tmp_path):
    model = NBoW(VOCAB, np.array([0, 1]).max() + 1, np.int64(4), dropout=np.float32(0.5))
    model.save_pretrained(tmp_path / "model")
    assert NBoW.from_pretrained(tmp_path / "model").config == model.config
    assert model.config["num_classes"] == 2


def test_arguments_that_json_cannot_hold_are_not_saved(tmp_path):
    model = NBoW(VOCAB, 2, 4)
    model._arguments["dropout"] = np.float32(0.5)
    with pytest.raises(ModelError, match=r"argument dropout=.* is not a JSON value"):
        model.save_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_word_vectors_in_half_precision(tmp_path):
    model = NBoW(VOCAB, 3, 4)
    model.save_pretrained(tmp_path / "model", half_words=True)
    saved = storage.read_model(tmp_path / "model").tensors
    assert {name: each.dtype for name, each in saved.items()} == {
        "embedding.weight": torch.float16,
        "output.weight": torch.float32,
        "output.bias": torch.float32,
    }
    loaded = load_pretrained(tmp_path / "model")
    assert {each.dtype for each in loaded.parameters()} == {torch.float32}
    torch.testing.assert_close(loaded.embedding.weight, model.embedding.weight.half().float())
    loaded.save_pretrained(tmp_path / "again", half_words=True)
    for name, tensor in storage.read_model(tmp_path / "again").tensors.items():
        torch.testing.assert_close(tensor, saved[name], rtol=0, atol=0)


def test_word_vectors_too_large_for_half_precision_are_not_saved(tmp_path):
    model = NBoW(VOCAB, 3, 4)
    with torch.no_grad():
        model.embedding.weight[1, 0] = 1e5
    with pytest.raises(ModelError, match=r"'embedding.weight' contains NaN or infinity"):
        model.save_pretrained(tmp_path / "model", half_words=True)
    assert not (tmp_path / "model").exists()


def test_a_card_is_saved_with_the_model_and_may_be_changed(tmp_path):
    model = NBoW(VOCAB, 3, 4)
    assert model.card is None
    model.card = "# Mine\n"
    model.save_pretrained(tmp_path / "model")
    assert (tmp_path / "model" / "README.md").read_text() == "# Mine\n"
    (tmp_path / "model" / "README.md").write_text("# Changed\n")
    loaded = load_pretrained(tmp_path / "model")
    assert loaded.card == "# Changed\n"
    loaded.save_pretrained(tmp_path / "model")
    assert load_pretrained(tmp_path / "model").card == "# Changed\n"


def test_the_name_of_a_parser_may_be_that_of_a_directory_that_is_not_utf_8(tmp_path):
    model = TreeLSTMClassifier(VOCAB, 2, 4, 4)
    model.tree_source = TreeSource("dependency", "spacy:/parsers/\udcff", "1")
    model.save_pretrained(tmp_path / "model")
    assert load_pretrained(tmp_path / "model").tree_source == model.tree_source


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path):
    """Pruning renames a parameter; undone, the model is saved, with the pruned weights."""
    model = NBoW(VOCAB, 3, 4)
    prune.l1_unstructured(model.output, "weight", amount=0.5)
    with pytest.raises(ModelError, match=r"^cannot save nbow: .*'output.weight' .* pruning\?"):
        model.save_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    prune.remove(model.output, "weight")
    model.save_pretrained(tmp_path / "model")
    weight = load_pretrained(tmp_path / "model").output.weight
    assert int((weight == 0).sum()) == weight.numel() // 2
