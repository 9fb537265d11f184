"""Models of pairs: batches, the loss, attention by the other sentence, errors."""

import json
import math

import nltk
import numpy as np
import pytest
import torch
from toy_parsers import flat
from toy_sentences import HIDDEN, VOCABULARY, pairs, sentences

from graphsent.errors import ModelError
from graphsent.graphs import TOKEN, dependency_batch, root_nodes
from graphsent.layers import expected_score, relatedness_loss
from graphsent.models import (
    ARNNRelatedness,
    Sentence,
    SequenceRelatedness,
    TreePair,
    load_pretrained,
)
from graphsent.models.batches.pairs import as_pairs
from graphsent.parsing import TreeSource
from graphsent.vocabulary import Vocabulary


def small(**options) -> ARNNRelatedness:
    return ARNNRelatedness(VOCABULARY, 5, 4, HIDDEN, 6, **options).double().eval()


def root_state(model, tree) -> torch.Tensor:
    graph = dependency_batch([tree], vocab=VOCABULARY)
    return model.encoder(graph, model.embedding(graph.ndata[TOKEN]))[root_nodes(graph)]


def test_both_sentences_go_through_one_encoder():
    model = small()
    data = pairs(7)
    logits = model(model.collate(data))
    for row, pair in enumerate(data):
        expected = model.head(root_state(model, pair.first), root_state(model, pair.second))
        torch.testing.assert_close(logits[row : row + 1], expected, rtol=0, atol=1e-12)


def test_scores_are_expectations():
    model = small()
    data = pairs(5)
    expected = expected_score(model(model.collate(data))).detach()
    np.testing.assert_allclose(model.predict(data, batch_size=2), expected, atol=1e-6)
    assert model.predict([]).shape == (0,)


def test_a_batch_of_pairs():
    data = pairs(3)
    data[1] = TreePair(data[1].first, data[1].second)
    batch = small().collate(data)
    assert batch.gold.dtype == torch.float32
    torch.testing.assert_close(batch.gold[[0, 2]], torch.tensor([data[0].score, data[2].score]))
    assert math.isnan(batch.gold[1])
    assert batch.roots.tolist() == [0, 1, 2]
    trees = [pair.first for pair in data] + [pair.second for pair in data]
    assert batch.sentences.graph.batch_num_nodes().tolist() == [tree.num_nodes for tree in trees]
    assert batch.sentences.roots.tolist() == root_nodes(batch.sentences.graph).tolist()


@pytest.mark.parametrize("nodes", ["all", "root"])
def test_loss_is_over_the_pairs_with_a_score(nodes):
    model = small()
    data = [*pairs(4), sentences("dependency", 2)]
    data[-1] = tuple(data[-1])
    batch = model.collate(data)
    logits = model(batch)
    expected = relatedness_loss(logits[:4], batch.gold[:4])
    torch.testing.assert_close(model.loss(logits, batch, nodes), expected)


def test_dropout_is_on_the_sentence_vectors():
    model = small(dropout=1.0).train()
    zeros = torch.zeros(4, HIDDEN, dtype=torch.float64)
    torch.testing.assert_close(model(model.collate(pairs(4))), model.head(zeros, zeros))


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_attention_by_the_other_sentence(cell):
    own, other = (small(cell=cell, attention="dynamic", attend_by=by) for by in ("own", "other"))
    torch.nn.init.normal_(own.embedding.weight)
    other.load_state_dict(own.state_dict())
    first, second = sentences("dependency", 2, seed=1)
    graph = dependency_batch([first, second], vocab=VOCABULARY)
    words = own.embedding(graph.ndata[TOKEN])
    queries = own.encoder.queries(graph, words)
    h = own.encoder(graph, words, queries[[1, 0]])[root_nodes(graph)]
    logits = other(other.collate([(first, second)]))
    torch.testing.assert_close(logits, own.head(h[:1], h[1:]))
    assert (logits - own(own.collate([(first, second)]))).abs().max() > 1e-8


def test_relatedness_has_no_output_gate_by_default():
    assert not small().encoder.cell.gate_output
    assert small(gate_output=True).encoder.cell.gate_output


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # Tai et al. count two biases per gate: 203,400. The head has 15,305.
        ({"attention": "none"}, 203_400 - 3 * 150 + 15_305),
        ({"attention": "none", "cell": "gru"}, 202_950 + 15_305),
        ({}, 202_950 + 2 * 150 * 150 + 300 + 15_305),
    ],
    ids=str,
)
def test_parameter_counts(options, expected):
    model = ARNNRelatedness(VOCABULARY, **options)
    words = model.embedding.weight.numel()
    assert sum(parameter.numel() for parameter in model.parameters()) - words == expected


