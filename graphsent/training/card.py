"""Model cards."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import graphsent
from graphsent._files import escaped
from graphsent.models import Model
from graphsent.models.base.loading import own_class
from graphsent.training.config_file import to_yaml
from graphsent.training.figures import figure, metric_title

__all__ = ["model_card"]

_SETTINGS = (
    "task",
    "task_options",
    "model",
    "model_options",
    "tree_kind",
    "trees",
    "vectors",
    "lower_fallback",
    "tokenizer",
    "parser",
    "inputs",
    "training",
)
_USE = """\
```python
import graphsent{imports}

model = graphsent.load("DIRECTORY"{in_python})
{example}
```

or `graphsent predict DIRECTORY FILE{in_shell}`.
"""
_EXAMPLES = {
    "pairs": 'print(model.predict([("A dog runs.", "A dog is running.")]))',
    "lists": "print(model.predict(graphsent.trees.read_nbest(FILE)))",
    "trees": 'print(model.predict(["(S (NP (DT The) (NN film)) (VP (VBZ is) (ADJP (JJ dull))))"]))',
    "words": 'print(model.predict(["A film of great charm."]))',
}
_PIPELINES = {"pairs": "sentence-similarity", "trees": "text-classification"}


def model_card(model: Model, results: Mapping[str, Any]) -> str:
    """The card of a model in Markdown, with metadata for the Hugging Face Hub.

    It names files without their directories on the machine where the model was trained.

    Args:
        model: The model.
        results: The ``results.json`` of its run.
    """
    metadata = {"library_name": "graphsent", "tags": ["graphsent", model.name]}
    if model.examples in _PIPELINES:
        metadata["pipeline_tag"] = _PIPELINES[model.examples]
    about = (inspect.getdoc(type(model)) or "").partition("\n")[0]
    reads = "words" if model.tree_kind == "words" and model.examples == "trees" else model.examples
    parts = [
        f"---\n{to_yaml(metadata)}---\n",
        f"# {model.name}: {_title(results)}\n",
        f"{about} A model of graphsent {graphsent.__version__}.\n",
        f"## Evaluation\n\n{_table(results)}",
        f"## Use\n\n{_USE.format(example=_EXAMPLES[reads], **_class_of(model))}",
        f"## Training data\n\n{_sources(results)}",
        f"## Settings\n\n```yaml\n{_settings(results)}```\n",
    ]
    return escaped("\n".join(parts))


def _class_of(model: Model) -> dict[str, str]:
    """Code to pass the class of a custom model; empty for the package's own models."""
    name = own_class(type(model))
    if name is None:
        return {"imports": "", "in_python": "", "in_shell": ""}
    module, _, kind = name.partition(":")
    outer = kind.partition(".")[0]
    return {
        "imports": "" if module == "__main__" else f"\nfrom {module} import {outer}",
        "in_python": f", model_class={kind}",
        "in_shell": f" --model-class {name}",
    }


def _table(results: Mapping[str, Any]) -> str:
    splits = [split for split in ("dev", "test") if split in results]
    rows = ["| | " + " | ".join(splits) + " |", "| --- |" + " ---: |" * len(splits)]
    for name in results["dev"]:
        cells = (figure(name, results[split][name]) for split in splits)
        rows.append(f"| {metric_title(name)} | {' | '.join(cells)} |")
    epochs = f"epoch {results['best_epoch']} of {len(results['history'])}, the best on dev"
    return "\n".join(rows) + f"\n\nThe model is from {epochs}.\n"


def _title(results: Mapping[str, Any]) -> str:
    """The name of the corpus; custom data have none."""
    return results["corpus"].get("title", "custom data")


def _sources(results: Mapping[str, Any]) -> str:
    """The files used, by name."""
    corpus = results["corpus"]
    lines = [f"* {_title(results)}, read as {corpus['tree_kind']}:"]
    for name, split in corpus["splits"].items():
        files = split.get("files") or split.get("parts") or [split]
        said = (f"`{Path(each['path']).name}`, SHA-256 `{each['sha256']}`" for each in files)
        lines.append(f"  * {name}: {split['examples']:,} examples {', '.join(said)}")
    for each in results.get("word_vectors", {}).get("files", ()):
        lines.append(f"* word vectors `{Path(each['name']).name}`, {each['dimension']} dimensions")
    lines.append(f"* vocabulary of {results['vocabulary']:,} words")
    return "\n".join(lines) + "\n"


def _settings(results: Mapping[str, Any]) -> str:
    return to_yaml({name: _plain(results[name]) for name in _SETTINGS})


def _plain(value: Any) -> Any:
    """A setting, with full paths reduced to file names."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value
