"""The documentation: no page is missing, links are valid, versions agree."""

from __future__ import annotations

import inspect
import pkgutil
import re
from functools import cached_property
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import graphsent

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
PAGES = [*REPOSITORY.glob("*.md"), *DOCS.rglob("*.md"), REPOSITORY / "data" / "README.md"]
PAGES = [page for page in PAGES if "_build" not in page.parts]


def test_every_public_module_has_a_page():
    public = {name: getattr(graphsent, name) for name in graphsent.__all__}
    modules = [name for name, value in public.items() if inspect.ismodule(value) and name != "dgl"]
    assert "models" in modules
    for module in modules:
        page = DOCS / "api" / f"{module}.md"
        assert f".. automodule:: graphsent.{module}\n" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", sorted((DOCS / "api").glob("*.md")), ids=lambda page: page.stem)
def test_pages_of_the_api_describe_constants(page):
    """Sphinx lists those that a package takes from its modules nowhere."""
    shown = re.findall(r"automodule:: (\S+)", page.read_text(encoding="utf-8"))
    modules = [pkgutil.resolve_name(name) for name in shown]
    text = "".join(map(inspect.getdoc, modules))
    own = inspect.getsource(modules[0])
    for name in modules[0].__all__:
        value = getattr(modules[0], name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            has_docstring = re.search(rf'^{name} = .*\n"""', own, re.MULTILINE)
            assert has_docstring or f"``{name}``" in text, name


@pytest.mark.parametrize("page", sorted((DOCS / "api").glob("*.md")), ids=lambda page: page.stem)
def test_pages_of_the_api_name_what_there_is(page):
    for name in re.findall(
        r"^\.\. auto\w+:: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE
    ):
        try:
            pkgutil.resolve_name(name)
        except (AttributeError, ImportError) as error:
            pytest.fail(f"{name}: {error}")


def test_base_classes_of_models_are_on_the_page():
    """Sphinx describes what a class inherits only with the class that defines it."""
    page = (DOCS / "api" / "models.md").read_text(encoding="utf-8")
    shown = set(public_classes(graphsent.models))
    shown |= set(map(pkgutil.resolve_name, re.findall(r"autoclass:: (\S+)", page)))
    for each in public_classes(graphsent.models):
        for base in each.__mro__:
            if base.__module__.startswith("graphsent.") and not base.__name__.startswith("_"):
                assert base in shown, base


def test_docstrings_have_no_colons_where_sphinx_expects_types():
    """In the first line of properties and of results, it takes what precedes a colon for a type."""
    public = [getattr(graphsent, name) for name in graphsent.__all__ if name != "dgl"]
    found = [getattr(each, name) for each in public for name in getattr(each, "__all__", ())]
    for each in filter(inspect.isclass, found.copy()):
        found += vars(each).values()
    for each in found:
        lines = inspect.cleandoc(getattr(each, "__doc__", None) or "").splitlines()
        begins = isinstance(each, property | cached_property)
        for before, line in zip(["Returns:" if begins else "", *lines], lines, strict=False):
            assert before not in ("Returns:", "Yields:") or ": " not in line, lines[0]


def public_classes(module: ModuleType | type) -> list[type]:
    names = getattr(module, "__all__", ())
    return [each for name in names if inspect.isclass(each := getattr(module, name))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_to_files_and_headings(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        assert found.exists(), target
        if heading:
            assert heading in headings(found), target


def headings(page: Path) -> set[str]:
    """The headings of a page as link anchors."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in found}


def test_versions_agree():
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == graphsent.__version__
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+?),? ", changes, re.MULTILINE)[1] == graphsent.__version__
