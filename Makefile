# Framescribe. `make` alone lists the targets.
PYTHON ?= python3
VENV   := .venv
READY  := $(VENV)/.ready
BIN    := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)
# Nothing needs a network; say so to the libraries that might try. pipeline/__init__.py does for what it starts.
export HF_HUB_OFFLINE := 1
export DVC_NO_ANALYTICS := 1
export ORT_DISABLE_TELEMETRY := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all lint format lock docs bench mutants clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## create .venv with the locked packages (fast when done)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Framescribe needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Try: make setup PYTHON=python3.12"; exit 1; }
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV) || \
	  { echo "python -m venv failed: install the venv module of your Python (Debian: apt-get install python3-venv)"; exit 1; }
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check uv || true
	@if $(VENV)/bin/python -m uv --version >/dev/null 2>&1; then \
	  $(VENV)/bin/python -m uv pip install --python $(VENV)/bin/python --require-hashes --compile-bytecode --quiet -r requirements.lock; \
	else \
	  $(VENV)/bin/python -m pip install --disable-pip-version-check --require-hashes --quiet -r requirements.lock; \
	fi
	@$(VENV)/bin/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	@touch $@
	@echo "Ready: source $(VENV)/bin/activate"

demo: setup ## make the demo set, run the whole graph on it, print scores and the report's path
	@framescribe demo-data
	@for name in mobilenet_v2 i3d_rgb soundnet; do framescribe weights fetch $$name || exit 1; done
	@dvc repro
	@framescribe report --show

test: setup ## the tests (under 12 minutes on 2 cores)
	@$(BIN)/python -m pytest -m "not slow"

test-all: setup ## every test, the slow ones too; properties are tried on new examples
	@$(BIN)/python -m pytest --hypothesis-profile explore

lint: setup ## ruff, ruff format, mypy
	@ruff check .
	@ruff format --check .
	@mypy

format: setup ## let ruff rewrite the files
	@ruff check --fix .
	@ruff format .

lock: setup ## resolve pyproject.toml into requirements.lock
	@$(BIN)/python -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --all-extras --no-header --no-emit-index-url --output-file requirements.lock pyproject.toml

docs: setup ## build docs/ into site/, a site with a search
	@$(BIN)/python -m mkdocs build --quiet --strict
	@echo "site/index.html opens from the disk; with its search: $(PYTHON) -m http.server --bind 127.0.0.1 --directory site"

bench: setup ## print the measured ratios of benchmarks/
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

mutants: setup ## would the tests notice? 100 small random changes, each against the tests of its module
	@$(BIN)/python -m experiments.mutants

clean: ## remove everything that was made (keeps .venv and weights)
	@rm -rf .cache .dvc/cache .dvc/tmp data predictions evaluation report metrics tables logs site metrics.json dvc.lock dvc_plots
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@git clean -fdXq features runs
