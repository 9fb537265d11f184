"""``python -m graphsent``."""

from __future__ import annotations

import sys

from graphsent.cli import main

if __name__ == "__main__":
    sys.exit(main())
