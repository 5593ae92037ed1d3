# Everything runs from .venv, which the first target makes from Python 3.11, pip and uv.lock alone.
# `make` without a target says what there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

UV_VERSION := 0.13.9
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# The first Python of 3.11 or later that is found; `make PYTHON=/path/to/python3` names another.
PYTHON ?= $(shell for name in python3 python3.11 python3.12 python3.13 python3.14 python; do \
	if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo "$$name"; break; fi; done)

# How often `make fault` kills something.
FAULT_KILLS ?= 200
export FAULT_KILLS

# pyright comes whole from the lock file (its own copy, and node as a wheel): it has nothing to fetch.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PYRIGHT_PYTHON_USE_BUNDLED_PYRIGHT := 1
export PYRIGHT_PYTHON_GLOBAL_NODE := 0
# A Python is never fetched either.
export UV_PYTHON_DOWNLOADS := never

.PHONY: help test live fault lint schema requirements bench demo demo-plugins test-plugins clean

help: ## say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|' 2>/dev/null \
		|| grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST)

$(READY): pyproject.toml uv.lock
	@if ! "$(or $(PYTHON),false)" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
		echo "Inspan needs Python 3.11 or later, and '$(or $(PYTHON),what is on the PATH)' is not." >&2; \
		echo "Install one, or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; fi
	@echo "Preparing $(VENV) with $(PYTHON) (once, and again when pyproject.toml or uv.lock change)..."
	@[ -x $(BIN)/python ] || "$(PYTHON)" -m venv --without-pip $(VENV)
	@if "$(PYTHON)" -m pip --version >/dev/null 2>&1; then \
		"$(PYTHON)" -m pip --quiet --python $(BIN)/python install "uv==$(UV_VERSION)"; \
	else \
		$(BIN)/python -m ensurepip >/dev/null && $(BIN)/python -m pip --quiet install "uv==$(UV_VERSION)"; fi
	$(BIN)/uv sync --frozen --inexact --quiet --python $(BIN)/python
	@touch $@

test: $(READY) ## the unit, property and meta tests
	$(BIN)/pytest tests --ignore=tests/live --ignore=tests/fault -n logical --maxprocesses 8 --dist loadfile

live: $(READY) ## the tests against real harnesses, installed below $INSPAN_CACHE
	$(BIN)/pytest tests/live

fault: $(READY) ## kill daemon, holder and harness at random, FAULT_KILLS times
	$(BIN)/pytest tests/fault

lint: $(READY) ## style, format, types and the layers of the rooms
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports

schema: $(READY) ## write everything in docs/ anew that is made from the code
	$(BIN)/python -m inspan.model.schema docs/schema
	$(BIN)/python -m inspan.daemon.openapi > docs/openapi.json
	$(BIN)/python -m inspan.cli.reference

requirements: $(READY) ## print each requirement, its state and its tests (ARGS="--slice agent")
	@$(BIN)/python tools/requirements.py $(ARGS)

bench: $(READY) ## measure beside others for half an hour, and write docs/benchmarks.md (ARGS="sse_fanout --json FILE" measures one)
	$(BIN)/python -m benchmarks $(or $(ARGS),--json benchmarks/last_run.json)
	$(if $(ARGS),,$(BIN)/python tools/render_benchmarks.py benchmarks/last_run.json)

demo: $(READY) ## see Inspan at work in a throwaway home: no key, no network
	$(BIN)/inspan demo

demo-plugins: $(READY) ## see runtime plugins at work in an agent with a scripted model: no key, no network
	$(BIN)/inspan demo plugins

test-plugins: $(READY) ## the tests of runtime plugins alone: no key, no network
	$(BIN)/pytest tests/agent/plugins -n logical --maxprocesses 8 --dist loadfile

clean: ## remove the environment and every cache in this folder
	rm -rf $(VENV) .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
