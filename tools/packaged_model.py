"""Trains the bundled model and writes it to graphsent/pretrained/sentiment.

It is a bidirectional LSTM over words, trained on the five classes of all phrases of the Stanford
Sentiment Treebank. To keep the package small, it uses only the first 200 dimensions of the word
vectors, which are ordered by variance, and saves them in half precision. The metrics in its model
card are those of the saved model.

    python tools/packaged_model.py --data-dir DATA --vectors VECTORS/minilm_static_300d.npz
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from graphsent.cli import main as graphsent
from graphsent.training import RunConfig, RunDirectory, TrainingOptions, load_model, train
from graphsent.training.card import model_card
from graphsent.training.inputs import InputOptions

TARGET = Path(__file__).resolve().parent.parent / "graphsent" / "pretrained" / "sentiment"
DIMENSION = 200
EPOCHS = 8
ABOUT = """\
## Terms and limits

The treebank is by Socher et al. 2013 (*Recursive Deep Models for Semantic Compositionality Over a
Sentiment Treebank*) and annotates sentences from film reviews collected by Pang and Lee 2005. Its
release states no licence and is used for research. The word vectors are distilled from the sentence
encoder all-MiniLM-L6-v2 (Apache License 2.0) and were fine-tuned during training.

The vocabulary consists of the lowercased words of the treebank; all other words share one vector.
The model is therefore reliable only on text whose words resemble those of English film reviews. It
misses irony and comparisons, and it reproduces the biases of its training data. It is included for
trying graphsent out, not for making decisions about people.

`make packaged-model` retrains it.
"""


def main() -> None:
    """Trains, evaluates and writes the model."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-dir", required=True, help="Corpora, as for graphsent train.")
    parser.add_argument("--vectors", required=True, type=Path, help="Word vectors in .npz.")
    parser.add_argument("--out", type=Path, default=Path("runs/packaged-model"), help="The run.")
    arguments = parser.parse_args()

    vectors = arguments.out.with_name(f"{arguments.vectors.stem}_first_{DIMENSION}.npz")
    vectors.parent.mkdir(parents=True, exist_ok=True)
    with np.load(arguments.vectors) as archive:
        arrays = dict(archive)
    np.savez(vectors, **{**arrays, "vectors": arrays["vectors"][:, :DIMENSION]})

    config = RunConfig(
        "sst5",
        "sequence",
        model_options={"bidirectional": True, "hidden": 120, "embedding_dropout": 0.3},
        data_dir=arguments.data_dir,
        vectors=(str(vectors),),
        inputs=InputOptions(lower=True),
        training=TrainingOptions(epochs=EPOCHS, num_threads=1),
    )
    run = RunDirectory(arguments.out)
    train(config, run.path, overwrite=True, test=False)
    model = load_model(run.path)
    model.save_pretrained(run.model, half_words=True)

    results = run.read_results()
    for split in ("dev", "test"):
        found = run.path / f"{split}.json"
        graphsent(["evaluate", str(run.path), "--split", split, "--json", str(found)])
        results[split] = json.loads(found.read_text(encoding="utf-8"))["metrics"]
    model.card = f"{model_card(model, results)}\n{ABOUT}"
    model.save_pretrained(TARGET, half_words=True)
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
