"""The parse reranker: node scores, the loss by hand, the parser weight, learning."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from graphsent.errors import ModelError
from graphsent.graphs import TOKEN
from graphsent.models import Inputs, ParseReranker, expected_errors, load_pretrained, ranking_loss
from graphsent.models.batches.trees import tree_graph
from graphsent.trees import Candidate, ParseList, Tree, binarize, bracket_counts, collapse_unary
from graphsent.vocabulary import Vocabulary

WORDS = ("a", "b", "c", "d")
VOCAB = Vocabulary(WORDS)
LEFT = "(ROOT (S (NP (NP (T a) (T b)) (X (T c))) (VP (V d))))"
RIGHT = "(ROOT (S (NP (T a)) (VP (T b) (X (T c) (V d)))))"
FLAT = "(ROOT (S (T a) (T b) (T c) (V d)))"


def parses(gold: str | None, *candidates: tuple[str, float]) -> ParseList:
    listed = tuple(Candidate(Tree.from_string(text), score) for text, score in candidates)
    return ParseList(listed, None if gold is None else Tree.from_string(gold), "s")


LISTS = [
    parses(LEFT, (RIGHT, 2.0), (LEFT, 1.0), (FLAT, 0.0)),
    parses(LEFT.replace(" a", " d"), (FLAT.replace(" a", " d"), 0.5)),
    parses(None, (RIGHT, 1.0), (FLAT, 0.5)),
]


def model(**options) -> ParseReranker:
    torch.manual_seed(0)
    labels = ParseReranker.labels_of(LISTS)
    return ParseReranker(VOCAB, labels, 4, 3, 5, embedding_dropout=0.0, **options)


def score_of(reranker: ParseReranker, tree: Tree) -> torch.Tensor:
    """The sum over nodes, one by one."""
    tree = binarize(collapse_unary(tree, "join"))
    graph = tree_graph([tree], VOCAB)
    states = reranker.encoder(graph, reranker.embedding(graph.ndata[TOKEN]))
    index = {label: place for place, label in enumerate(reranker.label_names, start=1)}
    total = torch.zeros(())
    for node in range(tree.num_nodes):
        children = np.flatnonzero(tree.parents == node).tolist()
        if children:
            vectors = [reranker.label_vectors.weight[index[tree.labels[c]]] for c in children]
            outputs = reranker.of_children(torch.cat(vectors)) + reranker.of_state(states[node])
            total = total + torch.log_softmax(outputs.relu(), 0)[index[tree.labels[node]]]
    return total


def test_the_loss_of_no_lists_is_0():
    reranker = model()
    batch = reranker.collate([])
    loss = reranker.loss(reranker(batch), batch)
    loss.backward()
    assert loss == 0
    full = reranker.collate(LISTS)
    for name in ("inner", "labels", "children", "trees", "base", "counts", "gold", "roots"):
        assert getattr(batch, name).dtype == getattr(full, name).dtype, name


@pytest.mark.parametrize("directions", ["both", "up", "down"])
@pytest.mark.parametrize("lexicalized", [True, False])
def test_a_score_is_the_sum_over_the_nodes(lexicalized, directions):
    reranker = model(lexicalized=lexicalized, directions=directions)
    batch = reranker.collate(LISTS)
    scores = reranker(batch)
    trees = [each.tree for every in LISTS for each in every.candidates]
    trees[3:3], trees[5:5] = [LISTS[0].gold], [LISTS[1].gold]
    expected = torch.stack([score_of(reranker, tree) for tree in trees])
    torch.testing.assert_close(scores, expected)
    assert batch.candidates == [(0, 3), (4, 5), (6, 8)]
    assert batch.gold.tolist() == [3, 5, -1]
    reranker.base_weight.fill_(2.0)
    ranked = reranker.eval().predict(LISTS, batch_size=1)
    first = (scores[:3] + 2 * batch.base[:3]).detach()
    np.testing.assert_allclose(ranked[0].scores, first, rtol=1e-5)
    assert reranker(batch)[3] == -math.inf


def test_candidates_may_be_replaced():
    turned = LISTS[0]._replace(candidates=LISTS[0].candidates[::-1])
    first, second = (model().collate([each]).counts.tolist() for each in (LISTS[0], turned))
    assert second == [*first[2::-1], first[3]]
    assert first != second


def test_the_loss_by_hand():
    batch = SimpleNamespace(
        counts=torch.tensor([[2, 4, 4], [4, 4, 4], [1, 3, 4], [3, 3, 3]]),
        candidates=[(0, 1), (2, 3)],
        gold=torch.tensor([1, 3]),
        roots=torch.tensor([0, 2]),
    )
    # By .1 for each of two wrong nodes: -.5 + .2 - (-1) = .7; and a gold tree that is far ahead.
    loss = ranking_loss(torch.tensor([-0.5, -1.0, -5.0, -1.0]), batch, 0.1)
    assert float(loss) == pytest.approx(0.7 / 2)
    same = SimpleNamespace(**{**vars(batch), "counts": torch.tensor([[4, 4, 4]] * 4)})
    assert float(ranking_loss(torch.tensor([-1.0, -1.0, -1.0, -1.0]), same, 0.1)) == 0


def test_the_risk_by_hand():
    batch = SimpleNamespace(
        counts=torch.tensor([[2, 4, 5], [3, 4, 5], [5, 5, 5], [0, 0, 0]]),
        candidates=[(0, 2), (3, 4)],
    )
    scores = torch.tensor([math.log(3.0), 0.0, 9.0, 2.0], requires_grad=True)
    risk = expected_errors(scores, batch)
    # 5 and 3 wrong brackets with probabilities 3/4 and 1/4; no gold tree, no error.
    assert risk.item() == pytest.approx(4.5 / 2)
    (gradient,) = torch.autograd.grad(risk, scores)
    # p (E - mean E)
    torch.testing.assert_close(2 * gradient, torch.tensor([0.375, -0.375, 0.0, 0.0]))
    none = SimpleNamespace(counts=batch.counts[:0], candidates=[])
    assert expected_errors(scores[:0], none).item() == 0


def test_the_risk_includes_the_parser_score():
    reranker = model(objective="risk")
    batch = reranker.collate(LISTS)
    plain = reranker.eval()(batch)  # before the parser's score gets a weight
    scores = reranker.train()(batch)
    candidates = torch.cat([torch.arange(*each) for each in batch.candidates])
    torch.testing.assert_close(scores[candidates], (plain + batch.base)[candidates])
    expected = torch.zeros(())
    for each, (begin, end) in zip(LISTS, batch.candidates, strict=True):
        shares = torch.softmax(scores[begin:end], 0)
        for candidate, share in zip(each.candidates, shares, strict=True):
            if each.gold is not None:
                counts = bracket_counts(candidate.tree, each.gold)
                wrong = counts.predicted - counts.matched + counts.gold - counts.matched
                expected = expected + share * wrong
    torch.testing.assert_close(reranker.loss(scores, batch), expected / len(LISTS))


@pytest.mark.parametrize("objective", ["margin", "risk"])
def test_it_learns_to_choose_and_is_saved(objective, tmp_path):
    reranker = model(objective=objective)
    optimizer = torch.optim.Adam(reranker.parameters(), 0.02)
    batch = reranker.collate(LISTS)
    before = float(reranker.loss(reranker(batch), batch).detach())
    for _ in range(60):
        optimizer.zero_grad()
        reranker.loss(reranker(batch), batch).backward()
        optimizer.step()
    assert float(reranker.loss(reranker(batch), batch).detach()) < before / 2
    reranker.eval().choose_on_dev(LISTS)
    assert float(reranker.base_weight) == 0  # alone, it chooses correctly
    ranked = reranker.predict(LISTS)
    assert ranked[0].best == 1
    assert ranked[0].tree == LISTS[0].gold
    assert ranked[0].to_dict()["tree"] == str(LISTS[0].gold)
    reranker.base_weight.fill_(0.5)
    reranker.save_pretrained(tmp_path / "model")
    loaded = load_pretrained(tmp_path / "model")
    assert loaded.label_names == reranker.label_names
    for ours, theirs in zip(reranker.predict(LISTS), loaded.predict(LISTS), strict=True):
        np.testing.assert_array_equal(ours.scores, theirs.scores)
    assert loaded.encode([LEFT, RIGHT]).shape == (2, 3)


def test_the_parser_weight_is_chosen_if_the_model_errs():
    reranker = model().eval()
    worst = int(reranker.predict(LISTS[:1])[0].scores.argmin())
    candidates = [
        each._replace(score=float(place == worst)) for place, each in enumerate(LISTS[0].candidates)
    ]
    dev = [ParseList(tuple(candidates), candidates[worst].tree)]
    reranker.choose_on_dev(dev)
    assert float(reranker.base_weight) > 0
    assert reranker.predict(dev)[0].best == worst


def test_labels_may_contain_what_joins_and_marks_labels():
    """As P+D of the French Treebank, and the nodes of binarized trees."""
    lists = [parses("(S (@S (P+D a) (N b)) (X (N c)))", ("(S (P+D a) (N b) (@X (N c)))", 1.0))]
    labels = ParseReranker.labels_of(lists)
    assert labels == ("@S", "N", "P_D", "S", "X+N", "_S", "_X+N")
    ranked = ParseReranker(VOCAB, labels, 4, 3, 5).predict(lists)
    assert ranked[0].tree is lists[0].candidates[0].tree


def test_inputs_that_are_not_lists():
    with pytest.raises(
        ModelError, match=r"list 2: expected a ParseList with candidates, got '\(ROOT"
    ):
        model().predict([LISTS[0], LEFT])
    with pytest.raises(ModelError, match="list 1: expected a ParseList with candidates"):
        model().predict([ParseList(())])
    with pytest.raises(ModelError, match="margin: expected a non-negative number"):
        model(margin=-1.0)
    with pytest.raises(ModelError, match="unknown objective 'risks'"):
        model(objective="risks")
    with pytest.raises(ModelError, match="margin needs objective='margin', got 'risk'"):
        model(objective="risk", margin=0.2)
    assert model().eval().predict([]) == []
    assert len(model().eval().predict(iter(LISTS))) == 3


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_candidates_without_a_score(score):
    with pytest.raises(ModelError, match=f"list 1, candidate 2: .* a finite score, got {score}"):
        model().predict([parses(None, (RIGHT, 1.0), (FLAT, score))])


def test_projected_word_vectors():
    reranker = model().eval()
    reranker.set_inputs(Inputs(2, projected=True))
    assert reranker.embedding.weight.shape == (len(VOCAB), 2)
    assert reranker.predict(LISTS)[0].scores.shape == (3,)
