"""All corpora: the files are unchanged, and the README's examples are in them."""

import hashlib

from embedded_files import PARTS, bracketed, leaves, lines, treebank

FOLDERS = ("sentiment", "questions", "relatedness", "parses")


def test_files_are_those_that_were_made(embedded):
    sums = dict(reversed(line.split("  ")) for line in lines(embedded / "SHA256SUMS"))
    files = [path for name in FOLDERS for path in (embedded / name).iterdir()]
    found = {
        path.relative_to(embedded).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    assert found == sums


def test_examples_in_the_readme_are_in_the_data(embedded):
    readme = (embedded / "README.md").read_text(encoding="utf-8")
    rows = [row.strip("| ").split(" | ") for row in readme.splitlines() if row.startswith("| ")]
    examples = {
        (label, text) for label, text in (row for row in rows if len(row) == 2) if label in "01234"
    }
    trees = [tree for part in PARTS for tree in treebank(embedded, part)]
    known = {(tree.label, " ".join(leaf.word for leaf in leaves(tree))) for tree in trees}
    assert len(examples) == 6
    assert examples <= known
    files = [path.read_text(encoding="utf-8") for path in sorted(embedded.glob("*/*.txt"))]
    samples = [block for block in readme.split("```")[1::2] if block.startswith("\n")]
    assert len(samples) == 3
    for line in "".join(samples).split("\n"):
        assert any(f"{line}\n" in text for text in files), line
    assert bracketed(samples[0].strip()).label == "3"
