"""Characters that the font of pictures lacks."""

from __future__ import annotations

import logging
import warnings

import pytest

from graphsent.graphs import draw_tree
from graphsent.trees import Tree

matplotlib = pytest.importorskip("matplotlib")
canvas = pytest.importorskip("graphsent.drawing.canvas")
LACKING = "\N{OSMANYA LETTER BA}", "\N{OSMANYA LETTER TA}"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    monkeypatch.setattr(canvas, "_missed", set())
    canvas.text_width.cache_clear()


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_missing_glyphs_are_named_once(tmp_path, caplog, suffix):
    caplog.set_level(logging.WARNING)
    tree = Tree.from_string(f"(S (A {LACKING[0]}) (B {LACKING[1]}) (C {LACKING[0]}))")
    for number in range(2):
        draw_tree(tree, path=tmp_path / f"{number}.{suffix}")
    (record,) = caplog.records
    assert f"has no glyph for {' '.join(LACKING)}: " in record.getMessage()
    assert (tmp_path / f"1.{suffix}").stat().st_size > 0


def test_the_suggested_remedy_works(tmp_path, caplog):
    """A second font family is used for glyphs that the first one lacks."""
    letter = "\N{CYRILLIC CAPITAL LETTER ZHE}"
    tree = Tree.from_string(f"(S (A {letter}))")
    quiet = {"axes.formatter.use_mathtext": True}  # which matplotlib wants with this font
    with matplotlib.rc_context({**quiet, "font.family": ["cmr10"]}):
        draw_tree(tree, path=tmp_path / "a.png")
    assert "no glyph for" in caplog.text
    caplog.clear()
    canvas._missed.clear()
    canvas.text_width.cache_clear()
    with matplotlib.rc_context({**quiet, "font.family": ["cmr10", "sans-serif"]}):
        draw_tree(tree, path=tmp_path / "b.png")
    assert caplog.text == ""


def test_other_warnings_are_kept(tmp_path, monkeypatch):
    figure = draw_tree(Tree.from_string("(S (A a))"))
    monkeypatch.setattr(figure, "savefig", lambda *_, **__: warnings.warn("other", stacklevel=1))
    with pytest.warns(UserWarning, match=r"^other$"):
        figure._repr_png_()
