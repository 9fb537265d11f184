"""Custom models, named as ``module:Class``."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from commands import status_of
from toy_treebank import write_treebank

import graphsent
from graphsent._own import reason_of
from graphsent.cli import main
from graphsent.errors import ModelError
from graphsent.models import TreeLSTMClassifier, load_pretrained, model_class
from graphsent.training import RunConfig, TrainingOptions, load_model, train

MODULE = '''
from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch

from graphsent.cells import ChildSumTreeLSTM
from graphsent.models import (
    Model, NBoW, TreeClassifier, TreeEncoder, TreeLSTMClassifier
)

if TYPE_CHECKING:
    from nowhere import Vocabulary


class Mine(TreeClassifier):
    """Classifies nodes.

    Args:
        hidden: Length of a state.
    """

    name = "mine"
    training_defaults = {"lr": 0.03}
    task_defaults = {"sst5": {"shout": True}}

    def __init__(
        self, vocab, num_classes, embedding_dim=6, *, hidden: int = 4, shout=False, **options
    ):
        super().__init__(
            vocab, num_classes, embedding_dim=embedding_dim, num_features=hidden, **options
        )
        self.encoder = TreeEncoder(ChildSumTreeLSTM(embedding_dim, hidden))


class Kept(TreeLSTMClassifier):
    """It has the name of its base."""


class Needs(Mine):
    def __init__(self, vocab, num_classes, depth: int, **options):
        super().__init__(vocab, num_classes, **options)


class Nameless(TreeClassifier):
    pass


class Abstract(Model):
    name = "abstract"

    def __init__(self, vocab, num_classes):
        super().__init__(vocab, 4, 4)


class Backwards(NBoW):
    def __init__(self, num_classes, vocab):
        super().__init__(vocab, num_classes)


class Clash(NBoW):
    def __init__(self, vocab, num_classes, seed=0):
        super().__init__(vocab, num_classes)


class Optimized(NBoW):
    training_defaults = {"lrr": 0.1}


class Listed(NBoW):
    training_defaults = ["lr"]


class Flat(NBoW):
    task_defaults = {"sst5": 3}


class Lazy(NBoW):
    def __init__(self, vocab, num_classes):
        pass


class Later(NBoW):
    def __init__(self, vocab, num_classes):
        raise NotImplementedError("not yet")


class OffMeta(NBoW):
    def __init__(self, vocab, num_classes, **options):
        super().__init__(vocab, num_classes, **options)
        if any(each.is_meta for each in self.parameters()):
            raise NotImplementedError("not on the meta device")


class Ends(NBoW):
    def __init__(self, vocab, num_classes):
        raise SystemExit(0)


class Detached(NBoW):
    def forward(self, batch):
        return super().forward(batch).detach()


class Unsaved(NBoW):
    def __init__(self, vocab, num_classes, things: object = frozenset((1,)), **options):
        super().__init__(vocab, num_classes, **options)


class Broken(NBoW):
    def __init__(self, vocab, num_classes, **options):
        super().__init__(vocab, num_classes, **options)
        self.width = options["width"]


class Typed(NBoW):
    def __init__(
        self,
        vocab,
        num_classes,
        kind: Literal["sum", "mean"] = "sum",
        most: int | None = None,
        widths: tuple[int, ...] = (2,),
    ):
        super().__init__(vocab, num_classes)


class Fixed(NBoW):
    def __init__(self, vocab, num_classes):
        super().__init__(vocab, num_classes)


class Passes(TreeLSTMClassifier):
    def __init__(self, vocab, num_classes, **options):
        super().__init__(vocab, num_classes, **options)


class Sets(TreeLSTMClassifier):
    def __init__(self, vocab, num_classes, **options):
        super().__init__(vocab, num_classes, hidden=4, dropout=0.1, **options)


class Collates(NBoW):
    def collate(self, trees):
        return {"gold": [1]}


class Fails(NBoW):
    def collate(self, trees):
        return trees[0].nothing


class Wide(NBoW):
    def forward(self, batch):
        return super().forward(batch)[:, :3]


class Pooled(NBoW):
    def forward(self, batch):
        return super().forward(batch).mean(0)


class Loses(NBoW):
    def loss(self, outputs, batch, nodes="all"):
        return outputs.sum(0)


class Predicts(NBoW):
    def predict(self, trees, batch_size=64):
        return super().predict(list(trees)[:1])


function = print
'''

RUN = ["--data-dir=data", "--out=run", "--epochs=1"]
TREE = "(3 (2 a) (3 film))\n"


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """The current directory, which holds a module with models and data."""
    write_treebank(tmp_path / "data")
    (tmp_path / "own_models_here.py").write_text(MODULE)
    (tmp_path / "tree.txt").write_text(TREE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each not in ("", ".")])
    yield tmp_path
    sys.modules.pop("own_models_here", None)


def forget() -> None:
    """Forgets what a new process would not know."""
    sys.modules.pop("own_models_here", None)
    if str(Path.cwd()) in sys.path:
        sys.path.remove(str(Path.cwd()))


def refused(capsys, *arguments: str) -> str:
    """The single line of output of a command."""
    forget()
    capsys.readouterr()
    status = status_of(arguments)
    assert status == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def trained(*arguments: str, model: str = "Mine") -> None:
    options = [*RUN, "--num-threads=1", *arguments]
    assert main(["train", "--task=sst5", f"--model=own_models_here:{model}", *options]) == 0
    forget()


def test_a_custom_model_is_trained_resumed_and_evaluated(here, capsys):
    trained("--hidden=5", "--embedding-dim=3", "--test")
    config = RunConfig.load("run/config.yaml")
    assert config.model == "own_models_here:Mine"
    assert config.model_options["hidden"] == 5
    assert config.model_options["shout"] is True  # by its task_defaults
    assert config.training.lr == 0.03
    assert "own_models_here" not in sys.modules  # reading a run does not run code
    results = json.loads(Path("run/results.json").read_text())
    assert set(results["test"]) == {"root_accuracy", "phrase_accuracy"}
    assert main(["train", "--resume=run", "--epochs=2"]) == 0
    forget()
    assert main(["evaluate", "run"]) == 0
    assert "test: root accuracy" in capsys.readouterr().out
    forget()
    assert main(["config", "check", "run/config.yaml"]) == 0
    forget()
    card = Path("run/model/README.md").read_text()
    assert "--model-class own_models_here:Mine" in card
    assert "import graphsent\nfrom own_models_here import Mine\n\nmodel =" in card
    assert 'graphsent.load("DIRECTORY", model_class=Mine)' in card
    (here / "own_models_here.py").unlink()
    assert "there is no module 'own_models_here'" in refused(capsys, "evaluate", "run")


@pytest.mark.parametrize(
    "command",
    [
        ["predict", "run", "tree.txt"],
        ["encode", "run", "tree.txt"],
        ["draw", "tree.txt", "--model=run", "--out=tree.svg"],
        ["inspect", "run", "filters", "tree.txt"],
    ],
    ids=lambda command: command[0],
)
def test_its_code_runs_only_on_request(here, capsys, command):
    trained()
    line = refused(capsys, *command)
    assert "whose code runs only on request: pass --model-class own_models_here:Mine" in line
    assert "own_models_here" not in sys.modules
    asked = [*command, "--model-class=own_models_here:Mine"]
    if command[0] == "inspect":  # it has no convolution
        assert "own_models_here" not in refused(capsys, *asked)
    else:
        assert main(asked) == 0
    assert "own_models_here" in sys.modules
    for wrong, message in (
        ("own_models_here:Mien", "did you mean 'own_models_here:Mine'"),
        ("treelstm", "expected a model 'treelstm' for TreeLSTMClassifier, got 'mine'"),
    ):
        assert message in refused(capsys, *command, f"--model-class={wrong}")


@pytest.mark.parametrize("form", ["run", "runs"])
def test_a_run_in_the_way_does_not_import_its_class(here, capsys, form, monkeypatch):
    """A missing option, for instance of a later version, is no reason to import its class."""
    installed = here / "installed"
    installed.mkdir()
    (here / "own_models_here.py").rename(installed / "own_models_here.py")
    monkeypatch.syspath_prepend(installed)
    config = {"task": "sst5", "model": "own_models_here:Mine", "training": {"epochs": 1}}
    several = {"config": config, "folds": [], "seeds": [0], "test": True}
    Path("run").mkdir()
    if form == "run":
        Path("run/config.yaml").write_text(yaml.safe_dump(config))
        Path("run/last.ckpt").touch()
    else:
        Path("run/runs.yaml").write_text(yaml.safe_dump(several))
    line = refused(
        capsys, "train", "--task=sst5", "--model=nbow", *RUN, *(["--seeds=0"] * (form == "runs"))
    )
    assert "run holds " in line
    assert "own_models_here" not in sys.modules


def test_a_class_that_can_no_longer_be_constructed(here, capsys):
    trained()
    changed = MODULE.replace("        self.encoder", "        assert 0\n        self.encoder")
    (here / "own_models_here.py").write_text(changed)
    line = refused(capsys, "predict", "run", "tree.txt", "--model-class=own_models_here:Mine")
    assert re.search(r"cannot build Mine: AssertionError: \(.*own_models_here.py:\d+\)$", line)


def test_a_module_that_ends_the_process(here, capsys):
    (here / "own_script_here.py").write_text("raise SystemExit(0)")
    line = refused(capsys, "train", "--task=sst5", "--model=own_script_here:Mine", *RUN)
    assert line.endswith("own_script_here cannot be imported: SystemExit: 0")


def test_a_custom_model_in_python(here, monkeypatch):
    monkeypatch.syspath_prepend(here)
    training = TrainingOptions(epochs=1, num_threads=1)
    config = RunConfig("sst5", "own_models_here:Mine", data_dir="data", training=training)
    train(config, "run", echo=lambda line: None)
    cls = model_class("own_models_here:Mine")
    (expected,) = cls.from_pretrained("run/model").predict([TREE])
    for model in (
        graphsent.load("run", model_class=cls),
        load_model("run", model_class=cls),
        load_pretrained("run/model", model_class=cls),
    ):
        assert type(model) is cls
        assert (model.predict([TREE])[0].probabilities == expected.probabilities).all()
    with pytest.raises(ModelError, match="is own_models_here:Mine, whose code runs only on"):
        graphsent.load("run")


def test_a_class_with_the_name_of_its_base_is_not_loaded_as_its_base(here, capsys):
    trained("--embedding-dim=4", "--hidden=3", model="Kept")
    assert "the class of the model 'treelstm' is own_models_here:Kept" in refused(
        capsys, "predict", "run", "tree.txt"
    )
    with pytest.raises(ModelError, match="own_models_here:Kept, not TreeLSTMClassifier"):
        TreeLSTMClassifier.from_pretrained("run/model")
    assert main(["predict", "run", "tree.txt", "--model-class=own_models_here:Kept"]) == 0


def test_its_arguments_are_options_in_the_help(here, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["train", "--task=sst5", "--model=own_models_here:Mine", "--help-all"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "options of the model own_models_here:Mine: --embedding-dim" in shown
    assert "--hidden HIDDEN Length of a state. (default: 4)" in shown
    assert re.search("--shout .*?(default: True)", shown)  # by its task_defaults
    assert "--dropout DROPOUT Dropout probability" in shown  # of the base
    assert "Learning rate, except of word vectors and an encoder. (default: 0.03)" in shown


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("own_models_here:", "unknown model 'own_models_here:': expected one of .*module:Class"),
        (
            "own_models_here:Mien",
            "'Mien' in own_models_here does not exist.*did you mean 'own_models_here:Mine'",
        ),
        (
            "own_models_here:function",
            "'function' in own_models_here is not a subclass of graphsent.models.Model",
        ),
        ("own_model_here:Mine", "no module 'own_model_here'; did you mean 'own_models_here'"),
        ("own_models_here:Nameless", "Nameless: expected a name in the class, such as name ="),
        ("own_models_here:Abstract", "the class has no collate and no forward and no predict"),
        ("own_models_here:Backwards", "expected vocab as first argument of the constructor, got n"),
        ("own_models_here:Needs", "own_models_here:Needs needs the option 'depth'"),
        (
            "own_models_here:Clash",
            "has an option 'seed', but this command already has an option --seed",
        ),
        ("own_models_here:Optimized", "unknown training option of own_models_here:Optimized 'lrr'"),
        ("own_models_here:Listed", r"expected training_defaults to be a dictionary .*\['lr'\]"),
        ("own_models_here:Flat", "expected task_defaults to be a dictionary .* got {'sst5': 3}"),
        ("own_models_here:Lazy", r"Lazy: its constructor does not call super\(\)\.__init__"),
        (
            "own_models_here:Ends",
            r"Ends cannot be created: SystemExit: 0 \(.*own_models_here.py:\d+",
        ),
        (
            "own_models_here:Later",
            r"cannot be created: NotImplementedError: not yet \(.*here.py:\d+",
        ),
        ("own_models_here:Detached", "loss: it has no gradient, so nothing would be learned"),
        ("own_models_here:Sets", r"multiple values for keyword argument 'dropout' .*here.py:\d+"),
        ("own_models_here:Unsaved", "things=.* is not a JSON value"),
        (
            "own_models_here:Broken",
            r"cannot be created: KeyError: 'width' \(.*own_models_here.py:\d+",
        ),
        ("own_models_here:Collates", "collate: expected a batch with 'gold', got dict"),
        ("own_models_here:Fails", r"collate: AttributeError: .*own_models_here.py:\d+\)$"),
        ("own_models_here:Wide", r"forward: expected outputs of shape \(\d+, 5\), .*got \(\d+, 3"),
        ("own_models_here:Pooled", r"forward: expected outputs of shape .* got \(5,\)"),
        ("own_models_here:Loses", r"loss: expected one number, got \(5,\)"),
        ("own_models_here:Predicts", "predict: expected as many predictions, got 1 for 2 examples"),
    ],
)
def test_invalid_models_are_rejected_before_anything_is_written(here, capsys, model, message):
    before = sorted(here.iterdir())
    line = refused(capsys, "train", "--task=sst5", f"--model={model}", *RUN)
    assert re.search(message, line)
    assert [each for each in sorted(here.iterdir()) if each.name != "__pycache__"] == before


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--kind=max", "--kind: expected one of 'sum', 'mean', got 'max'"),
        ("--most=many", "--most: expected an integer or null, got 'many'"),
        ("--widths=wide", "--widths: expected a list such as [2,3], got 'wide'"),
        ("--widths=[2,x]", "--widths: expected an integer, got 'x'"),
    ],
)
def test_values_of_another_type(here, capsys, option, message):
    arguments = ["train", "--task=sst5", "--model=own_models_here:Typed", option, *RUN]
    assert message in refused(capsys, *arguments)


def test_options_of_several_types(here):
    trained("--kind=mean", "--most=3", "--widths=[2,4]", model="Typed")
    options = RunConfig.load("run/config.yaml").model_options
    assert options == {"kind": "mean", "most": 3, "widths": [2, 4]}


def test_vectors_need_an_option_embedding_dim(here, capsys):
    (here / "v.txt").write_text("film 0.1 0.2\n")
    arguments = ["--task=sst5", "--model=own_models_here:Fixed", "--vectors=v.txt", *RUN]
    line = refused(capsys, "train", *arguments)
    assert "own_models_here:Fixed has no option 'embedding_dim'" in line
    way = "let the constructor of Fixed take embedding_dim=48 and pass it on"
    assert line.endswith(f"; NBoW has it: {way}")


def test_options_that_only_its_base_has(here, capsys):
    model = "--model=own_models_here:Passes"
    line = refused(capsys, "train", "--task=sst5", model, "--hidden=5", *RUN)
    way = "let the constructor of Passes take hidden=150 and pass it on"
    message = f"; TreeLSTMClassifier has it: {way}"
    assert f"unrecognized arguments: --hidden=5{message} (see" in line
    text = "task: sst5\nmodel: own_models_here:Passes\nmodel_options:\n  hidden: 3\n"
    (here / "my.yaml").write_text(text)
    line = refused(capsys, "train", "--config=my.yaml", *RUN)
    assert line.endswith(message)


def test_settings_of_a_model_that_cannot_be_built_on_the_meta_device(here, capsys):
    (here / "my.yaml").write_text("task: sst5\nmodel: own_models_here:OffMeta\n")
    forget()
    assert main(["config", "check", "my.yaml"]) == 0
    assert main(["train", "--config=my.yaml", "--data-dir=data", "--epochs=1", "--out=run"]) == 0
    assert main(["config", "check", "run/config.yaml"]) == 0


def test_its_settings_are_checked(here, capsys):
    text = "task: sst5\nmodel: own_models_here:Mine\nmodel_options:\n  hiden: 3\n"
    (here / "my.yaml").write_text(text)
    forget()
    assert main(["config", "check", "my.yaml"]) == 2
    assert "my.yaml:4: own_models_here:Mine has no option 'hiden'" in capsys.readouterr().err
    (here / "my.yaml").write_text(text.replace("Mine", "Mien").replace("  hiden: 3\n", "  {}\n"))
    assert main(["config", "check", "my.yaml"]) == 2
    assert "my.yaml:2: unknown model 'own_models_here:Mien'" in capsys.readouterr().err
    (here / "my.yaml").write_text(text.replace("hiden", "hidden") + "training:\n  epochs: 1\n")
    forget()
    assert main(["train", "--config=my.yaml", "--data-dir=data", "--out=run"]) == 0
    config = RunConfig.load("run/config.yaml")
    assert config.model_options["hidden"] == 3
    assert config.training.lr == 0.03


def test_an_error_in_a_class_of_a_notebook_has_its_line(monkeypatch):
    notebook = ModuleType("__main__")  # without a file
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    code = "class Bad:\n    def __init__(self):\n        self.nothing\n"
    exec(compile(code, "<cell 1>", "exec"), vars(notebook))
    with pytest.raises(AttributeError) as caught:
        notebook.Bad()
    expected = "AttributeError: 'Bad' object has no attribute 'nothing' (<cell 1>:3)"
    assert reason_of(caught.value, notebook.Bad) == expected
