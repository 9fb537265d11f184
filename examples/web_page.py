"""A web page to try a model: it shows the classes of a sentence and a picture of its tree.

    pip install gradio
    python examples/web_page.py [RUN] [--port 7860]

Without RUN, the bundled model is used, which reads only words. A model that reads trees needs the
parser that it was saved with, or bracketed trees as input.
"""

from __future__ import annotations

import argparse
from typing import Any

import gradio

import graphsent


def page(model: Any) -> gradio.Interface:
    """The page of a classifier."""

    def answer(sentence: str) -> str:
        try:
            return model.predict([sentence])[0]._repr_html_()  # as a notebook shows it
        except graphsent.GraphsentError as error:
            raise gradio.Error(str(error), print_exception=False) from None

    return gradio.Interface(
        answer, gradio.Textbox(label="sentence"), gradio.HTML(), title=model.name
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", nargs="?", help="a run, a saved model, or hf://user/name")
    parser.add_argument("--port", type=int, default=7860)
    arguments = parser.parse_args()
    try:
        model = graphsent.load(arguments.run)
    except graphsent.GraphsentError as error:
        parser.error(str(error))
    page(model).launch(server_port=arguments.port)
