"""Simple baselines on the synthetic corpora: ``python data/probe.py`` (needs numpy and scipy).

Multinomial logistic regression on bags of words (or of words and bigrams) for sentence sentiment
and coarse question classes, the first word alone for questions, and word overlap for sentence
pairs. ``--neural`` (needs torch) adds a neural bag of words trained on all phrases.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

DATA = Path(__file__).resolve().parent

Example = tuple[str, list[str]]
Features = Callable[[list[str]], list[str]]


def phrases(line: str) -> list[Example]:
    """Label and lowercased words of every node of a bracketed tree, the root last."""
    found: list[Example] = []
    words: list[str] = []
    opened: list[tuple[str, int]] = []
    for label, word, closed in re.findall(r"\((\S+)|([^\s()]+)|(\))", line):
        if label:
            opened.append((label, len(words)))
        elif word:
            words.append(word.lower())
        elif closed:
            own, start = opened.pop()
            found.append((own, words[start:]))
    return found


def sentences(part: str, data: Path = DATA) -> list[Example]:
    """Root label and words of every tree of the treebank."""
    lines = (data / "sentiment" / f"{part}.txt").read_text(encoding="utf-8").splitlines()
    return [phrases(line)[-1] for line in lines]


def questions(part: str, data: Path = DATA) -> list[Example]:
    """Coarse class and words of every question."""
    lines = (data / "questions" / f"{part}.txt").read_text(encoding="utf-8").splitlines()
    return [(line.partition(":")[0], line.lower().split()[1:]) for line in lines]


def unigrams(words: list[str]) -> list[str]:
    return words


def bigrams(words: list[str]) -> list[str]:
    """The words and all bigrams."""
    return words + [" ".join(pair) for pair in pairwise(words)]


def first_word(words: list[str]) -> list[str]:
    return words[:1]


def _matrix(
    examples: Sequence[Example], features: Features, index: dict[str, int], presence: bool
) -> csr_matrix:
    found = [
        (row, index[feature])
        for row, (_, words) in enumerate(examples)
        for feature in (set if presence else list)(features(words))
        if feature in index
    ]
    rows, columns = np.array(found).T
    ones = np.ones(len(found), dtype=np.float32)
    return csr_matrix((ones, (rows, columns)), (len(examples), len(index)))


def _fitted(x: csr_matrix, y: np.ndarray, decay: float, steps: int = 250) -> np.ndarray:
    """Weights (features, classes) that minimize cross-entropy plus L2, by full-batch Adam."""
    weights = np.zeros((x.shape[1], y.max() + 1), dtype=np.float32)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    target = np.eye(weights.shape[1], dtype=np.float32)[y]
    for step in range(1, steps + 1):
        logits = x @ weights
        scores = np.exp(logits - logits.max(axis=1, keepdims=True))
        error = scores / scores.sum(axis=1, keepdims=True) - target
        gradient = x.T @ error / len(y) + decay * weights
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        rate = 0.05 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        weights -= rate * mean / (np.sqrt(square) + 1e-8)
    return weights


def logistic_accuracy(
    read: Callable[[str], list[Example]], features: Features, presence: bool = False
) -> float:
    """Test accuracy, with the best of three L2 strengths on dev."""
    parts = {part: read(part) for part in ("train", "dev", "test")}
    classes = sorted({label for label, _ in parts["train"]})
    names = dict.fromkeys(name for _, words in parts["train"] for name in features(words))
    index = {name: column for column, name in enumerate(names)}
    x = {part: _matrix(rows, features, index, presence) for part, rows in parts.items()}
    y = {
        part: np.array([classes.index(label) for label, _ in rows]) for part, rows in parts.items()
    }
    results = []
    for decay in (1e-4, 1e-3, 1e-2):
        weights = _fitted(x["train"], y["train"], decay)
        right = {
            part: np.mean((x[part] @ weights).argmax(1) == y[part]) for part in ("dev", "test")
        }
        results.append((right["dev"], right["test"]))
    return float(max(results)[1])


def first_word_accuracy(data: Path = DATA) -> float:
    """Test accuracy of the most frequent training class of a question's first word."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    overall: Counter[str] = Counter()
    for label, words in questions("train", data):
        counts[words[0]][label] += 1
        overall[label] += 1
    test = questions("test", data)
    guesses = [(counts[words[0]] or overall).most_common(1)[0][0] for _, words in test]
    return float(np.mean([guess == label for guess, (label, _) in zip(guesses, test, strict=True)]))


def overlap_correlation(data: Path = DATA) -> float:
    """Pearson correlation of the test scores with word overlap (Jaccard)."""
    scores, overlaps = [], []
    text = (data / "relatedness" / "test.txt").read_text(encoding="utf-8")
    for line in text.splitlines()[1:]:
        _, first, second, score, _ = line.split("\t")
        words = [set(sentence.lower().split()) for sentence in (first, second)]
        overlaps.append(len(words[0] & words[1]) / len(words[0] | words[1]))
        scores.append(float(score))
    return float(np.corrcoef(scores, overlaps)[0, 1])


def neural_accuracy(epochs: int = 6, hidden: int = 64) -> float:
    """Test root accuracy of averaged word vectors with one hidden layer, trained on phrases."""
    import torch

    torch.manual_seed(0)
    text = (DATA / "sentiment" / "train.txt").read_text(encoding="utf-8")
    train = [example for line in text.splitlines() for example in phrases(line)]
    index = {word: i for i, word in enumerate({w: None for _, words in train for w in words})}
    vectors = torch.nn.EmbeddingBag(len(index), hidden, mode="mean")
    network = torch.nn.Sequential(
        vectors, torch.nn.Linear(hidden, 128), torch.nn.ReLU(), torch.nn.Linear(128, 5)
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)

    def scores(examples: Sequence[Example]) -> tuple[torch.Tensor, torch.Tensor]:
        bags = [[index[word] for word in words if word in index] for _, words in examples]
        offsets = np.cumsum([0, *map(len, bags[:-1])])
        ids = torch.tensor([i for bag in bags for i in bag])
        labels = torch.tensor([int(label) for label, _ in examples])
        hidden_layers = network[1:]
        return hidden_layers(vectors(ids, torch.tensor(offsets))), labels

    for _ in range(epochs):
        for rows in torch.randperm(len(train)).split(512):
            predicted, labels = scores([train[row] for row in rows])
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(predicted, labels).backward()
            optimizer.step()
    predicted, labels = scores(sentences("test"))
    return float((predicted.argmax(1) == labels).float().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description="Accuracy of simple models on the corpora.")
    parser.add_argument("--neural", action="store_true", help="also a neural bag of words")
    arguments = parser.parse_args()
    report = {
        "sentiment, words (counts)": lambda: logistic_accuracy(sentences, unigrams),
        "sentiment, words (presence)": lambda: logistic_accuracy(sentences, unigrams, True),
        "sentiment, words and bigrams": lambda: logistic_accuracy(sentences, bigrams),
        "questions, first word": first_word_accuracy,
        "questions, words": lambda: logistic_accuracy(questions, unigrams),
        "questions, words and bigrams": lambda: logistic_accuracy(questions, bigrams),
        "relatedness, common words (r)": overlap_correlation,
    }
    if arguments.neural:
        report["sentiment, neural bag of words"] = neural_accuracy
    for name, measure in report.items():
        print(f"{name:32s}{measure():.3f}", flush=True)


if __name__ == "__main__":
    main()
