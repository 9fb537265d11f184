"""Whole steps of ``graphsent train`` and its contenders, after some training.

Every model first takes untimed steps, so that weights, gradients and optimizer states are
realistic. Contenders of a tree model are the program itself, the program with ``engine="dgl"``
(which continues from the state that the program has reached, since engines give the same numbers),
DyNet, and for the Tree-LSTM also DGL's own example. All of them are timed twice, with subnormal
numbers flushed and without; of other packages only one of the two trains, and the second continues
from its state. The program is also timed on the same batches with the weights it begins with: steps
must not become slower as weights change.

The timed batches are the next ones of the run, collated once before timing, since in all epochs but
the first, trees have been seen before.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

from graphsent.errors import GraphsentError
from graphsent.training import RunConfig, TrainingOptions
from graphsent.training.config import default_training
from graphsent.training.setting import Setting, prepare

from .bench import Bench, quiet_dgl
from .measuring import Contender
from .options import DGL, FIRST, PROGRAM, TREE_MODELS, WITH_TREES
from .trainees import Beginner, Trainee, examples_of, portions

FLUSHED = ", flushed"
# Names in the results of models with other options or another loss than by default.
VARIANTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "sequence-sentences": ("sequence", {"phrases": False}, "root"),
}
TASKS = {"arnn-relatedness": "sick", "parse-reranker": "rerank"}
# Distribution, module of ``peers``, class.
PEERS = (("DGL", "dgl_example", "DglExample"), ("dynet38", "dynet38", "DyNet"))
TASK = "sst5"


def run_training(bench: Bench) -> None:
    """All requested models."""
    for name in bench.options.models:
        try:
            config = config_of(
                name,
                bench.options.data_dir,
                bench.options.vectors,
                num_threads=bench.options.threads,
            )
            setting = prepare(config, lambda line, name=name: bench.say(line))
        except GraphsentError as error:
            bench.results.note(bench.section, f"{name} is left out: {error}")
            continue
        own = (setting.config.training.batch_size,)
        for size in bench.options.training_batch_sizes if name in TREE_MODELS else own:
            with quiet_dgl(), ExitStack() as stack:
                _compare(bench, name, setting, size, stack)


def config_of(
    name: str, data_dir: str | None, vectors: tuple[str, ...] = (), **options: Any
) -> RunConfig:
    """The configuration of a model's run with default options, or of a variant."""
    model, model_options, nodes = VARIANTS.get(name, (name, {}, "all"))
    return RunConfig(
        TASKS.get(model, TASK),
        model,
        model_options=model_options,
        data_dir=data_dir,
        vectors=vectors,
        training=replace(default_training(model), loss_nodes=nodes, **options),
    )


def _compare(bench: Bench, name: str, setting: Setting, size: int, stack: ExitStack) -> None:
    """Trains all contenders that compute the same results, and times them in turn."""
    steps, examples = bench.options.steps, examples_of(setting)
    training = replace(setting.config.training, batch_size=min(size, len(examples)))
    batches = portions(examples, training, steps + max(1, bench.options.trees_a_round // size))
    untimed, timed = batches[:steps], batches[steps:]
    for batch in timed:
        setting.model.collate(batch.examples)

    def program(label: str, make: type[Trainee] = Trainee, **options: Any) -> Trainee:
        return stack.enter_context(closing(make(setting, training, label, **options)))

    ours = [program(PROGRAM)]
    theirs: list[Contender] = []
    peers: list[Contender] = []
    if name in WITH_TREES:
        ours.append(program(PROGRAM, flush=not ours[0].flush))
        theirs = [program(DGL, engine="dgl", flush=each.flush) for each in ours]
        peers = _peers(bench, name, setting, training)
    contenders = [*ours, *theirs, *peers, program(FIRST, Beginner)]
    for each in contenders:
        each.name += FLUSHED * each.flush
    case = {"model": name, "batch": size}
    same = bench.agreeing(case, contenders, timed[0])
    for each in (*ours, *peers[::2]):
        bench.say(f"{name}, batch {size}, {each.name}: first steps")
        for batch in untimed:
            each.step(each.prepare(batch))
    # The others would only repeat these steps.
    for each, source in zip((*theirs, *peers[1::2]), (*ours, *peers[::2]), strict=False):
        each.take(source)
    users = {ours[0].name, DGL, contenders[-1].name, *(each.name for each in peers[::2])}
    for row in bench.measure(case, same, timed, ["step"]):
        row.users = row.contender in users
        row.case = {**row.case, "flushed": row.contender.endswith(FLUSHED)}
        row.contender = row.contender.removesuffix(FLUSHED)
        row.trees = sum(len(batch.examples) for batch in timed)
    bench.save()


def _peers(bench: Bench, name: str, setting: Setting, training: TrainingOptions) -> list[Contender]:
    """Installed packages that have the model, each twice.

    First flushing subnormals as users run it, then otherwise.
    """
    makers = [bench.installed(*peer) for peer in PEERS]
    return [
        make(setting.model, training, flush)
        for make in makers
        if make and name in make.models
        for flush in (make.users_flush, not make.users_flush)
    ]
