"""A web page to try a model: the classes of a sentence, or its score, and a picture of its tree.

    pip install gradio
    python examples/web_page.py [RUN] [--port 7860]

Without RUN, the bundled model is used, which reads only words. A model that reads trees needs the
parser that it was saved with, or bracketed trees as input.
"""

from __future__ import annotations

import argparse
from typing import Any

import gradio
import numpy as np

import graphsent


def page(model: Any) -> gradio.Interface:
    """The page of a model of single sentences."""

    def answer(sentence: str) -> str:
        try:
            prediction = model.predict([sentence])[0]
        except graphsent.GraphsentError as error:
            raise gradio.Error(str(error), print_exception=False) from None
        is_score = isinstance(prediction, np.floating)
        return f"{prediction:.3f}" if is_score else prediction._repr_html_()  # as in a notebook

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
