"""Tables and configurations: the shipped ones, and malformed files."""

from __future__ import annotations

import json
import re

import pytest

from graphsent.errors import DataError
from graphsent.models import model_class
from graphsent.reproduction import Catalogue, FinishedRuns, entries, verdicts
from graphsent.reproduction.configurations import _merged, different_settings
from graphsent.reproduction.markdown import as_markdown, summary
from graphsent.tasks import get_task
from graphsent.training import RunConfig
from graphsent.training.building import completed, model_options

SHIPPED = Catalogue()
TABLES = """
apdcnn-1 arnn-2 arnn-3 bitreelstm-sst bitreelstm-trec contextual controls dcnn-sst dcnn-trec rerank
treelstm treenet-2 treenet-3
"""


def test_the_tables_of_the_papers_are_shipped():
    assert list(SHIPPED.tables) == TABLES.split()


@pytest.mark.parametrize("name", SHIPPED.configurations)
def test_a_shipped_configuration_can_be_run(name):
    configuration = SHIPPED.configurations[name]
    config = configuration.run_config()  # names and values of all training options
    task = get_task(config.task, **config.task_options)
    assert not set(config.model_options) - set(model_options(config.model))
    assert model_class(config.model).examples == task.examples
    assert config.training.num_threads == 1
    assert configuration.chosen
    assert name in {each for table in SHIPPED.tables.values() for each in table.configurations}


@pytest.mark.parametrize(
    ("name", "size"), [("nbow-tuned-sst5", 0), ("treelstm-tuned-sst5", None), ("nbow-sst5", 48)]
)
def test_an_encoder_alone_has_no_word_vectors_beside_it(name, size):
    config = completed(SHIPPED.configurations[name].run_config())
    assert config.model_options.get("embedding_dim") == size


@pytest.mark.parametrize("table", SHIPPED.tables.values(), ids=SHIPPED.tables)
def test_a_shipped_table_has_metrics_of_its_tasks(table):
    for result in table.results:
        config = SHIPPED.configurations[result.configuration].run_config()
        task = get_task(config.task, **config.task_options)
        if task.goal == "ranking":
            metrics = {"f1", "one_best_f1", "oracle_f1"}
        elif task.goal == "regression":
            metrics = {"pearson", "spearman", "mse"}
        else:
            metrics = {str(name) for name in task.metrics()}
        assert set(result.paper) <= metrics
    for each in table.comparisons:
        tasks = {SHIPPED.configurations[name].config["task"] for name in (each.first, each.second)}
        assert len(tasks) == 1


def test_the_committed_report_is_that_of_the_committed_runs(repository):
    committed = json.loads((repository / "docs" / "results.json").read_text())
    finished = FinishedRuns(repository / "docs" / "results")
    command = "graphsent reproduce --report --into README.md"
    assert committed == entries(SHIPPED, finished), command
    compared = verdicts(SHIPPED, finished)
    page = as_markdown(SHIPPED, finished, committed, compared, fast=False)
    assert (repository / "docs" / "results.md").read_text(encoding="utf-8") == page, command
    main_results = summary(SHIPPED, committed, compared)
    assert main_results in page
    assert main_results in (repository / "README.md").read_text(encoding="utf-8"), command


def test_settings_are_merged_part_by_part(catalogue):
    left = catalogue.configuration("toy-tree-left")
    assert left.config["model_options"] == {"hidden": 6, "dropout": 0.0}
    assert left.config["trees"] == "left"
    assert left.config["vectors"] == ["tiny.txt"]
    assert left.minutes == 0.2
    assert left.deviations == ("smaller", "left-branching trees")
    assert left.chosen == "as for `toy-tree`"
    tree = catalogue.configuration("toy-tree")
    assert different_settings(tree, left) == {"trees": ("parsed", "left")}


def test_deviations_of_parses_are_left_out_with_artificial_trees(shipped):
    path = shipped / "configurations" / "toy.yaml"
    path.write_text(path.read_text().replace("[smaller]", "[{parses: other trees}, smaller]"))
    found = Catalogue().configurations
    assert found["toy-tree"].deviations == ("other trees", "smaller")
    assert found["toy-tree-left"].deviations == ("smaller", "left-branching trees")


def test_the_digest_depends_only_on_settings_and_revision(catalogue, shipped):
    before = {name: each.digest for name, each in catalogue.configurations.items()}
    path = shipped / "configurations" / "toy.yaml"
    text = path.read_text()
    path.write_text(text.replace("minutes: 0.1", "minutes: 7").replace("as they came", "known"))
    assert {name: each.digest for name, each in Catalogue().configurations.items()} == before
    path.write_text(text.replace("hidden: 6", "hidden: 7"))
    after = {name: each.digest for name, each in Catalogue().configurations.items()}
    assert [after[name] == before[name] for name in after] == [True, False, False]
    path.write_text(text.replace("revision: 1", "revision: 2"))
    renewed = {each.digest for each in Catalogue().configurations.values()}
    assert not renewed & set(before.values())


def test_main_results_and_first_seeds_come_first(catalogue, shipped):
    runs = catalogue.runs(catalogue.asked(["all"]), [0, 3])
    assert [run.name for run in runs] == [
        "toy-tree/seed-0",
        "toy-tree/seed-3",
        "toy-nbow/seed-0",
        "toy-tree-left/seed-0",
        "toy-nbow/seed-3",
        "toy-tree-left/seed-3",
    ]
    path = shipped / "tables" / "toys.yaml"
    path.with_name("zoo.yaml").write_text(path.read_text().replace("main: true, ", ""))
    again = Catalogue()
    assert again.runs(again.asked(["all"]), [0, 3]) == runs  # what is main in one table comes first


