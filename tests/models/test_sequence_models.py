"""Sequential baselines: which sequences are examples, and their contents."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import trees
from toy_sentences import NUM_CLASSES, VOCABULARY, sentences

from graphsent.errors import ModelError
from graphsent.models import SequenceClassifier, SequenceRelatedness
from graphsent.sentences import Sentence
from graphsent.trees import Tree

LABELS = st.sampled_from(["0", "1", "2", ""])
WORDS = st.sampled_from(VOCABULARY.words[1:])
MODEL = SequenceClassifier(VOCABULARY, 3, 4, 5).double().eval()


def count(model) -> int:
    total = sum(parameter.numel() for parameter in model.parameters())
    return total - model.embedding.weight.numel()


def of_span(model, words) -> torch.Tensor:
    """Logits of a sequence of words by itself."""
    rows = model.embedding.weight[[VOCABULARY[word] for word in words]]
    _, (h, _) = model.encoder.cell(rows)
    return model.output(h.flatten())


@settings(max_examples=25)
@given(st.lists(trees(max_leaves=5, labels=LABELS, words=WORDS), min_size=1, max_size=4))
def test_examples_are_the_sentences_and_the_labelled_phrases(forest):
    batch = MODEL.collate(forest)
    expected, labels, roots = [], [], []
    for tree in forest:
        for node, (label, (begin, end)) in enumerate(zip(tree.labels, tree.spans, strict=True)):
            if node == 0:
                roots.append(len(labels))
            if label or node == 0:
                expected.append(of_span(MODEL, tree.words[begin:end]))
                labels.append(int(label or -1))
    assert batch.gold.tolist() == labels
    assert batch.roots.tolist() == roots
    torch.testing.assert_close(MODEL(batch), torch.stack(expected), rtol=0, atol=1e-12)


@settings(max_examples=25)
@given(st.lists(trees(max_leaves=5, words=WORDS), min_size=1, max_size=4))
def test_without_phrases_examples_are_the_sentences(forest):
    model = SequenceClassifier(VOCABULARY, 5, 4, 5, phrases=False).double().eval()
    batch = model.collate(forest)
    assert batch.gold.tolist() == [int(tree.labels[0]) for tree in forest]
    assert batch.roots.tolist() == list(range(len(forest)))
    expected = torch.stack([of_span(model, tree.words) for tree in forest])
    torch.testing.assert_close(model(batch), expected, rtol=0, atol=1e-12)


@settings(max_examples=25)
@given(trees(max_leaves=5, labels=LABELS, words=WORDS), st.booleans())
def test_predictions_are_about_all_nodes(tree, phrases):
    model = SequenceClassifier(VOCABULARY, 3, 4, 5, phrases=phrases).double().eval()
    (prediction,) = model.predict([tree])
    for row, (begin, end) in zip(prediction.probabilities, tree.spans, strict=True):
        expected = torch.softmax(of_span(model, tree.words[begin:end]), 0).detach()
        np.testing.assert_allclose(row, expected, atol=1e-6)


def test_only_the_words_of_a_sentence_count():
    words = "the film good"
    one = Tree.from_string("(1 (1 (1 the) (1 film)) (1 good))")
    other = Tree.from_string("(1 (1 the) (1 (1 film) (1 good)))")
    assert one.words == other.words == words.split()
    np.testing.assert_array_equal(MODEL.encode([one]), MODEL.encode([other]))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 315_840 + 845),  # as Tai et al. count
        ({"bidirectional": True}, 2 * 315_840 + 845 + 840),
        ({"cell": "gru"}, 315_840 * 3 // 4 + 845),
        # The LSTM of the TreeNet paper has one bias per gate: 160,602.
        ({"num_classes": 2, "hidden": 100}, 160_602 + 400),
    ],
    ids=str,
)
def test_parameter_counts(options, expected):
    assert count(SequenceClassifier(VOCABULARY, **{"num_classes": 5, **options})) == expected


def test_relatedness_is_of_the_last_states():
    model = SequenceRelatedness(VOCABULARY, 5, 4, 5, bidirectional=True).double()
    trees = sentences("dependency", 4)
    expected = []
    for tree in trees:
        rows = model.embedding.weight[[VOCABULARY[word] for word in tree.words]]
        _, (h, _) = model.encoder.cell(rows)
        expected.append(h.flatten())
    expected = torch.stack(expected).detach()
    np.testing.assert_allclose(model.encode(trees), expected, atol=1e-6)
    pairs = list(zip(trees[:2], trees[2:], strict=True))
    logits = model(model.collate(pairs))
    torch.testing.assert_close(logits, model.head(expected[:2], expected[2:]))


def test_an_unknown_cell_is_rejected():
    with pytest.raises(ModelError, match="unknown cell 'rnn'"):
        SequenceClassifier(VOCABULARY, 3, cell="rnn")


@pytest.mark.parametrize("phrases", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_loss_and_gradients_are_those_of_torch(cell, bidirectional, phrases, dropout):
    """The engine shares prefixes, while torch reads every sequence by itself."""
    model = SequenceClassifier(
        *(VOCABULARY, NUM_CLASSES, 4, 5),
        cell=cell,
        bidirectional=bidirectional,
        phrases=phrases,
        embedding_dropout=dropout,
    ).double()
    batch = model.collate(sentences("constituency"))
    found = []
    for engine in ("auto", "torch"):
        model.encoder.cell.engine = engine
        torch.manual_seed(0)  # of dropout, which words and states have in training
        loss = model.loss(model(batch), batch, "all")
        found.append([loss, *torch.autograd.grad(loss, list(model.parameters()))])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_words_of_a_sentence_may_change():
    words = VOCABULARY.words[1:5]
    sentence = Sentence(words[:1])
    MODEL.predict([sentence])
    for changed in (words, words[:2]):
        sentence.words = list(changed)
        assert sentence.spans.tolist() == [[0, len(changed)]]
        found, expected = MODEL.predict([sentence, Sentence(changed)])
        assert found.root_probability == pytest.approx(expected.root_probability)
