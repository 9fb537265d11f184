from graphsent.reproduction.catalogue import Catalogue
from graphsent.reproduction.comparison import compare
from graphsent.reproduction.configurations import Configuration
from graphsent.reproduction.execution import Execution
from graphsent.reproduction.finished import FinishedRuns
from graphsent.reproduction.markdown import as_markdown
from graphsent.reproduction.places import Places
from graphsent.reproduction.repetition import repeat
from graphsent.reproduction.report import entries, write_report
from graphsent.reproduction.runs import Run
from graphsent.reproduction.scheduling import run_all
from graphsent.reproduction.tables import Table
from graphsent.reproduction.verdict import verdicts

__all__ = [
    "Catalogue",
    "Configuration",
    "Execution",
    "FinishedRuns",
    "Places",
    "Run",
    "Table",
    "as_markdown",
    "compare",
    "entries",
    "repeat",
    "run_all",
    "verdicts",
    "write_report",
]
