# One command each. Fresh machine: Python 3.11 and make are enough.

PYTHON ?= python3
PORT ?= 8000
MEMORYWIRE_HOME ?= var
VENV := .venv
BIN := $(VENV)/bin
export MEMORYWIRE_HOME
export MEMORYWIRE_PORT = $(PORT)

.DEFAULT_GOAL := help
.PHONY: help run manage test check fix types bench proof browser shots clean

help:  ## these lines
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

run: $(VENV)/base  ## set up what is missing and serve at http://127.0.0.1:$(PORT)
	@$(BIN)/python manage.py setup
	@exec $(BIN)/python manage.py serve

manage: $(VENV)/base  ## a management command: make manage CMD="apikey list"
	@$(BIN)/python manage.py $(CMD)

test: $(VENV)/dev browser  ## every test, the governed part on both profiles; slices of the campaigns
	$(BIN)/python -m pytest $(ARGS)
ifndef ARGS
	MEMORYWIRE_TEST_PROFILE=grown $(BIN)/python -m pytest tests/governance
endif

check: $(VENV)/dev  ## lint, format, types, imports, migrations, deployment settings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@# A data folder of its own: checking must not set up or read anybody's installation.
	scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && export MEMORYWIRE_HOME="$$scratch" && \
	$(BIN)/python manage.py makemigrations --check --dry-run && \
	MEMORYWIRE_PUBLIC_URL=https://memory.example.org $(BIN)/python manage.py check --deploy --fail-level WARNING

fix: $(VENV)/dev  ## what the linter and the formatter can mend by themselves
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/dev  ## mypy alone
	$(BIN)/mypy

bench: $(VENV)/dev  ## figures beside the package memorywire, and growth; LoCoMo alone with LOCOMO=path
ifdef LOCOMO
	$(BIN)/python -m benchmarks.locomo $(LOCOMO)
else
	$(BIN)/python -m benchmarks.microbench
	$(BIN)/python -m benchmarks.adversarial
	$(BIN)/python -m benchmarks.growth
	$(BIN)/python -m benchmarks.growth --store pgvector
endif

proof: $(VENV)/dev browser  ## the campaigns at full size; results go to docs/evidence/
	$(BIN)/python -m benchmarks.proof $(if $(LOCOMO),--locomo $(LOCOMO))

browser: $(VENV)/dev  ## a Chromium for the browser tests, where there is none yet
	@scripts/ensure-browser

shots: $(VENV)/dev browser  ## pictures of every page into DIR (default: shots), ONLY=queue for some
	$(BIN)/python -m tests.browser.shots $(or $(DIR),shots) $(if $(ONLY),--only $(ONLY))

clean:  ## the virtual environment; never the data folder
	rm -rf $(VENV)

# The lock is installed with --no-deps: it is complete, and one package in it (the tokenizer's)
# would otherwise pull in torch. See [tool.uv] in pyproject.toml.
$(VENV)/base: requirements/base.lock | $(VENV)/bin/python
	@echo "Installing packages into $(VENV), once: about a minute, in silence."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	@touch $@

$(VENV)/dev: requirements/dev.lock | $(VENV)/bin/python
	@echo "Installing packages for development into $(VENV), once: a few minutes, in silence."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	@touch $@ $(VENV)/base

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
