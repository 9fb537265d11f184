"""Devices and processes, checked before anything is read or written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from graphsent._devices import find_device
from graphsent.training.errors import TrainingError
from graphsent.training.options import TrainingOptions

__all__ = ["cpu_by_default", "process_rank", "trainer_devices", "trainer_environments"]

# Variables with the rank of a process, set by torchrun and Ray, by Lightning, and by Slurm.
_RANKS = ("RANK", "LOCAL_RANK", "SLURM_PROCID")


@contextmanager
def cpu_by_default() -> Iterator[None]:
    """Makes the CPU torch's default device in the context, where batches and metrics begin."""
    if torch.get_default_device().type == "cpu":  # the context below slows torch down
        yield
        return
    with torch.device("cpu"):
        yield


def trainer_devices(options: TrainingOptions) -> dict[str, Any]:
    """The arguments of Lightning's Trainer for the devices of a run.

    Raises:
        TrainingError: There is no such device, or no launcher started processes on the nodes, or
            it started another number of them.
    """
    name, count = options.device, options.devices
    try:
        device = find_device(name)
    except ValueError as error:
        raise TrainingError(f"device: {error}") from None
    if device.type == "cpu":
        found: dict[str, Any] = {"accelerator": "cpu", "devices": count}
    else:
        first, num_gpus = device.index or 0, torch.cuda.device_count()
        if first + count > num_gpus:
            raise TrainingError(
                f"devices: expected at most {num_gpus - first} starting at {name}, got {count}; "
                f"torch sees {num_gpus} GPUs"
            )
        found = {"accelerator": "gpu", "devices": list(range(first, first + count))}
    if options.nodes > 1 and not {"RANK", "SLURM_PROCID"} & os.environ.keys():
        raise TrainingError(
            f"nodes: expected a launcher that starts {count} of this command on each of "
            f"{options.nodes} nodes, such as srun, torchrun or Ray"
        )
    if options.num_processes > 1:
        _check_launcher(options)
        # Batches of single words leave child weights unused, and custom models may leave any.
        found.update(num_nodes=options.nodes, strategy="ddp_find_unused_parameters_true")
    return found


def _check_launcher(options: TrainingOptions) -> None:
    """Raises a TrainingError if torchrun or Slurm started another number of processes."""
    from pytorch_lightning.plugins.environments import (
        SLURMEnvironment,  # pyright: ignore[reportPrivateImportUsage]
        TorchElasticEnvironment,  # pyright: ignore[reportPrivateImportUsage]
    )

    for launcher in (TorchElasticEnvironment, SLURMEnvironment):  # the order of Lightning
        if not launcher.detect():
            continue
        try:
            environment = launcher()
            environment.validate_settings(options.devices, options.nodes)
        except (RuntimeError, ValueError) as error:
            raise TrainingError(f"devices: {error}") from None
        count = environment.world_size()
        if count != options.num_processes:  # Lightning would leave out the examples of the others
            raise TrainingError(
                f"devices: expected {options.num_processes} processes of this command, but the "
                f"launcher started {count}; in a Slurm job, start them with srun"
            )
        return


def trainer_environments(options: TrainingOptions) -> list[Any]:
    """Plugins of Lightning's Trainer that make a single process independent of any launcher.

    Otherwise it would check the settings of a Slurm job, and log nothing unless it is the first of
    its tasks.
    """
    from pytorch_lightning.plugins.environments import (
        LightningEnvironment,  # pyright: ignore[reportPrivateImportUsage]
    )

    if options.num_processes > 1:
        return []
    alone = LightningEnvironment()
    alone.set_global_rank(0)
    return [alone]


def process_rank(options: TrainingOptions) -> int:
    """The rank of this process in its run; only rank 0 writes files and prints."""
    if options.num_processes == 1:
        return 0  # any such variables belong to another program
    return next((int(os.environ[name]) for name in _RANKS if name in os.environ), 0)
