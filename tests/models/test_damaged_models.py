"""A damaged or malicious saved model raises one clear error, and nothing else happens."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from graphsent._files import sha256
from graphsent.errors import DataError, ModelError
from graphsent.models import NBoW, TreeLSTMClassifier, load_pretrained
from graphsent.vocabulary import Vocabulary

VOCAB = Vocabulary(["a", "b", "c"])
SUMMED = ("model.safetensors", "vocabulary.json")


@pytest.fixture
def saved(tmp_path) -> Path:
    TreeLSTMClassifier(VOCAB, 2, 4, 5, label_names=["bad", "good"]).save_pretrained(tmp_path / "m")
    return tmp_path / "m"


def change_config(directory: Path, **changes: object) -> None:
    path = directory / "config.json"
    config = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not None}))


def change_tensors(directory: Path, change) -> None:
    """Changes the tensors and updates the checksum, as if they had been saved so."""
    path = directory / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)
    sums = json.loads((directory / "config.json").read_text())["sha256"]
    change_config(directory, sha256={**sums, path.name: sha256(path)})


def test_the_config_has_the_checksum_of_every_other_file(saved):
    config = json.loads((saved / "config.json").read_text())
    assert config["sha256"] == {name: sha256(saved / name) for name in SUMMED}
    assert {*SUMMED, "config.json"} == {path.name for path in saved.iterdir()}


def test_all_files_may_be_read_by_the_same_people(saved):
    assert len({path.stat().st_mode for path in saved.iterdir()}) == 1


@pytest.mark.parametrize("name", SUMMED)
def test_every_flipped_bit_is_noticed(saved, name):
    path = saved / name
    content = path.read_bytes()
    rng = random.Random(0)
    for _ in range(40):
        damaged = bytearray(content)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(ModelError, match=rf"{name}: damaged or changed since it was saved"):
            load_pretrained(saved)


def test_a_model_saved_without_checksums_is_read(saved):
    change_config(saved, sha256=None)
    assert "sha256" not in json.loads((saved / "config.json").read_text())
    assert load_pretrained(saved).label_names == ("bad", "good")


@pytest.mark.parametrize(
    "sums", [1, [], {}, {"model.safetensors": "00"}, {"a": "0", "b": "0"}, dict.fromkeys(SUMMED, 1)]
)
def test_invalid_checksums(saved, sums):
    change_config(saved, sha256=sums)
    with pytest.raises(ModelError, match=r"config\.json: expected checksums of .* in 'sha256'"):
        load_pretrained(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": 0}, "expected a format version from 1, got 0"),
        ({"format_version": -1}, "expected a format version from 1, got -1"),
        ({"format_version": True}, "expected a format version from 1, got True"),
        ({"format_version": "1"}, "expected a format version from 1, got '1'"),
        ({"format_version": 1.0}, "expected a format version from 1, got 1.0"),
        ({"format_version": 3}, "format version 3, but graphsent"),
    ],
)
def test_versions_of_the_format(saved, changes, message):
    change_config(saved, **changes)
    with pytest.raises(ModelError, match=message):
        load_pretrained(saved)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hidden": 10**12}, "hidden: expected at most 1000000, got 1000000000000"),
        ({"hidden": 1e12}, "hidden: expected an integer, got 1000000000000.0"),
        ({"hidden": 999_999}, "has shape .* but its config and vocabulary imply"),
        ({"embedding_dim": 10**30}, "embedding_dim: expected at most"),
        ({"num_classes": 999_999, "label_names": None}, "has shape"),
        ({"hidden": True}, "hidden: expected an integer, got True"),
        ({"hidden": "5"}, "hidden: expected an integer, got '5'"),
        ({"hidden": [5]}, "hidden: expected an integer"),
        ({"hidden": None}, "hidden: expected an integer, got None"),
        ({"hidden": 0}, "hidden: expected at least 1, got 0"),
        ({"dropout": "half"}, "dropout: expected a number, got 'half'"),
        ({"dropout": 1e999}, "config.json: damaged or truncated: Infinity is not a JSON number"),
        ({"cell": 3}, "cell: expected a string, got 3"),
        ({"sparse_embedding": 1}, "sparse_embedding: expected true or false, got 1"),
        ({"label_names": ["good", "good"]}, "label_names: expected distinct names, got 'good'"),
        ({"label_names": ["bad", 3]}, "label_names: expected a list of strings"),
        ({"label_names": "ab"}, "label_names: expected a list of strings, got 'ab'"),
        ({"label_names": {"a": 1, "b": 2}}, "label_names: expected a list of strings"),
        ({"label_names": ["bad"]}, "label_names: expected 2 names, one per class"),
    ],
)
def test_invalid_arguments(saved, arguments, message):
    before = json.loads((saved / "config.json").read_text())["arguments"]
    change_config(saved, arguments={**before, **arguments})
    with pytest.raises(ModelError, match=message) as caught:
        load_pretrained(saved)
    assert str(saved) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("trees", "message"),
    [
        ({"kind": "dependency", "size": 3}, "unexpected keyword argument 'size'"),
        ({"parser": "spacy"}, "missing 1 required positional argument: 'kind'"),
        ({"kind": "dependency", "parser": 3}, "expected strings, got .*3"),
        ({"kind": "leaves"}, "unknown kind 'leaves'"),
    ],
)
def test_invalid_sources_of_trees(saved, trees, message):
    change_config(saved, trees=trees)
    with pytest.raises(ModelError, match=f"{saved}: wrong 'trees': .*{message}"):
        load_pretrained(saved)


def test_a_missing_parameter(saved):
    change_tensors(saved, lambda tensors: tensors.pop("output.bias"))
    with pytest.raises(ModelError, match=r"the parameter 'output\.bias' of its config is missing"):
        load_pretrained(saved)


def test_an_encoder_for_a_model_without_one(saved):
    with pytest.raises(ModelError, match="has no encoder, but one was given: bert"):
        load_pretrained(saved, encoder="bert")


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json"])
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "1" * 10_000, "nul", ""])
def test_invalid_json(saved, name, text):
    change_config(saved, sha256=None)
    (saved / name).write_text(text)
    with pytest.raises(ModelError, match=name.replace(".", r"\.")) as caught:
        load_pretrained(saved)
    assert len(str(caught.value)) < 500


def test_a_vocabulary_nested_too_deeply(tmp_path):
    (tmp_path / "v.json").write_text("[" * 100_000)
    with pytest.raises(DataError, match=r"v\.json: expected a vocabulary in JSON"):
        Vocabulary.load(tmp_path / "v.json")


def with_value(value: float):
    def change(tensors):
        tensors["output.weight"][0, 0] = value

    return change


def as_type(dtype: torch.dtype, *names: str):
    def change(tensors):
        for name in names or tensors:
            tensors[name] = tensors[name].to(dtype)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_value(float("nan")), "parameter 'output.weight' contains NaN or infinity"),
        (with_value(float("inf")), "parameter 'output.weight' contains NaN or infinity"),
        (as_type(torch.int64), "is of type torch.int64, expected torch.float32"),
        (as_type(torch.int32, "output.weight"), "'output.weight' is of type torch.int32"),
        (as_type(torch.bool), "is of type torch.bool, expected torch.float32"),
        (as_type(torch.float64, "output.weight"), "is of type torch.float"),
        (as_type(torch.float8_e4m3fn), "is of type torch.float8_e4m3fn"),
    ],
)
def test_tensors_that_are_not_weights(saved, change, message):
    change_tensors(saved, change)
    with pytest.raises(ModelError, match=message):
        load_pretrained(saved)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_floating_types_are_read(saved, dtype):
    change_tensors(saved, as_type(dtype))
    assert load_pretrained(saved).output.weight.dtype == dtype


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_invalid_model_is_not_saved_over_a_valid_one(tmp_path, value):
    model = NBoW(VOCAB, 2, 4)
    model.save_pretrained(tmp_path / "model")
    with torch.no_grad():
        model.output.weight[0, 0] = value
    with pytest.raises(
        ModelError, match=r"cannot save nbow: the parameter 'output.weight' contains"
    ):
        model.save_pretrained(tmp_path / "model")
    assert load_pretrained(tmp_path / "model").output.weight.isfinite().all()


KILLED = """
import os, sys
from graphsent.models import NBoW
from graphsent.vocabulary import Vocabulary
rename, calls = os.replace, []
def kill_at_second(source, target):
    if os.path.isdir(source):
        calls.append(source)
        if len(calls) == 2:
            os._exit(9)
    rename(source, target)
