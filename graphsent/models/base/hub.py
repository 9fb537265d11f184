"""Models on the Hugging Face Hub, via huggingface_hub, which is imported on demand.

Such a model is named ``hf://user/name`` or ``hf://user/name@revision``. A path without ``hf://`` is
always local, so that a misspelt path never causes network access. Tokens, cache and offline mode
are configured as for huggingface_hub (``HF_TOKEN``, ``HF_HOME``, ``HF_HUB_OFFLINE``).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

from graphsent._names import message_of
from graphsent.errors import ModelError
from graphsent.models.base.storage import CARD_FILE, ENCODER_DIRECTORY, MODEL_FILES

__all__ = ["is_on_hub", "local_directory", "push"]

_SCHEME = "hf://"
_DOWNLOADED = [*sorted(MODEL_FILES - {ENCODER_DIRECTORY}), f"{ENCODER_DIRECTORY}/*"]


class _Saved(Protocol):
    name: str
    card: str | None

    def save_pretrained(self, directory: Path) -> None: ...


def is_on_hub(name: str | os.PathLike[str]) -> bool:
    """Whether a name refers to a model on the Hub."""
    return os.fspath(name).startswith(_SCHEME)


def local_directory(name: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The local directory of a model; a model on the Hub is downloaded to the cache if necessary.

    Raises:
        ModelError: There is no such model on the Hub, or it cannot be downloaded.
        ImportError: huggingface_hub is not installed.
    """
    if not is_on_hub(name):
        return name
    from huggingface_hub import snapshot_download

    repository, _, revision = os.fspath(name).removeprefix(_SCHEME).partition("@")
    try:
        return snapshot_download(repository, revision=revision or None, allow_patterns=_DOWNLOADED)
    except Exception as error:  # of several packages
        raise ModelError(f"cannot download {name}: {message_of(error)}") from error


def push(model: _Saved, repository: str, **options: Any) -> str:
    """Uploads a model to a repository on the Hub; see :meth:`Model.push_to_hub`."""
    from huggingface_hub import ModelHubMixin

    class Pushed(ModelHubMixin, library_name="graphsent"):
        def _save_pretrained(self, save_directory: Path) -> None:
            model.save_pretrained(save_directory)
            if model.card is None:
                text = f"---\nlibrary_name: graphsent\n---\n\n# {model.name}\n"
                (save_directory / CARD_FILE).write_text(text, encoding="utf-8")

    try:
        return str(Pushed().push_to_hub(repository, **options))
    except Exception as error:  # of several packages
        reason = message_of(error)
        raise ModelError(f"cannot upload to {repository} on the Hub: {reason}") from error
