"""Install DGL, including on Python versions that DGL has no wheel for."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from graphsent.errors import FailedError

__all__ = ["run"]

_NEWEST = (3, 12)  # Python version with wheels


class _Release(NamedTuple):
    """The newest release with wheels for a platform, and the SHA-256 of those for Python 3.12."""

    version: str
    sha256: tuple[str, ...]


_RELEASES = {
    "linux": _Release(
        "2.1.0",
        (
            "af9b5974d667d11b9b2dc153981241c248a314c1a54880d4a2af12a00470b78d",  # x86_64
            "0f8605418e71191f7a4b43a5a6597e655512c7a48171ac042993d77c676f3092",  # aarch64
        ),
    ),
    "darwin": _Release(
        "2.2.0",
        (
            "4d1c68f412d2b9ad075eb4876b5b76b5660569dd5f457b6da46ed8a21676cd65",  # x86_64
            "b05d98c1dc8c8cd30de5aaffbca4905dd6426ba3bb17c967cc99317d0c2d5685",  # arm64
        ),
    ),
    "win32": _Release(
        "2.2.1",
        ("2d3d0a6143688a4e89a9eff348411e778d880feec23d6bd6ac727bc257f95435",),  # AMD64
    ),
}


def run(arguments: Any) -> None:
    """Installs DGL unless it is installed.

    Raises:
        FailedError: There is no wheel for this platform, or pip could not download or install it.
    """
    try:
        print(f"DGL {importlib.metadata.version('dgl')} is already installed")
        return
    except importlib.metadata.PackageNotFoundError:
        pass
    if sys.platform not in _RELEASES:
        raise FailedError(f"DGL has no wheels for {sys.platform}: build it from source")
    if importlib.util.find_spec("pip") is None:
        raise FailedError(f"pip is not installed for {sys.executable}: run python -m ensurepip")
    release = _RELEASES[sys.platform]
    if sys.version_info[:2] <= _NEWEST:
        _run("pip", "install", "--no-deps", "--only-binary=:all:", f"dgl=={release.version}")
    else:
        _install_for_any_python(release)
    print(f"DGL {release.version} is installed; pip uninstall dgl removes it")


def _install_for_any_python(release: _Release) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        wanted = directory / "requirements.txt"
        hashes = " ".join(f"--hash=sha256:{each}" for each in release.sha256)
        wanted.write_text(f"dgl=={release.version} {hashes}\n", encoding="utf-8")
        version = ".".join(map(str, _NEWEST))
        for_newest = ("--python-version", version, "--only-binary=:all:", "--no-deps")
        _run("pip", "download", *for_newest, "--require-hashes", "-r", str(wanted), "-d", name)
        (wheel,) = directory.glob("*.whl")
        _run("wheel", "tags", "--remove", "--python-tag=py3", "--abi-tag=none", str(wheel))
        found = ("--no-index", "--find-links", name)
        _run("pip", "install", "--no-deps", *found, f"dgl=={release.version}")


def _run(module: str, *arguments: str) -> None:
    """Runs a module with the current interpreter; its own output says what failed."""
    command = [sys.executable, "-m", module, *arguments]
    if subprocess.run(command, check=False).returncode:
        raise FailedError(f"DGL is not installed: {module} {arguments[0]} failed, see above")
