"""All tables and configurations shipped with the package."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from graphsent._names import check_choice, nearest, unknown
from graphsent.errors import DataError
from graphsent.reproduction.configurations import Configuration, read_family
from graphsent.reproduction.runs import Run
from graphsent.reproduction.tables import Result, Table, read_table

__all__ = ["ALL", "Catalogue"]

ALL = "all"
_SHIPPED = Path(__file__).parent


class Catalogue:
    """All tables and their configurations.

    Args:
        directory: Contains ``tables/*.yaml`` and ``configurations/*.yaml``; by default that of the
            package.

    Attributes:
        tables: Name -> table, in alphabetical order.
        configurations: Name -> configuration.

    Raises:
        DataError: A file is malformed, a name is defined twice, or a table names an unknown
            configuration.
    """

    def __init__(self, directory: Path | None = None) -> None:
        directory = directory or _SHIPPED
        self.tables = {
            table.name: table
            for table in map(read_table, sorted((directory / "tables").glob("*.yaml")))
        }
        self.configurations: dict[str, Configuration] = {}
        for path in sorted((directory / "configurations").glob("*.yaml")):
            for each in read_family(path):
                if each.name in self.configurations:
                    raise DataError(f"{path}: the configuration {each.name!r} is defined twice")
                self.configurations[each.name] = each
        for table in self.tables.values():
            for name in table.configurations:
                if name not in self.configurations:
                    known = unknown("configuration", name, self.configurations)
                    raise DataError(f"the table {table.name}: {known}")

    def asked(self, names: Iterable[str]) -> list[Table]:
        """The tables with the given names; ``all`` selects all of them.

        The name of a configuration selects a table of it alone.

        Raises:
            DataError: There is no such table or configuration.
        """
        found: dict[str, Table] = {}
        for name in names:
            if name == ALL:
                found |= self.tables
            elif name in self.tables:
                found[name] = self.tables[name]
            elif name in self.configurations:
                found[name] = Table(name, name, "", (Result(name, name, {}),))
            else:
                hint = nearest(name, [*self.tables, *self.configurations])
                expected = f"{', '.join([*self.tables, ALL])}, or a configuration{hint}"
                raise DataError(f"unknown table {name!r}: expected one of {expected}")
        return list(found.values())

    def configuration(self, name: str) -> Configuration:
        """A configuration by its name.

        Raises:
            DataError: There is no such configuration.
        """
        check_choice("configuration", name, self.configurations, DataError)
        return self.configurations[name]

    def runs(
        self, tables: Iterable[Table], seeds: Iterable[int], *, fast: bool = False
    ) -> list[Run]:
        """The runs needed for some tables, without duplicates, in the order to run them.

        Main results come before others. Within each group, the first seed (or fold) of every
        configuration comes before any second one, so an interrupted table has fewer seeds, not
        fewer rows.

        Args:
            tables: The tables.
            seeds: Seeds for tasks without folds; other tasks are run on all folds.
            fast: Whether to reduce runs to a quarter of the epochs and two seeds or folds.
        """
        is_main: dict[str, bool] = {}
        for table in tables:
            for each in table.results:
                is_main[each.configuration] = is_main.get(each.configuration, False) or each.main
        ordered: list[tuple[bool, int, Run]] = []
        for name, main in is_main.items():
            configuration = self.configurations[name]
            runs = Run.of(configuration, seeds, fast=fast)
            ordered += [(not main, place, run) for place, run in enumerate(runs)]
        return [run for _, _, run in sorted(ordered, key=lambda entry: entry[:2])]