os.replace = kill_at_second
NBoW(Vocabulary(["a", "b"]), 2, 6).save_pretrained(sys.argv[1])
"""


@pytest.mark.skipif(os.name == "nt", reason="processes that are gone")
def test_leftovers_of_a_killed_save_are_removed_by_the_next(tmp_path):
    directory = tmp_path / "model"
    NBoW(VOCAB, 2, 4).save_pretrained(directory)
    # Killed between the two renames, while the old model has another name.
    assert subprocess.run([sys.executable, "-c", KILLED, directory], check=False).returncode == 9
    assert not directory.exists()
    assert load_pretrained(directory).config["embedding_dim"] == 4
    NBoW(VOCAB, 2, 6).save_pretrained(directory)
    assert load_pretrained(directory).config["embedding_dim"] == 6
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


LIMITED = """
import resource, signal, sys
from graphsent.models import NBoW
from graphsent.vocabulary import Vocabulary
model = NBoW(Vocabulary(map(str, range(1000))), 2, 100)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    model.save_pretrained(sys.argv[1])
except OSError as error:
    print(error.filename, error.strerror)
"""


@pytest.mark.skipif(os.name == "nt", reason="limits of resources")
def test_a_file_beyond_the_size_limit_is_an_os_error(tmp_path):
    command = [sys.executable, "-c", LIMITED, tmp_path / "model"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == f"{tmp_path / 'model'} File too large\n", done.stderr
    assert list(tmp_path.iterdir()) == []
