"""Progress bars."""

from __future__ import annotations

import sys
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer
from tqdm import tqdm

__all__ = ["EpochBar"]


class EpochBar(Callback):
    """Shows a progress bar per epoch on standard error, removed when the epoch ends."""

    def __init__(self) -> None:
        super().__init__()
        self._bar: Any = None

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Opens the bar."""
        self._bar = tqdm(
            desc=f"epoch {trainer.current_epoch + 1}/{trainer.max_epochs}",
            total=trainer.num_training_batches,
            unit="batch",
            file=sys.stderr,
            leave=False,
            dynamic_ncols=True,
        )

    def on_train_batch_end(self, *_: Any) -> None:
        """Advances the bar."""
        self._bar.update()

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Shows the current activity."""
        self._bar.set_postfix_str("dev")

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Removes the bar."""
        self._bar.close()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.close()
