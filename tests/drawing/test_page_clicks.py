"""The page of predictions in a real browser, under user interaction."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from graphsent.drawing import write_page
from graphsent.trees import Tree

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
NAMES = ("bad", "so so", "good")
REST = 210  # sentences that are all the same, more than are listed at once

pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs chromium or google-chrome")
sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: make test-browser")


class Prediction(NamedTuple):
    tree: Tree
    probabilities: np.ndarray
    label_names: tuple[str, ...] = NAMES
    ordered_classes: bool = True


def prediction(bracketed: str, labels: list[int], share: float = 0.8) -> Prediction:
    """Predicts ``labels`` with probability ``share``; the tree has the gold ones."""
    rest = (1 - share) / 2
    rows = rest + (share - rest) * np.eye(3, dtype=np.float32)[labels]
    return Prediction(Tree.from_string(bracketed), rows)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser, tmp_path: Path) -> Iterator[Any]:
    """The open page, without script errors or violations of its content security policy."""
    path = tmp_path / "page.html"
    given = [
        prediction("(2 (1 a) (2 (2 lovely) (1 film)))", [2, 1, 2, 2, 1]),
        prediction("(0 (1 not) (2 lovely))", [2, 1, 2], share=0.6),
        prediction("(0 (1 a) (0 (0 dull) (1 play)))", [0, 1, 0, 1, 1], share=0.9),
        *[prediction("(1 (1 a) (1 book))", [1, 1, 1], share=0.7)] * REST,
    ]
    write_page(given, path)
    page, problems = browser.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    page.goto(path.as_uri())
    yield page
    page.close()
    assert problems == []


def found(page) -> str:
    return page.inner_text("#found").partition(" of ")[0]


def text(page) -> str:
    """The chosen sentence."""
    return page.inner_text("#text")


def test_sentences_are_searched_by_their_words(page):
    assert (found(page), text(page)) == (f"{REST + 3}", "a lovely film")
    page.fill("#search", "LOVELY")
    assert found(page) == "2"
    page.fill("#search", "lovely not")
    assert (found(page), text(page)) == ("1", "not lovely")
    page.fill("#search", "lovelier")
    assert (found(page), text(page)) == ("0", "No sentence matches.")
    page.click("text=Reset")  # fields are empty a moment later
    page.wait_for_function(f"document.getElementById('found').innerText.startsWith('{REST + 3} ')")


@pytest.mark.parametrize(
    ("filters", "sentences"),
    [
        ({"which": "wrong"}, ["not lovely"]),
        ({"which": "phrases"}, ["not lovely", "a dull play"]),
        ({"which": "right", "predicted": "2"}, ["a lovely film"]),
        ({"predicted": "2"}, ["a lovely film", "not lovely"]),
        ({"gold": "0"}, ["not lovely", "a dull play"]),
        ({"gold": "0", "predicted": "1"}, []),
        ({"gold": "0", "order": "surest"}, ["a dull play", "not lovely"]),
        ({"predicted": "2", "order": "unsure"}, ["not lovely", "a lovely film"]),
        ({"gold": "0", "order": "longest"}, ["a dull play", "not lovely"]),
    ],
)
def test_sentences_are_filtered_and_ordered(page, filters, sentences):
    for name, value in filters.items():
        page.select_option(f"#{name}", value)
    listed = [item.inner_text().split("\n")[-1].strip() for item in page.query_selector_all("li")]
    assert listed == sentences


def test_a_number_of_the_confusion_matrix_lists_its_sentences(page):
    rows = page.query_selector_all("#matrix tr")[1:]
    counts = [[int(each.inner_text()) for each in row.query_selector_all("button")] for row in rows]
    assert counts == [[1, 0, 1], [0, REST, 0], [0, 0, 1]]
    page.fill("#search", "book")
    rows[0].query_selector_all("button")[2].click()
    assert (found(page), text(page)) == ("1", "not lovely")
    assert (page.input_value("#gold"), page.input_value("#predicted")) == ("0", "2")


def test_a_click_chooses_a_sentence_and_a_link_leads_to_it(page):
    page.click("li:nth-child(3) button")
    assert text(page) == "a dull play"
    assert page.url.endswith("#3")
    assert page.get_attribute("li:nth-child(3) button", "aria-current") == "true"
    page.reload()
    assert text(page) == "a dull play"


def test_a_new_number_in_the_address_chooses_its_sentence(page):
    page.evaluate("location.hash = '#2'")
    page.wait_for_function("document.getElementById('text').innerText === 'not lovely'")
    page.go_back()
    page.wait_for_function("document.getElementById('text').innerText === 'a lovely film'")
    page.evaluate("location.hash = '#0'")  # there is none
    assert text(page) == "a lovely film"


def test_a_linked_sentence_is_listed_and_in_view(page):
    url = page.url.partition("#")[0]
    page.goto("about:blank")
    page.goto(f"{url}#{REST + 2}")  # beyond those that are listed at first
    current = page.locator("li button[aria-current=true]")
    assert current.get_attribute("data-number") == f"{REST + 2}"
    box = current.bounding_box()
    assert box["y"] + box["height"] <= page.viewport_size["height"]
    page.keyboard.press("ArrowDown")
    assert current.get_attribute("data-number") == f"{REST + 3}"


def test_filters_are_those_of_the_list_on_the_way_back_to_the_page(page):
    page.select_option("#which", "wrong")
    page.fill("#search", "lovely")
    page.goto("about:blank")
    page.go_back()
    assert (page.input_value("#which"), page.input_value("#search")) == ("all", "")
    assert found(page) == f"{REST + 3}"


def test_arrow_keys_step_through_the_list(page):
    page.keyboard.press("ArrowDown")
    assert text(page) == "not lovely"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")  # there is none above the first
    assert text(page) == "a lovely film"
    page.click("li:nth-child(1) button")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")  # the focus has moved, too
    assert text(page) == "not lovely"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Alt+ArrowDown")  # the browser's own
    assert text(page) == "a lovely film"
    page.focus("#search")  # here they move the cursor
    page.keyboard.press("ArrowDown")
    assert text(page) == "a lovely film"


def test_a_node_shows_its_probabilities(page):
    page.click("li:nth-child(3) button")
    assert page.is_hidden("#tip")
    page.hover("[data-node='3']")
    rows = [" ".join(row.inner_text().split()) for row in page.query_selector_all("#tip tr")]
    assert rows == ["bad 5.0 %", "so so 90.0 %", "good 5.0 %"]
    assert "dull" in page.inner_text("#tip")
    assert "gold: bad" in page.inner_text("#tip")
    page.hover("#text")
    assert page.is_hidden("#tip")
    page.focus("[data-node='0']")  # as by the tabulator key
    assert "a dull play" in page.inner_text("#tip")


def test_of_many_classes_the_most_probable_are_shown(page, tmp_path):
    names = tuple(f"class {number}" for number in range(50))
    row = np.full(50, 0.3 / 49, np.float32)
    row[31] = 0.7
    tree = Tree.from_string("(31 film)")
    write_page([Prediction(tree, row[None], names, ordered_classes=False)], tmp_path / "50.html")
    page.goto((tmp_path / "50.html").as_uri())
    rows = [" ".join(each.inner_text().split()) for each in page.query_selector_all(".shares tr")]
    assert len(rows) == 8
    assert rows[0] == "class 31 70.0 %"
    assert rows[-1] == "43 others 26.3 %"


def test_mistakes_are_framed_and_numbers_have_a_legend(page):
    page.click("li:nth-child(3) button")
    framed = page.query_selector_all(".node.off")
    assert [node.get_attribute("data-node") for node in framed] == ["3"]
    legend = page.inner_text("#legend")
    assert all(f"{label} {name}" in legend for label, name in enumerate(NAMES))
    assert "2 ≠ 1: predicted 2, gold 1;" in legend  # classes that there are


def test_a_long_list_goes_on(page):
    assert len(page.query_selector_all("li")) == 200
    page.click("#more")
    assert len(page.query_selector_all("li")) == REST + 3
    assert page.is_hidden("#more")


def test_boxes_do_not_overlap(page, tmp_path):
    """Neither those above a single word nor those with long numbers above two words."""
    names = tuple(f"class {number}" for number in range(120))
    trees = [
        "(1 (1 (119 a)) (1 (119 b)) (1 (119 c)))",
        "(1 (101 (119 a) (119 b)) (101 (119 c) (119 d)))",
    ]
    given = []
    for tree in map(Tree.from_string, trees):
        rows = np.eye(120, dtype=np.float32)[[119] * tree.num_nodes]
        given.append(Prediction(tree, rows, names, ordered_classes=False))
    write_page(given, tmp_path / "wide.html")
    page.goto((tmp_path / "wide.html").as_uri())
    for number in (1, 2):
        page.click(f"li:nth-child({number}) button")
        boxes = [each.bounding_box() for each in page.query_selector_all(".node rect")]
        for row in {box["y"] for box in boxes}:
            ends = sorted((box["x"], box["x"] + box["width"]) for box in boxes if box["y"] == row)
            assert all(end < begin for (_, end), (begin, _) in itertools.pairwise(ends))


def test_long_names_and_sentences_break_nothing_else(page, tmp_path):
    """A narrow page is no wider than the screen, and the tip shows its numbers."""
    name = "a name of a class that is much longer than there is room for in a list of sentences"
    tree = Tree.from_string(f"(0 (0 film) (0 {'very-' * 2000}good))")
    rows = np.eye(2, dtype=np.float32)[[1, 1, 1]]
    write_page([Prediction(tree, rows, (f"{name} 0", f"{name} 1"))], tmp_path / "long.html")
    page.set_viewport_size({"width": 320, "height": 900})
    page.goto((tmp_path / "long.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    assert page.locator(".wrong").bounding_box()["height"] < 30  # one line
    page.focus("[data-node='0']")
    tip, last = page.locator("#tip").bounding_box(), page.locator("#tip tr").last.bounding_box()
    assert tip["x"] + tip["width"] < 320
    assert last["y"] + last["height"] < 900


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_of_a_high_contrast_theme(page, scheme):
    page.emulate_media(forced_colors="active", color_scheme=scheme)

    def color(selector: str, name: str) -> str:
        return page.eval_on_selector(selector, f"each => getComputedStyle(each).{name}")

    assert color("svg > text", "fill") == color("body", "color")  # the words
    buttons = ("li:nth-child(1) button", "li:nth-child(2) button")
    chosen, other = (color(button, "borderTopColor") for button in buttons)
    assert chosen != other
    assert other == color("body", "backgroundColor")


def test_the_chosen_sentence_is_printed_with_all_of_its_tree(page, tmp_path):
    tree = Tree.from_string("(1" + " (1 lovely)" * 60 + ")")
    rows = np.eye(3, dtype=np.float32)[[1] * tree.num_nodes]
    write_page([Prediction(tree, rows)] * 300, tmp_path / "wide.html")
    page.goto((tmp_path / "wide.html").as_uri())
    page.emulate_media(media="print")
    assert page.is_hidden("#list")
    assert page.is_visible("#matrix")
    assert page.locator("#picture svg").bounding_box()["width"] < page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


@pytest.mark.parametrize(
    ("label", "said"),
    [
        (1, "1 sentence; 1 of 1 with a gold label is right (100.0 %)"),
        (0, "1 sentence; 0 of 1 with a gold label are right (0.0 %)"),
    ],
)
def test_one_sentence_is_no_plural(page, tmp_path, label, said):
    write_page([prediction("(1 film)", [label])], tmp_path / "one.html")
    page.goto((tmp_path / "one.html").as_uri())
    assert page.inner_text("#summary") == said
    assert page.inner_text("#found") == "1 of 1 sentence"


def test_without_scripts_the_page_says_what_it_needs(browser, page):
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(page.url)
    assert "This page needs JavaScript" in plain.inner_text("header")
    context.close()
