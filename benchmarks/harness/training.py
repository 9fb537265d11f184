"""Whole steps of ``graphsent train`` and of what it is compared with, after some training.

Every model takes steps of its own first, so that weights, gradients and the state of optimizers are
those that users have and not fresh ones. Contenders of a tree model are the program itself, the
program with ``engine="dgl"`` (which is given the state that the program has reached: engines give
the same numbers), and for the Tree-LSTM DGL's own example and DyNet. All are there twice, with
subnormal numbers flushed and without; those of others train once, and the second one is given what
the first has reached. A copy of the model that is put back to its first steps before each turn says
what a step on the same batch has cost early in the run.

The timed batches are the next ones of the run, collated once before: in all epochs but the first
trees are known.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from graphsent.errors import GraphsentError
from graphsent.training import RunConfig
from graphsent.training.config import default_training
from graphsent.training.setting import Setting, prepare

from .bench import Bench, quiet_dgl
from .measuring import Contender
from .options import TREE_MODELS
from .trainees import Trainee, examples_of, portions

PROGRAM, EARLY, DGL = "graphsent train", "graphsent train, early", 'engine="dgl"'
FLUSHED = ", flushed"
# Name in the results: model, its options, and what enters the loss, where it is not the default.
VARIANTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "sequence-sentences": ("sequence", {"phrases": False}, "root"),
}
# Distribution, module of the harness and class.
PEERS = (("DGL", "dgl_example", "DglExample"), ("dynet38", "dynet38", "DyNet"))
EARLY_STEPS = 5
TASK = "sst5"


def run_training(bench: Bench) -> None:
    """All models that were asked for."""
    for name in bench.options.models:
        try:
            setting = prepare(_config(bench, name), lambda line, name=name: bench.say(line))
        except GraphsentError as error:
            bench.results.note(bench.section, f"{name} is left out: {error}")
            continue
        of_trees = name in TREE_MODELS
        own = (setting.config.training.batch_size,)
        for size in bench.options.training_batch_sizes if of_trees else own:
            with quiet_dgl(), ExitStack() as stack:
                _compare(Run(bench, name, setting, size, stack), of_trees)


def _config(bench: Bench, name: str) -> RunConfig:
    options = bench.options
    model, model_options, nodes = VARIANTS.get(name, (name, {}, "all"))
    training = default_training(model)
    return RunConfig(
        TASK,
        model,
        model_options=model_options,
        data_dir=options.data_dir,
        vectors=options.vectors,
        training=replace(training, loss_nodes=nodes, num_threads=options.threads),
    )


class Run:
    """What the contenders of one model and batch size have in common.

    Args:
        bench: the run of the benchmark.
        name: of the model, in the results.
        setting: the model and its data.
        size: of a batch.
        stack: ends the contenders, the last one first.
    """

    def __init__(
        self, bench: Bench, name: str, setting: Setting, size: int, stack: ExitStack
    ) -> None:
        self.bench, self.name, self.setting, self.size = bench, name, setting, size
        self.stack = stack
        options = bench.options
        examples = examples_of(setting)
        self.training = replace(setting.config.training, batch_size=min(size, len(examples)))
        count = max(1, options.trees_a_round // size)
        batches = portions(examples, self.training, options.steps + count)
        self.untimed, self.timed = batches[: options.steps], batches[options.steps :]
        for batch in self.timed:
            setting.model.collate(batch.examples)

    def program(self, name: str, **options: Any) -> Trainee:
        """A run of ``graphsent train`` that has not taken a step yet."""
        trainee = Trainee(self.setting, self.training, name, **options)
        self.stack.callback(trainee.stop)
        if trainee.flush:
            trainee.name += FLUSHED
        return trainee

    def peers(self) -> list[Contender]:
        """Those of others that are installed; for the Tree-LSTM alone.

        Each is there twice: in the setting that its users have, and in the other one.
        """
        found: list[Contender] = []
        for distribution, module, name in PEERS if self.name == "treelstm" else ():
            make = self.bench.installed(distribution, module, name)
            for flush in (make.users_flush, not make.users_flush) if make else ():
                peer = make(self.setting.model, self.training, flush)
                peer.name += FLUSHED * flush
                found.append(peer)
        return found

    def train(self, contender: Contender) -> None:
        """The steps that are not timed."""
        self.bench.say(f"{self.name}, batch {self.size}, {contender.name}: first steps")
        for batch in self.untimed:
            contender.step(contender.prepare(batch))


def _compare(run: Run, of_trees: bool) -> None:
    """Trains all contenders that compute the same, and lets them take turns."""
    bench = run.bench
    ours = [run.program(PROGRAM)]
    theirs, peers = [], []
    if of_trees:
        ours.append(run.program(PROGRAM, flush=not ours[0].flush))
        theirs = [run.program(DGL, engine="dgl", flush=each.flush) for each in ours]
        peers = run.peers()
    early = run.program(EARLY, flush=ours[0].flush, restored=True)
    users = {ours[0], early, *peers[::2], *(each for each in theirs if not each.flush)}
    case = {"model": run.name, "batch": run.size}
    contenders = [*ours, early, *theirs, *peers]
    outcomes = bench.check(case, contenders, run.timed[0])
    same = [each for each in contenders if each.name in outcomes]
    facts: dict[str, dict[str, Any]] = {each.name: {"users": each in users} for each in contenders}
    for contender in (*ours, *peers[::2]):
        run.train(contender)
    for contender in ours:
        facts[contender.name].update(contender.subnormals())
    # Such pairs differ in nothing that training would show: they need not both take these steps.
    for contender, source in zip((*theirs, *peers[1::2]), (*ours, *peers[::2]), strict=False):
        contender.take(source)
    for batch in run.untimed[:EARLY_STEPS]:
        early.step(batch)
    early.keep()
    for row in bench.measure(case, same, run.timed, ["step"], outcomes):
        row.facts = facts[row.contender]
        row.trees = sum(len(batch.examples) for batch in run.timed)
    bench.save()
