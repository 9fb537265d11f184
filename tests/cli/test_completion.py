"""Shell completion scripts."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from graphsent.cli import COMMANDS, main

pytest.importorskip("shtab")

# Asks bash for completions of the last word.
ASK = """
source {script}
complete_words() {{
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    function=$(complete -p graphsent | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    $function graphsent "${{COMP_WORDS[$COMP_CWORD]}}" "${{COMP_WORDS[$COMP_CWORD - 1]}}"
    echo "${{COMPREPLY[@]}}"
}}
complete_words graphsent {words}
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    path = tmp_path_factory.mktemp("completion") / "graphsent.bash"
    with pytest.MonkeyPatch.context() as patch:
        lines: list[str] = []
        patch.setattr("builtins.print", lambda text: lines.append(text))
        assert main(["completion", "bash"]) == 0
    path.write_text("\n".join(lines))
    return path


def completed(script, words: str) -> set[str]:
    command = ["bash", "-c", ASK.format(script=script, words=words)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_commands(script):
    assert completed(script, "tr") == {"train"}
    assert completed(script, "train --help") == {"--help", "--help-all"}
    assert completed(script, "''") >= set(COMMANDS)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("train --embedding-l", {"--embedding-lr"}),
        ("train --hei", {"--heights"}),  # of one model
        ("train --model treel", {"treelstm"}),
        ("train --task ss", {"sst2", "sst5"}),
        ("train --optimizer ada", {"adadelta", "adagrad", "adam"}),
        ("evaluate --split t", {"test", "train"}),
        ("predict --form", {"--format"}),
    ],
)
def test_options_and_choices(script, words, expected):
    assert completed(script, words) == expected


def test_files(script, tmp_path, monkeypatch):
    (tmp_path / "glove.txt").touch()
    monkeypatch.chdir(tmp_path)
    assert completed(script, "train --vectors glo") == {"glove.txt"}


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "install-dgl" in capsys.readouterr().out
