# Everything one does with this project from a shell. `make help` lists the targets.
#
# Two virtual environments, so that neither is rebuilt for the other: .venv has what the demo
# needs, .venv-dev has that and the tools of the tests. Each is keyed on its lock file by a stamp.

PYTHON ?= python3
VENV ?= .venv
VENV_DEV ?= .venv-dev
ARGS ?=
TESTS ?=
BENCH ?= lifecycle
FUZZ ?= 10
ROUNDS ?= 20

RUNTIME := $(VENV)/.installed
DEV := $(VENV_DEV)/.installed
TSC := tests/js/node_modules/.installed
TEST_PATH := "$$PATH:$(abspath $(VENV_DEV))/debian/usr/bin"
PIP_INSTALL := -m pip install --disable-pip-version-check --require-hashes
LOCK_OPTIONS := --quiet --generate-hashes --strip-extras --allow-unsafe \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

# Where it is set, every process compiles all it imports anew; the tests start hundreds.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-core test-long flakes mutants fuzz check likeness bench bench-page lock \
	clean programs python

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*  ## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/:.*  ## /\t/' | expand -t 12

demo: $(RUNTIME)  ## start a cluster and its page; options: make demo ARGS="--port 0"
	@exec $(VENV)/bin/python manage.py demo $(ARGS)

test: programs $(DEV) $(TSC)  ## prove the product; some tests: make test TESTS="tests/tidy -k long"
	@PATH=$(TEST_PATH) $(VENV_DEV)/bin/python -m $(if $(TESTS),pytest $(TESTS),tests.suite)

test-core: $(DEV)  ## prove what the story of a pod stands on: no browser, no demo; two minutes
	@$(VENV_DEV)/bin/python -m tests.suite core

test-long: programs $(DEV) $(TSC)  ## prove all, whole samples, twice beside a load: an hour and more
	@PATH=$(TEST_PATH) $(VENV_DEV)/bin/python -m tests.suite long

flakes: programs $(DEV) $(TSC)  ## run tests twenty times on a machine that stumbles: TESTS=...
	@PATH=$(TEST_PATH) ROUNDS=$(ROUNDS) $(VENV_DEV)/bin/python -m tests.suite.flakes $(TESTS)

mutants: programs $(DEV) $(TSC)  ## break the product in 100 places; does a test notice? ARGS="--count 5"
	@PATH=$(TEST_PATH) $(VENV_DEV)/bin/python -m tests.suite.mutants $(ARGS)

fuzz: $(DEV)  ## ask for what nobody asks for, longer than a test does: make fuzz FUZZ=20
	@FUZZ=$(FUZZ) $(VENV_DEV)/bin/python -m pytest -n 2 tests/fuzz

check: programs $(DEV) $(TSC)  ## lint, types of Python and JavaScript, import contracts
	$(VENV_DEV)/bin/ruff check .
	$(VENV_DEV)/bin/ruff format --check .
	$(VENV_DEV)/bin/mypy
	$(VENV_DEV)/bin/lint-imports
	tests/js/node_modules/.bin/tsc --project tests/js

likeness: $(DEV)  ## compare a cluster with what 1.33.4 answered: make likeness KUBECONFIG=file
	@$(VENV_DEV)/bin/python -m tests.likeness $(or $(KUBECONFIG),--help) $(ARGS)

bench: $(RUNTIME)  ## measure; which one: make bench BENCH=startup
	@$(VENV)/bin/python manage.py bench $(BENCH) --json $(ARGS)

bench-page: programs $(DEV)  ## measure the page in Chromium: what it loads, its frames, seeks, heap
	@$(VENV_DEV)/bin/python -m tests.browser --json $(ARGS)

lock: | python  ## renew both requirements files from pyproject.toml, with all hashes
	@$(PYTHON) -m venv .venv-lock
	@.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check pip-tools
	@CUSTOM_COMPILE_COMMAND="make lock" .venv-lock/bin/pip-compile $(LOCK_OPTIONS) \
		--extra dev --output-file requirements-dev.txt pyproject.toml
	@CUSTOM_COMPILE_COMMAND="make lock" .venv-lock/bin/pip-compile $(LOCK_OPTIONS) \
		--constraint requirements-dev.txt --output-file requirements.txt pyproject.toml

clean:  ## remove environments and caches; the demo's data stays
	rm -rf $(VENV) $(VENV_DEV) .venv-lock .mypy_cache .pytest_cache .ruff_cache \
		.hypothesis .import_linter_cache
	find . '(' -name __pycache__ -o -name node_modules ')' -type d -prune -exec rm -rf {} +

programs:
	@tests/setup $(VENV_DEV) $(PYTHON)

python:
	@command -v $(PYTHON) >/dev/null || { \
		echo "$(PYTHON) is not here. Install Python 3.11 or newer, or name one: make PYTHON=..." >&2; \
		exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$$($(PYTHON) -V) is too old: Python 3.11 or newer is needed." \
			"Name one: make PYTHON=..." >&2; \
		exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments." \
			"Install its venv module (on Debian: apt-get install python3-venv)." >&2; \
		exit 1; }

$(RUNTIME): requirements.txt | python
	@echo "Installing what the demo needs into $(VENV) (once, about a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python $(PIP_INSTALL) -r requirements.txt
	@touch $@

$(DEV): requirements-dev.txt | python
	@echo "Installing what the tests need into $(VENV_DEV) (once, about a minute) ..."
	@$(PYTHON) -m venv $(VENV_DEV)
	@$(VENV_DEV)/bin/python $(PIP_INSTALL) -r requirements-dev.txt
	@touch $@

$(TSC): tests/js/package-lock.json
	@echo "Installing what checks the page, from npm (once) ..."
	@cd $(@D)/.. && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error >/dev/null
	@touch $@
