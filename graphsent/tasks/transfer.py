"""Downloads that are cached, checked, and resumed after interruptions."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from graphsent._locks import locked
from graphsent._names import message_of
from graphsent.errors import FailedError

__all__ = ["DownloadError", "fetch"]

_CHUNK_BYTES = 1 << 16
_SECONDS = 30  # timeout while no byte arrives
_PARTIAL, _RESUMED_IF = ".part", ".tag"


class DownloadError(FailedError):
    """A file cannot be downloaded, or is not the published one."""


def fetch(url: str, name: str, sha256: str | None, cache: Path, *, progress: bool) -> Path:
    """A file from the cache, or else from its URL.

    A partial download is kept, and resumed if the server still has the same file.

    Args:
        url: The URL.
        name: Name of the file in the cache.
        sha256: Its expected SHA-256; None if unknown.
        cache: The cache directory.
        progress: Show a progress bar.

    Returns:
        Path of the file in the cache.

    Raises:
        DownloadError: There is no connection, the server has no such file, sends less than it
            announced, or sends another file.
        OSError: The cache cannot be written.
    """
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache):  # another process may be fetching the same file
        try:
            downloader: Any = _Resuming(cache / name, progress)  # its signature differs in names
            found = pooch.retrieve(url, sha256, name, cache, downloader=downloader)
        except requests.RequestException as error:
            reason = message_of(error)
            raise DownloadError(f"cannot download {url}: {reason}; try again later") from error
        except ValueError:  # from pooch: the SHA-256 differs
            if sha256 is None:
                raise
            message = f"{url} is not the published file: expected SHA-256 {sha256}; nothing is kept"
            raise DownloadError(message) from None
    return Path(found)


class _Resuming:
    """A downloader for pooch that resumes after interruptions.

    Args:
        target: The complete file; a partial download is stored beside it.
        progress: Show a progress bar.
    """

    def __init__(self, target: Path, progress: bool) -> None:
        self._partial = target.with_name(target.name + _PARTIAL)
        self._tag = target.with_name(target.name + _RESUMED_IF)
        self._progress = progress

    def __call__(self, url: str, output_file: str, _: Any) -> None:
        import requests
        from tqdm import tqdm

        headers = {"Accept-Encoding": "identity"}  # sizes are those of the file itself
        begin = self._begin()
        if begin:
            tag = self._tag.read_text(encoding="utf-8")
            headers |= {"Range": f"bytes={begin}-", "If-Range": tag}
        with requests.get(url, headers=headers, stream=True, timeout=_SECONDS) as response:
            if response.status_code == requests.codes.requested_range_not_satisfiable:
                self._partial.unlink()
                raise requests.ConnectionError("the file on the server is shorter than it was")
            response.raise_for_status()
            if response.status_code != requests.codes.partial_content:
                begin = 0
            self._keep_tag(response)
            total = begin + int(response.headers.get("Content-Length", 0))
            bar = tqdm(
                desc=self._partial.stem,
                initial=begin,
                total=total or None,
                unit="B",
                unit_scale=True,
                disable=not self._progress,
            )
            with bar, self._partial.open("ab" if begin else "wb") as file:
                for chunk in response.iter_content(_CHUNK_BYTES):
                    file.write(chunk)
                    bar.update(len(chunk))
        size = self._partial.stat().st_size
        if size < total:  # not noticed by old versions of urllib3
            raise requests.ConnectionError(f"ended after {size:,} of {total:,} bytes")
        os.replace(self._partial, output_file)
        self._tag.unlink(missing_ok=True)

    def _begin(self) -> int:
        """How many bytes of a resumable download have arrived."""
        has_both = self._partial.is_file() and self._tag.is_file()
        return self._partial.stat().st_size if has_both else 0

    def _keep_tag(self, response: Any) -> None:
        """Saves the tag of this version of the file, without which nothing is resumed."""
        tag = response.headers.get("ETag", "")
        if not tag or tag.startswith("W/"):  # a weak ETag does not promise the same bytes
            tag = response.headers.get("Last-Modified", "")
        if tag:
            self._tag.write_text(tag, encoding="utf-8")
        else:
            self._tag.unlink(missing_ok=True)
