"""Actions after each epoch: metrics, the best model, and a checkpoint to resume from."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer

from graphsent._files import atomic_path
from graphsent._names import listed
from graphsent._numbers import rounded
from graphsent.models import Model
from graphsent.training.directory import RunDirectory
from graphsent.training.figures import figures
from graphsent.training.selection import Selection

__all__ = ["EpochKeeper"]

_DIGITS = 6
_MOST_SHOWN = 10  # class weights


class EpochKeeper(Callback):
    """Saves the history, the best model and the last state of a run; applies early stopping.

    The history is part of the checkpoint, and everything else is derived from it, so resuming
    restores the state of the callback.

    Args:
        run: The run directory.
        selection: How the best epoch is selected.
        patience: Stop after this many epochs without a new best one; 0 disables early stopping.
        echo: Called with a line after each epoch.
        on_epoch: Called with the history after each epoch.
    """

    def __init__(
        self,
        run: RunDirectory,
        selection: Selection,
        patience: int,
        echo: Callable[[str], None],
        on_epoch: Callable[[list[dict[str, Any]]], None],
    ) -> None:
        super().__init__()
        self._run = run
        self._selection = selection
        self._patience = patience
        self._echo = echo
        self._on_epoch = on_epoch
        self._started = 0.0
        self.started = False  # whether the checkpoint, if any, has been loaded
        self.history: list[dict[str, Any]] = []

    @property
    def best(self) -> Mapping[str, Any]:
        """The entry of the best epoch in the history."""
        return self._selection.best(self.history)

    def describe_end(self, reason: str) -> str:
        """The message to the user after a premature end."""
        count = len(self.history)
        epochs = {0: "no epoch is complete", 1: "1 epoch is kept"}.get(
            count, f"{count} epochs are kept"
        )
        return f"{reason}, {epochs}; continue with: graphsent train --resume {self._run.path}"

    @property
    def _is_stuck(self) -> bool:
        if not self._patience or not self.history:
            return False
        return len(self.history) - self.best["epoch"] >= self._patience

    def state_dict(self) -> dict[str, Any]:
        """The history, for the checkpoint."""
        return {"history": self.history}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the history from a checkpoint."""
        self.history = list(state_dict["history"])

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Reports class weights; stops if early stopping had applied before the interruption."""
        if len(self.history) != trainer.current_epoch:
            raise ValueError(f"{trainer.current_epoch} epochs, but figures of {len(self.history)}")
        self.started = True
        model: Model = pl_module.model  # type: ignore[assignment]
        if model.class_weights is not None:
            pairs = zip(model.label_names, model.class_weights.tolist(), strict=True)
            shown = [f"{name} {weight:.4g}" for name, weight in pairs]
            self._echo(f"class weights: {listed(shown, _MOST_SHOWN)}")
        trainer.should_stop = self._is_stuck

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Starts the timer."""
        self._started = time.perf_counter()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Records the epoch; dev has been evaluated by now."""
        values = self._ordered(trainer.callback_metrics)
        seconds = round(time.perf_counter() - self._started, 2)
        entry = {"epoch": trainer.current_epoch + 1, **values, "seconds": seconds}
        self.history.append(entry)
        trainer.should_stop = self._is_stuck
        if not trainer.is_global_zero:  # metrics cover all processes
            trainer.save_checkpoint(self._run.checkpoint)  # waits for rank 0, which writes
            return
        self._run.check_held()
        is_best = self.best is entry
        if is_best:
            module: Any = pl_module  # a TrainingModule
            with module.as_judged():
                module.model.save_pretrained(self._run.model)
        with atomic_path(self._run.checkpoint) as temporary:
            trainer.save_checkpoint(temporary)
        self._run.write_history(self.history)
        self._on_epoch(self.history)
        self._echo(describe_epoch(entry, trainer.max_epochs, is_best))

    def _ordered(self, metrics: Mapping[str, Any]) -> dict[str, float]:
        """The metrics, loss and selection metric first, rounded to single precision.

        The best epoch is selected by these figures: errors of small scores must not become 0.
        """
        names = dict.fromkeys(("loss", f"dev_{self._selection.metric}", *metrics))
        return {name: float(rounded(float(metrics[name]), _DIGITS)) for name in names}


def describe_epoch(entry: dict[str, Any], num_epochs: int | None, is_best: bool) -> str:
    """One line about an epoch."""
    found = figures({name: entry[name] for name in entry if name not in ("epoch", "seconds")})
    best = ", best so far" if is_best else ""
    return f"epoch {entry['epoch']}/{num_epochs}: {found} ({entry['seconds']:.0f} s{best})"
