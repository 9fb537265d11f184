"""Adds the embedded data, stored beside the package, to wheels; all else is in setup.cfg."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

_DATA = Path("data")


class _BuildWithData(build_py):
    """Copies the embedded data into the package; an editable install reads them in place."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for path in sorted(_DATA.rglob("*")):
            if path.is_file() and path.suffix != ".py":
                target = Path(self.build_lib, "graphsent", path)
                self.mkpath(str(target.parent))
                self.copy_file(str(path), str(target))


setup(cmdclass={"build_py": _BuildWithData})
