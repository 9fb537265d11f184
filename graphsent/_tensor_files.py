"""Writing safetensors files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

__all__ = ["save_tensors"]


def save_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Writes tensors to a file, with the permissions of other new files.

    Raises:
        OSError: The file cannot be written.
    """
    path.touch()
    mode = stat.S_IMODE(path.stat().st_mode)
    try:
        save_file(dict(tensors), path, metadata={"format": "pt"})
    except SafetensorError as error:
        # It reports system errors only as text: "I/O error: ... (os error 28)".
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error
    path.chmod(mode)  # safetensors creates files that only the owner can read
