"""Checkpoints, loaded without arbitrary pickles and only if intact."""

from __future__ import annotations

import os
import zipfile
from typing import Any

import torch
from pytorch_lightning.plugins.io import TorchCheckpointIO

from graphsent.training.errors import TrainingError

__all__ = ["CheckedCheckpoints"]

_PARTS = ("state_dict", "optimizer_states", "callbacks", "loops")


class CheckedCheckpoints(TorchCheckpointIO):
    """Lightning's checkpoints, with strict loading."""

    def load_checkpoint(self, path: str | os.PathLike[str], *_: Any, **__: Any) -> dict[str, Any]:
        """Loads tensors and plain values to the CPU; Lightning moves them to the device later.

        Raises:
            TrainingError: The file is damaged or is not a checkpoint of a run.
        """
        try:
            with zipfile.ZipFile(path) as archive:
                damaged = archive.testzip()  # torch itself checks no checksums
            if damaged is not None:
                raise zipfile.BadZipFile(f"the checksum of {damaged} differs")
            content = torch.load(path, map_location="cpu", weights_only=True)
            missing = [part for part in _PARTS if part not in content]
        except Exception as error:  # a damaged pickle may raise anything
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise TrainingError(
                f"{path}: damaged or not a checkpoint of a run: {reason}"
            ) from error
        if missing:
            raise TrainingError(f"{path}: not a checkpoint of a run: it has no {missing[0]!r}")
        return content
