"""How a trained model reads words and raw text: chosen in training, saved with the run."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import yaml
from toy_treebank import silent

from graphsent.errors import DataError
from graphsent.training import RunConfig, TrainingError, load_model, resume, train


def of_words(config: RunConfig, **options) -> RunConfig:
    return replace(config, model="nbow", model_options={"embedding_dim": 6}, **options)


def label(model, text: str) -> list[float]:
    return model.predict([text])[0].probabilities.tolist()


def test_capitals_and_attached_punctuation_do_not_change_answers(configure, tmp_path):
    train(of_words(configure(epochs=1)), tmp_path / "run", echo=silent)
    model = load_model(tmp_path / "run")
    assert label(model, "The Film is GOOD") == label(model, "the film is good")
    # Any text that the model does not know is one unknown word.
    assert label(model, "the (film) is good!") == label(
        model, ["the", "x", "film", "x", "is", "good", "x"]
    )
    chosen = of_words(configure(epochs=1), lower_fallback=False, tokenizer="whitespace")
    train(chosen, tmp_path / "exact", echo=silent)
    model = load_model(tmp_path / "exact")
    assert label(model, "The Film is GOOD!") == label(model, ["x", "x", "is", "x"])


def test_the_run_says_how_text_is_read(configure, tmp_path):
    train(of_words(configure(epochs=1)), tmp_path / "words", echo=silent)
    train(configure(epochs=1), tmp_path / "trees", echo=silent)
    for name, tokenizer in (("words", "treebank"), ("trees", None)):
        config = RunConfig.load(tmp_path / name / "config.yaml")
        assert (config.lower_fallback, config.tokenizer) == (True, tokenizer)
    tweets = replace(of_words(configure(epochs=1)), task="twitter")
    train(tweets, tmp_path / "tweets", echo=silent)
    assert load_model(tmp_path / "tweets").tokenizer == "tweet"


@pytest.mark.parametrize("model", ["nbow", "treelstm"])
def test_an_older_run_resumes_as_it_began(model, configure, tmp_path):
    config = configure(epochs=1)
    if model == "nbow":
        config = of_words(config)
    train(config, tmp_path, echo=silent)
    values = yaml.safe_load((tmp_path / "config.yaml").read_text())
    results = json.loads((tmp_path / "results.json").read_text())
    for content in (values, results):
        del content["lower_fallback"], content["tokenizer"]
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(values))
    (tmp_path / "results.json").write_text(json.dumps(results))
    resume(tmp_path, epochs=2, echo=silent)
    config = RunConfig.load(tmp_path / "config.yaml")
    expected = "whitespace" if model == "nbow" else None
    assert (config.lower_fallback, config.tokenizer) == (False, expected)


def test_an_unsuitable_tokenizer(configure, tmp_path):
    with pytest.raises(DataError, match="unknown tokenizer 'words': expected one of treebank, tw"):
        replace(configure(), model="nbow", tokenizer="words")
    config = replace(configure(), model="treelstm", tokenizer="treebank")
    with pytest.raises(TrainingError, match="tokenizer: the model 'treelstm' reads trees, not raw"):
        train(config, tmp_path / "run", echo=silent)
    assert not (tmp_path / "run").exists()
