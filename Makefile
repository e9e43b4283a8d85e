# Everything runs in .venv, made on first use; `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_STAMP := $(VENV)/.stamp-demo
STAMP := $(VENV)/.stamp
BENCH_STAMP := $(VENV)/.stamp-bench

# Two workers of pytest share the machine with numeric libraries: one thread each.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup demo docs docs-serve paper test wording test-slow coverage lint format bench bench-retraining bench-exporters clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

setup: $(STAMP) ## create .venv and install the package with every extra and the developers' tools

# What the demo needs: the package, and matplotlib for its figures.
$(DEMO_STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "steadytree needs Python 3.11 or newer, got $$($(PYTHON) --version 2>&1);" \
		     "name another interpreter with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[plot]'
	@touch $@

$(STAMP): $(DEMO_STAMP)
	$(BIN)/python -m pip install --quiet -e '.[all,dev,docs]'
	@touch $@

$(BENCH_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet -e '.[bench]'
	@touch $@

demo: $(DEMO_STAMP) ## see the package work
	$(BIN)/python examples/retraining/retrain_a_deployed_tree.py

# QUICK=1: no example is run and the page to try has no runtime.
docs: setup ## build the site into docs/_build/html (QUICK=1: seconds instead of minutes)
	$(if $(QUICK),STEADYTREE_DOCS_QUICK=1) $(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	$(if $(QUICK),,$(BIN)/python scripts/assemble_pyodide.py $(VENV)/pyodide --page docs/_build/html/try)
	@echo "Open this in a browser: $(CURDIR)/docs/_build/html/index.html"

# The page to try runs from a server alone: browsers start no worker from a file.
docs-serve: docs ## build the site and serve it on this machine alone
	@echo "Open this in a browser: http://127.0.0.1:8000/"
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory docs/_build/html 8000

# QUICK=1: a few minutes instead of hours; OUT=folder: another place for the page.
paper: setup ## regenerate the paper's experiments into steadytree-paper/ (QUICK=1: a small run)
	$(BIN)/python -m research.paper $(if $(QUICK),--quick) $(if $(TREES),--trees $(TREES)) $(if $(OUT),--out $(OUT))

# Work stealing gives each worker neighbours, so that what a file of tests prepares is prepared once.
test: lint ## lint, then every test but the slow ones
	@sh scripts/ensure_programs.sh
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

wording: setup ## record what messages say now in tests/wording.txt; read what git shows of it
	$(BIN)/python -m tests.wording

test-slow: setup ## the long tests
	$(BIN)/python -m pytest -m slow

# Compiled loops are seen by no tracer: their tests run once more as Python, where sums overflow aloud.
coverage: setup ## which lines of the package no test reaches; fails below 95 %
	@sh scripts/ensure_programs.sh
	$(BIN)/python -m pytest -n 2 -m "not slow" --cov=steadytree --cov-report=
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -m "not slow" -W ignore::RuntimeWarning \
		-k "not ($$($(BIN)/python -c 'from research.mutation.targets import SLOW_AS_PYTHON as s; print(s)'))" \
		--cov=steadytree --cov-append --cov-report= tests/distance/test_assignment.py \
		tests/distance/test_solver.py tests/growing/test_loops.py \
		tests/tree/test_walk.py
	$(BIN)/coverage report --show-missing --skip-covered --fail-under=95

lint: setup ## ruff, mypy --strict and the layers of the architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## let ruff fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(BENCH_STAMP) ## time the distance against its peers; writes research/benchmarks/results.md
	$(BIN)/python -m research.benchmarks

bench-retraining: $(BENCH_STAMP) ## time and score retraining against its peers
	$(BIN)/python -m research.benchmarks.retraining
	$(BIN)/python -m research.benchmarks.retraining_speed
	$(BIN)/python -m research.benchmarks.distilled

bench-exporters: $(BENCH_STAMP) ## hold our exporters and other people's against scikit-learn
	$(BIN)/python -m research.benchmarks.exporters

clean: ## remove .venv, caches and build products
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage htmlcov
	rm -rf docs/_build docs/gallery docs/reference/generated docs/reference/backreferences
	find src tests research examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
