"""What happens after each epoch: figures, the best model, a checkpoint to resume from."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer

from graphsent._files import atomic_path
from graphsent.training.directory import RunDirectory

__all__ = ["EpochKeeper"]


class EpochKeeper(Callback):
    """Keeps the history of a run, its best model and its last state.

    The best epoch is the first with the highest dev figure. All three are part of the checkpoint,
    so that a resumed run knows what came before.

    Args:
        run: Where to write.
        selection_metric: Name of the task's metric that chooses the epoch.
        echo: Is given a line after each epoch.
        on_epoch: Is given the history after each epoch.
    """

    def __init__(
        self,
        run: RunDirectory,
        selection_metric: str,
        echo: Callable[[str], None],
        on_epoch: Callable[[list[dict[str, Any]]], None],
    ) -> None:
        super().__init__()
        self._run = run
        self._key = f"dev_{selection_metric}"
        self._echo = echo
        self._on_epoch = on_epoch
        self._started = 0.0
        self.history: list[dict[str, Any]] = []

    @property
    def best(self) -> dict[str, Any]:
        """The history's entry of the best epoch."""
        return max(self.history, key=lambda entry: entry[self._key])  # the first of equals

    def state_dict(self) -> dict[str, Any]:
        """The history, for the checkpoint."""
        return {"history": self.history}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes the history from a checkpoint."""
        self.history = list(state_dict["history"])

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Starts the clock."""
        self._started = time.perf_counter()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Keeps the epoch; dev has been evaluated by now."""
        figures = {name: float(value) for name, value in trainer.callback_metrics.items()}
        seconds = round(time.perf_counter() - self._started, 2)
        entry = {"epoch": trainer.current_epoch + 1, **figures, "seconds": seconds}
        self.history.append(entry)
        is_best = self.best is entry
        if is_best:
            pl_module.model.save_pretrained(self._run.model)
        self._echo(describe_epoch(entry, trainer.max_epochs, is_best))
        with atomic_path(self._run.checkpoint) as temporary:
            trainer.save_checkpoint(temporary)
        self._on_epoch(self.history)


def describe_epoch(entry: dict[str, Any], num_epochs: int | None, is_best: bool) -> str:
    """An epoch in one line."""
    figures = ", ".join(
        f"{name.replace('_', ' ')} {100 * value:.2f} %"
        if "accuracy" in name
        else f"{name.replace('_', ' ')} {value:.4g}"
        for name, value in entry.items()
        if name not in ("epoch", "seconds")
    )
    best = ", best so far" if is_best else ""
    return f"epoch {entry['epoch']}/{num_epochs}: {figures} ({entry['seconds']:.0f} s{best})"
