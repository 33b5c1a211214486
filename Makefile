# hostsight: `make run` watches this machine, `make test` runs the tests. Needs make and Python 3.11 or later with venv.
#
#   VENV=DIR     where the environment is made (default .venv)
#   PYTHON=EXE   which Python makes it (default: the first of python3, python3.15 ... python3.11 that will do)
#   ARGS=...     passed on: make run ARGS="--for 60s --no-tui", make test ARGS="tests/unit -k spool"

SHELL := /bin/sh
VENV ?= .venv
PYTHON ?=
ARGS ?=
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PACKAGES := hostsight migrations ingest sql models jobs tui cli bench
WILL_DO := import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))

.DEFAULT_GOAL := help
.PHONY: help run test check format format-check lint types layers docs clean

help:
	@echo "make run     watch this machine (its own environment in $(VENV))"
	@echo "make test    run the tests"
	@echo "make check   format, lint, types, import layers and tests, as CI does"
	@echo "make format  format the code"
	@echo "make docs    write the generated pages of docs/ anew"
	@echo "make clean   delete the environment and the caches"

run: $(VENV)/.run
	@$(BIN)/python -m cli.main up $(ARGS)

test: $(VENV)/.develop
	$(BIN)/python -m pytest $(ARGS)

check: format-check lint types layers test

format: $(VENV)/.develop
	$(BIN)/python -m ruff format $(PACKAGES) tests
	$(BIN)/python -m ruff check --fix $(PACKAGES) tests

format-check: $(VENV)/.develop
	$(BIN)/python -m ruff format --check $(PACKAGES) tests

lint: $(VENV)/.develop
	$(BIN)/python -m ruff check $(PACKAGES) tests

types: $(VENV)/.develop
	$(BIN)/python -m mypy

layers: $(VENV)/.develop
	$(BIN)/lint-imports --no-logo

docs: $(VENV)/.develop
	$(BIN)/python -m cli.docs

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@set -e; \
	for python in $(or $(PYTHON),python3 python3.15 python3.14 python3.13 python3.12 python3.11); do \
	  if "$$python" -c '$(WILL_DO)' 2>/dev/null; then break; fi; python=; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "$(if $(PYTHON),$(PYTHON) will not do: )hostsight needs Python 3.11 or later with the venv module (Debian, Ubuntu: apt install python3-venv); PYTHON=/path/to/python3 names one" >&2; \
	  exit 1; \
	fi; \
	echo "making an environment in $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv "$(VENV)"

$(VENV)/.run: $(BIN)/python pyproject.toml constraints.txt
	@echo "installing hostsight and what it needs into $(VENV) (a minute or so, once)"
	@$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.develop: $(VENV)/.run
	@echo "installing the tools for development into $(VENV)"
	@$(PIP) install --constraint constraints.txt 'pip>=25.1'
	@$(PIP) install --constraint constraints.txt --group dev
	@touch $@