def test_a_task_with_folds_is_run_on_all_of_them():
    (table,) = SHIPPED.asked(["treenet-3"])
    runs = SHIPPED.runs([table], [0])
    assert {(run.kind, run.number) for run in runs} == {("fold", fold) for fold in range(10)}
    assert runs[0].run_config().task_options["fold"] == runs[0].number


def test_the_fast_version_has_fewer_epochs_and_runs(catalogue):
    (run, second) = (
        each
        for each in catalogue.runs(catalogue.asked(["toys"]), range(5), fast=True)
        if each.configuration.name == "toy-nbow"
    )
    assert run.run_config().training.epochs == 2
    assert second.number == 1
    assert run.configuration.minutes == 0.1 / 4
    assert run.configuration.digest != catalogue.configuration("toy-nbow").digest


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("configurations/toy", "of: toy-tree", "of: toy-three", "did you mean 'toy-tree'"),
        ("configurations/toy", "chosen:", "choosen:", "unknown entry 'choosen'"),
        ("configurations/toy", "minutes: 0.1", "minutes: 0", "toy-nbow: expected the minutes"),
        ("configurations/toy", "{model: nbow}", "{model: nbow", "toy.yaml: expected YAML"),
        ("configurations/toy", "toy-nbow:", "toy-nbag:", "table toys: unknown configuration"),
        ("configurations/toy", "minutes: 0.1", "minutes: x", "expected configurations"),
        ("configurations/toy", "{model: nbow}", "[model]", "expected configurations"),
        ("configurations/toy", "of: toy-tree", "<<: 3", "expected YAML"),
        ("configurations/toy", "\n    of: toy-tree\n", " 3\n  x:\n", "left: expected names with"),
        (
            "configurations/toy",
            "[smaller]",
            "[{trees: other}]",
            "expected configurations",
        ),
        ("tables/toys", "second: toy-nbow", "second: toy", "compares 'toy', which no row has"),
        ("tables/toys", "{root_accuracy: 51}", "{root_accuracy: x}", "expected metrics with"),
        ("tables/toys", "{root_accuracy: 51}", "51", "toys.yaml: trees: expected metrics with"),
        ("tables/toys", "{root_accuracy: 51}", "{root_accuracy: .nan}", "expected metrics with"),
        ("tables/toys", "{root_accuracy: 51}", "{}", "expected metrics with"),
        ("tables/toys", "main: true", "mian: true", "unknown entry 'mian'.*did you mean 'main'"),
        ("tables/toys", "- name: words", "- name: words\n    nmae: x", "unknown entry 'nmae'"),
        ("tables/toys", "title: Toys", "", "expected a table"),
    ],
)
def test_malformed_files(shipped, file, old, new, message):
    path = shipped / f"{file}.yaml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(DataError, match=message):
        Catalogue()


def test_a_name_occurs_once(shipped):
    path = shipped / "configurations" / "toy.yaml"
    path.with_name("again.yaml").write_text(path.read_text())
    with pytest.raises(DataError, match="'toy-nbow' is defined twice"):
        Catalogue()


def test_unknown_names(catalogue):
    with pytest.raises(DataError, match=r"unknown table 'toy': .* did you mean 'toys'"):
        catalogue.asked(["toy"])
    with pytest.raises(DataError, match="unknown configuration 'nbow'"):
        catalogue.configuration("nbow")


@pytest.fixture
def searches(repository):
    files = (repository / "docs" / "results" / "search").rglob("*.json")
    found = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    return [each for each in found if "choices" in each]


def test_the_settings_of_each_configuration_are_a_recorded_trial(searches):
    """Or those of another configuration, with other trees or without a part of the model."""
    tried = set()
    for each in searches:
        for trial in each["trials"]:
            config = each["shipped"]  # when the search was made
            for setting, value in trial["settings"].items():
                for part in reversed(setting.split(".")):
                    value = {part: value}
                config = _merged(config, value)
            if trial["dev"]:  # it did not fail
                tried.add(complete(config))
    found = {
        name
        for name, configuration in SHIPPED.configurations.items()
        if complete(configuration.config) in tried
    }
    for name in SHIPPED.configurations.keys() - found:
        configuration = SHIPPED.configurations[name]
        other = re.fullmatch(r"as for `(\S+)`", configuration.chosen)
        assert other is not None, name
        assert other[1] in found, name
        base = SHIPPED.configurations[other[1]]
        assert configuration.config["model"] == base.config["model"], name
        different = different_settings(configuration, base)
        assert not different.keys() - {"trees", "branches", "directions", "lexicalized"}, name


def complete(config):
    """All settings except those that each run of a trial has of its own."""
    settings = completed(RunConfig.from_dict(config)).to_dict()
    del settings["training"]["seed"]
    settings["task_options"].pop("fold", None)
    return json.dumps(settings, sort_keys=True)


def test_the_guide_states_what_the_searches_took(searches, repository):
    trials = [trial for each in searches for trial in each["trials"]]
    hours = sum(trial["minutes"] for trial in trials) / 60
    guide = (repository / "docs" / "guide" / "reproduce.md").read_text(encoding="utf-8")
    assert f"{len(trials)} trials, which took {hours:.0f} CPU hours" in " ".join(guide.split())
