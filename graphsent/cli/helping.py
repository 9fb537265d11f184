"""Help that is written or fails."""

from __future__ import annotations

import argparse
import sys
from typing import Any

__all__ = ["HelpingParser"]


class HelpingParser(argparse.ArgumentParser):
    """A parser whose help raises an OSError if it cannot be written, which argparse ignores."""

    def _print_message(self, message: str, file: Any = None) -> None:
        print(message, end="", file=file or sys.stderr, flush=True)
