# `make` lists what it can do. Everything happens in .venv, which is made when it is first needed.

MAKEFLAGS += --no-print-directory
# Bytecode is kept whatever the shell says: without it each process compiles every module again, and starts a third slower.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help

PYTHON ?=
ARGS ?=
URL ?= ws://127.0.0.1:8765
DATA ?= data
STORE ?=
# A cluster is six processes for each test that has one of its own.
WORKERS ?= $(if $(STORE),2,3)
RACES ?= 10000
RUNS ?= 1000
PIP := .venv/bin/python -m pip --disable-pip-version-check --no-input
STAMP := .venv/.installed

# An environment made elsewhere (a moved or copied tree) or by a Python that is gone does not count.
USABLE := $(shell .venv/bin/python -c '' 2>/dev/null && grep -qsF '$(CURDIR)/.venv/bin/python' .venv/bin/pip && echo yes)
ifneq ($(USABLE),yes)
$(STAMP): FORCE
endif

.PHONY: help install run test long attacks chaos stats bench bench-peers pictures soak bots clean FORCE

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1 /p' $(MAKEFILE_LIST) | while read -r target text; do printf '  make %-12s%s\n' "$$target" "$$text"; done

install: $(STAMP) ## make .venv with everything in it (PYTHON=... chooses the interpreter)
	@echo "Punto is installed in .venv"

run: $(STAMP) ## a node with its own store, five tables and a few bots, on 127.0.0.1:8765 (ARGS="..." adds options)
	@exec .venv/bin/punto-server serve --open --demo-bots --betting-ms 6000 --data '$(DATA)' $(ARGS)

test: $(STAMP) ## style, types, tests (ARGS="tests/unit -k shoe" picks tests, STORE=cluster or sentinel changes the store)
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@export PUNTO_TEST_STORE='$(STORE)'; \
	.venv/bin/pytest --quiet --numprocesses $(WORKERS) --dist worksteal $(ARGS) || { [ $$? = 1 ] && \
	echo "Tests with times in them share the cores: what failed is run once more alone, and has to pass." && \
	.venv/bin/pytest --quiet --last-failed --last-failed-no-failures none $(ARGS); }

long: $(STAMP) ## two tests about money in their long form (RACES=10000 of two sockets, RUNS=1000 of deeds and failures)
	@RACES='$(RACES)' MONEY_RUNS='$(RUNS)' .venv/bin/pytest --quiet $(ARGS) \
	tests/integration/money/test_races.py tests/integration/store/test_money_machine.py

chaos: $(STAMP) ## breaks a house in play and measures how it comes out of it (ARGS="--short", "--seed N", "--list")
	@exec .venv/bin/python -m tests.chaos $(ARGS)

stats: $(STAMP) ## a million shuffles and rounds of each deck count against the exact odds (ARGS="--rounds N", "--seed TEXT")
	@exec .venv/bin/python -m tests.stats $(ARGS)

attacks: $(STAMP) ## attacks a node in every way and measures what honest seats feel of it (ARGS="--attack NAME", "--list")
	@exec .venv/bin/python -m tests.attacks $(ARGS)

bench: $(STAMP) ## what it costs and how fast it is, beside floors of the same run (ARGS="--quick", "--only acts"); bench.json
	@exec .venv/bin/python -m tests.bench $(ARGS)

bench-peers: $(STAMP) .venv-peers/.installed ## the same beside what a Python author might take instead; bench-peers.json
	@exec .venv/bin/python -m tests.bench --only peers --json bench-peers.json $(ARGS)

.venv-peers/.installed: tests/bench/peers/requirements.txt $(STAMP)
	@echo "Installing what Punto is measured against into .venv-peers"
	@.venv/bin/python -m venv --clear .venv-peers
	@.venv-peers/bin/python -m pip --disable-pip-version-check --no-input install --quiet --requirement $<
	@touch $@

pictures: $(STAMP) ## takes the pictures of the page for README.md
	@exec .venv/bin/python -m tests.browser.screenshots

soak: $(STAMP) ## an hour of play on the page, sped up, and a table with 500 seats (ARGS="--rounds 120 --seats 500")
	@exec .venv/bin/python -m tests.browser.soak $(ARGS)

bots: $(STAMP) ## 200 bots that play and check ten rounds at a running node (URL=..., ARGS="...")
	@exec .venv/bin/punto bots --url '$(URL)' --patrons 200 --rounds 10 $(ARGS)

clean: ## remove .venv, .venv-peers and what tools left behind; never the data
	@rm -rf .venv .venv-peers build dist punto.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find client_sdk server tests -type d -name __pycache__ -prune -exec rm -rf {} +

# The first interpreter that really runs (a shim may be there and refuse), is new enough and can make environments.
$(STAMP): pyproject.toml constraints.txt
	@set -e; rm -f $@; \
	if [ "$(USABLE)" != yes ]; then \
		python=; \
		for candidate in $(or $(PYTHON),python3.13 python3.12 python3.11 python3); do \
			if "$$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
			then python=$$candidate; break; fi; \
		done; \
		if [ -z "$$python" ]; then \
			echo "Punto needs Python 3.11 or newer with its venv module (on Debian or Ubuntu: apt-get install python3-venv);" \
				"none found as: $(or $(PYTHON),python3.13 python3.12 python3.11 python3). PYTHON=/path/to/python chooses one." >&2; \
			exit 1; \
		fi; \
		echo "Making .venv with $$("$$python" --version)"; \
		"$$python" -m venv --clear .venv; \
	fi; \
	echo "Installing Punto and its tools into .venv"; \
	$(PIP) install --quiet --constraint constraints.txt setuptools; \
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[server,dev]'; \
	touch $@
