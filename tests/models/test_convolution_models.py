"""Every convolutional model and baseline against the equations, sentence by sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import sentence_model_references as reference
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from graphsent.errors import ModelError
from graphsent.models import DCNN, KimCNN, MaxTDNN, NBoW, Sentence, load_pretrained
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["the", "film", "is", "not", "so", "dull"])
WORDS = st.sampled_from([*VOCABULARY.words[1:], "unseen", "unknown"])
# Shorter than any filter, none at all, and longer than all filters together.
SENTENCES = st.lists(st.lists(WORDS, max_size=13), max_size=5)
TOLERANCE = {"rtol": 0, "atol": 1e-10}
EMPTY, SHORT, LONG = [], ["film"], ["the", "film", "is", "not", "so", "dull", "is"] * 2


class Row(NamedTuple):
    cls: type
    options: dict[str, Any]
    reference: Callable[..., Tensor]


ROWS = {
    "dcnn": Row(DCNN, {"widths": (3, 2), "maps": (2, 3), "k_top": 2}, reference.dcnn),
    "dcnn-long": Row(DCNN, {"widths": (5, 4), "maps": (2, 2), "k_top": 3}, reference.dcnn),
    "dcnn-one": Row(DCNN, {"widths": (4,), "maps": (3,), "k_top": 2}, reference.dcnn),
    "dcnn-flat": Row(
        DCNN, {"widths": (3, 2), "maps": (2, 3), "k_top": 2, "fold": False}, reference.dcnn
    ),
    # Six rows are not eight: two of zeros are added. A word gives less than k_top values.
    "dcnn-deep": Row(DCNN, {"widths": (2, 2, 1), "maps": (1, 2, 2), "k_top": 5}, reference.dcnn),
    # Filters so long that they are computed by Fourier transforms.
    "dcnn-fft": Row(DCNN, {"widths": (25,), "maps": (2,), "k_top": 3}, reference.dcnn),
    "maxtdnn": Row(MaxTDNN, {"width": 4}, reference.max_tdnn),
    "kimcnn": Row(KimCNN, {"heights": (2, 3), "maps": 2}, reference.kim_cnn),
    "kimcnn-static": Row(
        KimCNN, {"heights": (3, 4), "maps": 2, "variant": "static"}, reference.kim_cnn
    ),
    "kimcnn-two": Row(
        KimCNN, {"heights": (1, 3), "maps": 2, "variant": "multichannel"}, reference.kim_cnn
    ),
    "nbow": Row(NBoW, {}, reference.nbow),
}
every_model = pytest.mark.parametrize("name", ROWS)


def build(name: str, num_classes: int = 3, **options):
    """A model in float64, all of whose parameters are random."""
    row = ROWS[name]
    model = row.cls(VOCABULARY, num_classes, 6, **{**row.options, **options}).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    if name == "kimcnn-two":
        torch.nn.init.normal_(model.fixed_vectors)
    return model


def expected_logits(name: str, model, words: list[str]) -> Tensor:
    index = torch.tensor([VOCABULARY[word] for word in words], dtype=torch.int64)
    channels = [model.embedding.weight[index]]
    if name == "kimcnn-two":
        channels.append(model.fixed_vectors[index])
    return model.output.weight @ ROWS[name].reference(model, *channels) + model.output.bias


def logits(model, sentences: list[list[str]]) -> Tensor:
    return model(model.collate([Sentence(words) for words in sentences]))


@every_model
@settings(max_examples=7)
@given(sentences=SENTENCES)
def test_values_and_gradients_are_those_of_the_equations(name, sentences):
    model = build(name)
    sentences = [*sentences, SHORT]
    found = logits(model, sentences)
    expected = torch.stack([expected_logits(name, model, words) for words in sentences])
    torch.testing.assert_close(found, expected, **TOLERANCE)
    signal = torch.randn_like(expected)
    parameters = [each for each in model.parameters() if each.requires_grad]
    gradients = [
        torch.autograd.grad((values * signal).sum(), parameters, materialize_grads=True)
        for values in (found, expected)
    ]
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, **TOLERANCE)


@every_model
def test_other_sentences_have_no_influence_at_all(name):
    """NaN in the words of other sentences does not change a bit of the rest."""
    model = build(name)
    long = ["the", "film", "is", "not", "dull"]
    sentences = [long * 3, ["so"] * 9, SHORT, EMPTY, ["so"] * 20, long]
    before = logits(model, sentences)
    with torch.no_grad():
        for table in (model.embedding.weight, getattr(model, "fixed_vectors", None)):
            if table is not None:
                table[VOCABULARY["so"]] = torch.nan
    after = logits(model, sentences)
    assert torch.equal(after[[0, 2, 3, 5]], before[[0, 2, 3, 5]])


@every_model
@settings(max_examples=7)
@given(sentences=SENTENCES, order=st.randoms(use_true_random=False))
def test_a_result_does_not_depend_on_the_batch(name, sentences, order):
    model = build(name)
    sentences = [SHORT, LONG, EMPTY, *sentences]
    together = logits(model, sentences)
    alone = torch.cat([logits(model, [words]) for words in sentences])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)
    places = order.sample(range(len(sentences)), len(sentences))
    shuffled = logits(model, [sentences[place] for place in places])
    torch.testing.assert_close(shuffled, together[places], rtol=0, atol=1e-12)


@every_model
def test_no_sentence_and_empty_sentences(name):
    model = build(name)
    assert logits(model, []).shape == (0, 3)
    assert model.predict([]) == []
    only_empty = logits(model, [EMPTY, EMPTY])
    expected = model.output.bias  # of a vector of zeros
    if name.startswith("kimcnn"):
        expected = expected + model.output.weight @ torch.relu(model.encoder.bias)
    torch.testing.assert_close(only_empty, expected.expand(2, 3), **TOLERANCE)
    only_empty.sum().backward()  # and training goes on
    assert all(each.grad is None or each.grad.isfinite().all() for each in model.parameters())
    (prediction,) = model.predict([Sentence([])])
    np.testing.assert_allclose(prediction.probabilities.sum(), 1, rtol=1e-6)


@every_model
def test_unseen_words_share_one_vector(name):
    model = build(name)
    one, other, third = logits(model, [["unseen", "film"], ["unknown", "film"], ["so", "film"]])
    assert torch.equal(one, other)
    assert not torch.equal(one, third)


@every_model
@pytest.mark.parametrize("phrases", [True, False])
def test_labelled_phrases_are_separate_sentences(name, phrases):
    model = build(name, phrases=phrases)
    tree = Tree.from_string("(2 (1 (0 the) (0 film)) (1 (0 is) (1 (0 not) (1 (0 so) (0 dull)))))")
    tree = Tree([*tree.labels[:3], "", *tree.labels[4:]], tree.tokens, tree.parents)
    heads = DependencyTree(["is", "it", "so", "dull"], [-1, 0, 3, 0], labels=["1", "", "0", "2"])
    batch = model.collate([tree, Sentence(EMPTY, "1"), heads])
    if phrases:
        units = [
            tree.words[slice(*span)]
            for label, span in zip(tree.labels, tree.spans.tolist(), strict=True)
            if label
        ]
        units += [EMPTY, heads.words, ["so"], ["so", "dull"]]
        assert batch.roots.tolist() == [0, len(units) - 4, len(units) - 3]
        assert batch.gold.tolist()[-4:] == [1, 1, 0, 2]
    else:
        units = [tree.words, EMPTY, heads.words]
        assert batch.roots.tolist() == [0, 1, 2]
        assert batch.gold.tolist() == [2, 1, 1]
    torch.testing.assert_close(model(batch), logits(model, units), **TOLERANCE)
    (prediction,) = model.predict([tree])
    every = [tree.words[slice(*span)] for span in tree.spans.tolist()]
    expected = torch.softmax(logits(model, every), 1)
    np.testing.assert_allclose(prediction.probabilities, expected.detach(), atol=1e-6)


@every_model
def test_a_loaded_model_is_the_saved_one(name, tmp_path):
    model = build(name, label_names=["bad", "fair", "good"])
    model.save_pretrained(tmp_path / "model")
    loaded = load_pretrained(tmp_path / "model")
    assert loaded.config == json.loads(json.dumps(model.config))
    sentences = [LONG, SHORT, EMPTY, ["unseen"]]
    assert torch.equal(logits(loaded, sentences), logits(model, sentences))
    for ours, theirs in zip(model.predict(sentences), loaded.predict(sentences), strict=True):
        np.testing.assert_array_equal(ours.probabilities, theirs.probabilities)
        assert ours.root_name == theirs.root_name
    np.testing.assert_array_equal(model.encode(sentences), loaded.encode(sentences))


@every_model
def test_it_learns_reproducibly(name):
    sentences = [
        Sentence([*words, value], label)
        for words in (["the", "film", "is"], ["film"], [])
        for value, label in (("dull", "0"), ("so", "1"))
    ]

    def losses(num_steps: int) -> list[float]:
        torch.manual_seed(1)
        row = ROWS[name]
        model = row.cls(VOCABULARY, 2, 6, **row.options)
        model.init_embeddings(torch.randn(len(VOCABULARY), 6))
        batch = model.collate(sentences)
        parameters = [each for each in model.parameters() if each.requires_grad]
        optimizer = torch.optim.Adam(parameters, lr=0.05)
        found = []
        for _ in range(num_steps):
            optimizer.zero_grad()
            loss = model.loss(model(batch), batch)
            loss.backward()
            optimizer.step()
            model.after_step()
            found.append(loss.item())
        return found

    first = losses(25)
    assert np.mean(first[-5:]) < 0.7 * np.mean(first[:5])
    assert losses(4) == first[:4]


def test_phrases_of_a_training_set_occur_once():
    trees = [Tree.from_string("(1 (0 the) (1 film))"), Tree.from_string("(0 (0 the) (0 film))")]
    examples = DCNN(VOCABULARY, 2, 4).training_examples(trees)
    assert [(" ".join(each.words), each.label) for each in examples] == [
        ("the film", "1"),
        ("the", "0"),
        ("film", "1"),
        ("the film", "0"),
        ("film", "0"),
    ]
    whole = DCNN(VOCABULARY, 2, 4, phrases=False)
    assert whole.training_examples(trees) == trees
    unlabelled = Tree(("", "0", "1"), (None, "the", "film"), (-1, 0, 0))
    assert whole.training_examples([*trees, unlabelled]) == trees
    sentences = [Sentence(SHORT, "1"), Sentence(SHORT, "1")]
    assert DCNN(VOCABULARY, 2, 4).training_examples(sentences) is sentences


def test_equal_phrases_are_those_of_the_first_sentence():
    trees = [Tree.from_string(text) for text in ("(1 (0 the) (1 film))", "(1 (0 The) (1 Film))")]
    trees.append(Tree.from_string("(1 (1 good) (1 film))"))
    model = DCNN(Vocabulary(["film"], lower=True), 2, 4)
    found = {(" ".join(each.words), each.sentence) for each in model.training_examples(trees)}
    first, last = ("the", "film"), ("good", "film")
    assert found == {
        ("the film", first),
        ("the", first),
        ("film", first),
        ("good film", last),
        ("good", last),
    }


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (DCNN, {"widths": (3, 2), "maps": (2,)}, "one width and one number of maps per layer"),
        (DCNN, {"widths": (), "maps": ()}, "one width and one number of maps per layer"),
        (DCNN, {"widths": (3, 0), "maps": (2, 2)}, "widths: expected"),
        (DCNN, {"widths": (3, 2), "maps": (2, 0)}, "maps: expected"),
        (DCNN, {"k_top": 0}, "k_top: expected"),
        (MaxTDNN, {"width": 0}, "width: expected"),
        (KimCNN, {"variant": "frozen"}, "unknown variant 'frozen': expected one of nonstatic"),
        (KimCNN, {"heights": (3, 0)}, r"heights\[1\]: expected"),
        (KimCNN, {"heights": ()}, "expected"),
        (KimCNN, {"maps": 0}, "expected"),
    ],
)
def test_options_are_checked(cls, options, message):
    with pytest.raises(ModelError, match=message):
        cls(VOCABULARY, 2, 4, **options)


def test_labels_of_parsers_are_no_examples():
    trees = [Tree.from_string(f"({label} (NP (DT the) (NN film)) (X is))") for label in ("1", "VP")]
    for model in (DCNN(VOCABULARY, 2, 4), DCNN(VOCABULARY, 1, 4)):
        (example,) = model.training_examples(trees)
        assert (example.words, example.label) == (["the", "film", "is"], "1")
    whole = DCNN(VOCABULARY, 2, 4, phrases=False)
    assert whole.training_examples(trees) == trees[:1]