def test_pairs_come_in_several_forms():
    first, second = "(good film)", "(S (A the) (B film))"
    (pair,) = as_pairs([(first, second, 2.5)])
    assert pair.words == ["film", "the", "film"]
    assert pair.score == 2.5
    assert as_pairs([pair]) == [pair]
    assert as_pairs([[first, second, 2.5], (first, second, np.float32(2.5), "")]) == [pair, pair]
    assert small().predict([pair, (first, second), [first, second]]).shape == (3,)
    assert small().predict(iter([pair, pair])).shape == (2,)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("(a b)", r"expected a list of pairs, got one str: put it in \[\]"),
        (TreePair(*sentences("dependency", 2)), "got one TreePair"),
        (3, "expected a list of pairs, got one int"),
        (["ab"], "pair 1: expected a tuple of two trees and optionally a score, got str"),
        ([3], "pair 1: expected a tuple of two trees and optionally a score, got int"),
        ([nltk.Tree("S", ["a", "b"])], "pair 1: expected a tuple of two trees .*, got Tree"),
        ([("(a b)",)], "pair 1: expected a tuple of two trees .*, got tuple of 1"),
        ([["(a b)"] * 5], "pair 1: expected a tuple of two trees .*, got list of 5"),
        ([["(a b)"] * 3], r"pair 1: expected two trees .*, got '\(a b\)' as the score"),
        ([("(a b)", "(a b)"), ("(a b)", "no tree")], "pair 2: input 2: expected a parse tree"),
        ([("(a b)", sentences("dependency", 1)[0])], "pair 1: .* cannot be mixed"),
        ([("(a b)", "(a b)"), tuple(sentences("dependency", 2))], "cannot be mixed in one call"),
        ([("(a b)", "(a b)", 5.5)], "pair 1: expected a score from 1 to 5, got 5.5"),
        ([("(a b)", "(a b)", 0)], "pair 1: expected a score from 1 to 5, got 0"),
        ([("(a b)", "(a b)", 2, 1)], "pair 1: expected the number of a class as a string, got 1"),
    ],
)
def test_inputs_that_are_not_pairs_are_rejected(given, message):
    with pytest.raises(ModelError, match=message):
        small().collate(given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attend_by": "both"}, "unknown attend_by 'both': expected one of own, other"),
        ({"attend_by": "other"}, "attend_by='other' needs attention='dynamic'"),
        (
            {"num_classes": 1, "goal": "classification"},
            "num_classes: expected at least 2 classes, got 1",
        ),
        ({"goal": "clasification"}, "unknown goal 'clasification'.* did you mean 'classification'"),
        ({"dropout": 1.5}, "dropout: expected a probability from 0 to 1, got 1.5"),
        ({"comparison": 0}, "comparison: expected at least 1, got 0"),
        ({"label_names": ["low", "high"]}, "label_names: expected 5"),
        ({"label_names": []}, "label_names: expected 5"),
    ],
)
def test_incompatible_options(options, message):
    with pytest.raises(ModelError, match=message):
        ARNNRelatedness(VOCABULARY, **options)


def test_levels_other_than_five():
    model = ARNNRelatedness(VOCABULARY, 3, 4, HIDDEN)
    assert model.label_names == ("1", "2", "3")
    scores = model.predict(pairs(4))
    assert ((scores >= 1) & (scores <= 3)).all()


def test_sequences_need_no_trees():
    model = SequenceRelatedness(VOCABULARY, 5, 4, 3, 6).double().eval()
    dependency, constituency = sentences("dependency", 3), sentences("constituency", 3)
    words = [Sentence(tree.words) for tree in dependency]
    expected = model.predict(list(zip(dependency, constituency, strict=True)))
    given = [(first, list(second.words)) for first, second in zip(words, constituency, strict=True)]
    np.testing.assert_allclose(model.predict(given), expected, atol=1e-6)
    np.testing.assert_allclose(model.encode(words), model.encode(dependency), atol=1e-6)
    given = [("It isn't good.", ""), (words[0], constituency[0]), (constituency[0], words[0])]
    assert model.predict(given).shape == (3,)
    with pytest.raises(ModelError, match="pair 1: expected a tuple of two sentences"):
        model.predict([("good film",)])
    with pytest.raises(ModelError, match=r"pair 2: input 2: expected .*, got int"):
        model.predict([("a", "b"), ("a", 3)])


def test_classes_of_pairs_are_no_labels_of_trees():
    names = ("no", "yes")
    options = {"goal": "classification", "label_names": names}
    words = SequenceRelatedness(VOCABULARY, 2, 4, 3, 6, **options).eval()
    (found,) = words.predict([("(no film)", "a film")])
    assert found.pair.first.words == ["(", "no", "film", ")"]
    np.testing.assert_array_equal(
        words.encode(["(no film)"]), words.encode([["(", "no", "film", ")"]])
    )
    trees = ARNNRelatedness(VOCABULARY, 2, 4, HIDDEN, 6, **options).eval()
    trees.tree_source = TreeSource("constituency")
    trees.parser = flat
    (found,) = trees.predict([("(no film)", "a film")])
    assert found.pair.first.words == ["-LRB-no", "film-RRB-"]


def test_sequence_models_saved_when_they_read_trees_still_parse_text(tmp_path):
    model = SequenceRelatedness(Vocabulary(["is", "n't", "isn't"]), 5, 4, 3, 6)
    for parser, words in (("", ["is", "n't"]), ("shape:left", ["is", "n't"])):
        model.tree_source = TreeSource("dependency", parser, "1")
        model.save_pretrained(tmp_path / "model")
        path = tmp_path / "model" / "config.json"
        config = json.loads(path.read_text())
        del config["tokenizer"]
        path.write_text(json.dumps(config))
        loaded = load_pretrained(tmp_path / "model")
        assert loaded.reads_text is bool(parser)
        np.testing.assert_array_equal(loaded.encode(["isn't"]), model.encode([Sentence(words)]))


@pytest.mark.parametrize("pair", [("A man sings", "a man"), ["a man", "sings"]])
def test_pairs_are_not_encoded_as_sentences_of_two_words(pair):
    model = SequenceRelatedness(VOCABULARY, 5, 3, 4)
    with pytest.raises(ModelError, match=r"got a pair: .* predict takes pairs"):
        model.encode([pair])
    assert model.encode([("a", "man")]).shape == model.encode(["a man"]).shape
