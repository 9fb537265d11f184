"""The import of DGL, in fresh interpreters: what it changes and what it leaves alone."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
from commands import without_compiling


def run(script, *, packages=None, **environment):
    """Runs a script in a new interpreter with warnings as errors; returns what it printed."""
    variables = {name: value for name, value in os.environ.items() if name != "DGLBACKEND"}
    if packages is not None:
        inherited = variables.get("PYTHONPATH")
        variables["PYTHONPATH"] = os.pathsep.join([str(packages), *filter(None, [inherited])])
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        env={**variables, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert not without_compiling(result.stderr)
    return result.stdout


def fake_dgl(directory, init, **modules):
    """Writes a package named dgl whose graphbolt subpackage has the given modules."""
    graphbolt = directory / "dgl" / "graphbolt"
    graphbolt.mkdir(parents=True)
    (directory / "dgl" / "__init__.py").write_text(textwrap.dedent(init))
    for name, content in modules.items():
        (graphbolt / f"{name}.py").write_text(textwrap.dedent(content))
    return directory


def test_dgl_imports_traverses_and_is_the_plain_dgl(tmp_path):
    printed = run(
        """
        import sys, warnings
        import pandas, torch
        filters = list(warnings.filters)
        from graphsent import dgl
        import graphsent
        assert warnings.filters == filters

        graph = dgl.graph(([1, 2], [0, 0]))
        graph.ndata["x"] = torch.tensor([1.0, 2.0, 3.0])
        graph.ndata["h"] = torch.zeros(3)
        copy, total = dgl.function.copy_u("h", "m"), dgl.function.sum("m", "h")
        add_input = lambda nodes: {"h": nodes.data["h"] + nodes.data["x"]}
        dgl.prop_nodes_topo(graph, copy, total, apply_node_func=add_input)
        print(graph.ndata["h"].tolist())

        from graphsent._dgl import dgl as inside
        import dgl as plain
        assert dgl is plain is graphsent.dgl is sys.modules["dgl"]
        assert inside.DGLGraph is dgl.DGLGraph and inside.graph is dgl.graph
        assert not [name for name in sys.modules if name.startswith("setuptools")]
        assert not [finder for finder in sys.meta_path if "graphsent" in type(finder).__module__]
        """,
        HOME=str(tmp_path),
    )
    assert printed == "[6.0, 2.0, 3.0]\n"
    assert list(tmp_path.iterdir()) == []  # no configuration file in the home directory


def test_dgl_is_imported_when_it_is_needed_and_a_plain_import_works_before():
    run(
        """
        import sys
        import graphsent.cells, graphsent.models
        assert "dgl" not in sys.modules
        import dgl
        graph = dgl.graph(([1, 2], [0, 0]))
        assert graphsent.graphs.root_nodes
        assert dgl is graphsent.dgl
        assert not [finder for finder in sys.meta_path if "graphsent" in type(finder).__module__]
        """
    )


def test_threads_that_need_dgl_first_all_get_it():
    run(
        """
        from concurrent.futures import ThreadPoolExecutor
        from graphsent.graphs import constituency_graph
        trees = ["(S (A a) (B b))"] * 8
        with ThreadPoolExecutor(8) as pool:
            graphs = list(pool.map(constituency_graph, trees))
        assert {graph.num_nodes() for graph in graphs} == {3}
        """
    )


def test_an_earlier_failed_import_of_dgl_does_no_harm():
    run(
        """
        import os
        os.environ["DGLBACKEND"] = "pytorch"
        try:
            import dgl
        except Exception:
            pass
        from graphsent import dgl
        from dgl.heterograph import DGLGraph
        import dgl as plain
        assert plain.DGLGraph is dgl.DGLGraph is DGLGraph
        assert dgl.backend.backend_name == "pytorch" and dgl.view.HeteroNodeView
        assert dgl.batch([dgl.graph(([0], [1]))] * 2).num_nodes() == 4
        """
    )


def test_only_known_warnings_are_ignored(tmp_path):
    known = r"""
        import warnings
        warnings.warn("\nWARNING!\nThe 'datapipes', 'dataloader2' modules are deprecated")
        from tqdm import TqdmWarning
        warnings.warn("IProgress not found. Please update jupyter and ipywidgets.", TqdmWarning)
        escape = "\P"
        """
    packages = fake_dgl(tmp_path / "known", known)
    run("from graphsent import dgl; print(dgl.escape)", packages=packages)

    packages = fake_dgl(tmp_path / "other", "import warnings; warnings.warn('something else')")
    printed = run(
        """
        try:
            from graphsent import dgl
        except ImportError as error:
            print(error)
        """,
        packages=packages,
    )
    assert "fails to import: UserWarning: something else" in printed


def test_a_dgl_that_imports_by_itself_is_left_alone(tmp_path):
    packages = fake_dgl(
        tmp_path,
        "from . import graphbolt",
        __init__="from .base import answer",
        base="answer = 42",
    )
    printed = run(
        """
        from graphsent import dgl
        import dgl.graphbolt.base
        print(dgl.__file__, dgl.graphbolt.answer, dgl.graphbolt.base.answer)
        """,
        packages=packages,
    )
    assert printed == f"{tmp_path / 'dgl' / '__init__.py'} 42 42\n"


def test_a_dgl_imported_before_is_used_as_it_is(tmp_path):
    packages = fake_dgl(tmp_path, "token = object()")
    run(
        """
        import os, sys, dgl
        token = dgl.token
        from graphsent._dgl import dgl
        assert dgl.token is token
        import graphsent
        assert graphsent.dgl is sys.modules["dgl"]
        assert "DGLBACKEND" not in os.environ
        """,
        packages=packages,
    )


def test_only_a_broken_graphbolt_is_replaced_and_says_why(tmp_path):
    packages = fake_dgl(
        tmp_path,
        "from . import graphbolt as gb; value = 1",
        __init__="from . import base; public = 1; raise FileNotFoundError('no library')",
        base="",
    )
    printed = run(
        """
        import sys
        from graphsent import dgl
        assert dgl.value == 1 and dgl.gb is dgl.graphbolt is sys.modules["dgl.graphbolt"]
        assert not hasattr(dgl.graphbolt, "public") and not hasattr(dgl.graphbolt, "base")
        assert "dgl.graphbolt.base" not in sys.modules
        try:
            dgl.graphbolt.ItemSet
        except AttributeError as error:
            print(error)
        try:
            import dgl.graphbolt.base
        except ModuleNotFoundError as error:
            print(error)
        """,
        packages=packages,
    )
    assert printed.splitlines() == [
        "dgl.graphbolt is not available here: FileNotFoundError: no library (wanted 'ItemSet')",
        "No module named 'dgl.graphbolt.base'",
    ]


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (
            "raise OSError('libdgl.so')",
            "DGL is installed but fails to import: OSError: libdgl.so. graphsent needs DGL 2.1",
        ),
        (
            "import module_that_is_absent",
            "DGL is installed but fails to import: ModuleNotFoundError: No module named 'module_th",
        ),
    ],
)
def test_a_broken_dgl_is_explained(tmp_path, init, message):
    printed = run(
        """
        for attempt in range(2):
            try:
                from graphsent import dgl
            except ImportError as error:
                print(error)
        """,
        packages=fake_dgl(tmp_path, init),
    )
    first, second = printed.splitlines()
    assert first.startswith(message)
    assert first == second


def test_a_missing_dgl_is_explained():
    printed = run(
        """
        import sys
        from importlib.machinery import PathFinder

        class WithoutDGL(PathFinder):
            @classmethod
            def find_spec(cls, name, path=None, target=None):
                return None if name == "dgl" else super().find_spec(name, path, target)

        sys.meta_path = [WithoutDGL if f is PathFinder else f for f in sys.meta_path]
        try:
            from graphsent import dgl
        except ImportError as error:
            print(error.name, "|", error)
        """
    )
    assert printed == "dgl | DGL is not installed: run graphsent install-dgl\n"


def test_dgl_works_without_its_module_for_one_version_of_python():
    """As on Python 3.13 and later, for which DGL has no wheel."""
    printed = run(
        """
        import sys, torch
        from graphsent import dgl
        from graphsent.cells import ChildSumTreeLSTM

        assert not [name for name in sys.modules if name.startswith("dgl._ffi._cy")]
        graph = dgl.batch([dgl.graph(([1, 2], [0, 0]))] * 2)
        cell, feat = ChildSumTreeLSTM(3, 2), torch.ones(6, 3)
        assert torch.equal(cell(graph, feat)[:3], cell(graph, feat)[3:])
        torch.testing.assert_close(cell(graph, feat, engine="dgl"), cell(graph, feat))
        try:
            dgl.topological_nodes_generator(dgl.graph(([0, 1], [1, 0])))
        except dgl.DGLError:  # raised by the library
            print("a circle")
        """,
        DGL_FFI="ctypes",
    )
    assert printed == "a circle\n"
