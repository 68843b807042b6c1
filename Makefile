# Each target does its own set-up in .venv; `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help up test test-pgbouncer test-edge test-browser test-servers test-conformance check check-model demo trials races guards bench promises fuzz mutants sagas

# ARGS goes to the command behind the target. FULL, CUTS and JSON are read by the commands themselves.
ARGS ?=
WORKERS ?= 2
FULL ?=
CUTS ?=
JSON ?=
export FULL CUTS JSON
# So many kill trials are part of the tests; LIYAGENT_KILL_TRIALS= plays none.
LIYAGENT_KILL_TRIALS ?= 13
test promises: export LIYAGENT_KILL_TRIALS := $(LIYAGENT_KILL_TRIALS)
# Our modules are compiled once, and not again by each of the processes that the checks start.
unexport PYTHONDONTWRITEBYTECODE

PY := .venv/bin/python
# Values that let the settings be read where nothing is decrypted and no secret is needed.
DUMMY := LIYAGENT_SECRET_KEY=only-for-checks-only-for-checks-only-for-checks-only LIYAGENT_SEAL_KEYS=k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=
NO_DATABASE := $(DUMMY) DATABASE_URL=postgresql://nobody:none@127.0.0.1:1/none

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile
	@echo '  ARGS="..." is passed on: make test ARGS="-k lease", make up ARGS="--port 9000 --port 9001"'

up: .venv/.ok ## run PostgreSQL, demo vendors and two app processes; Ctrl-C stops them
	@$(PY) -m liyagent.launcher up $(ARGS)

test: .venv/.ok-tests ## run all tests on a PostgreSQL of their own
	@$(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-pgbouncer: .venv/.ok-tests ## run two app processes behind PgBouncer (its Debian package must be installed)
	@PATH="$$PATH:/usr/sbin"; command -v pgbouncer >/dev/null || \
	    { echo "pgbouncer is needed: apt-get install pgbouncer" >&2; exit 1; }
	@$(PY) -m pytest tests/processes/pgbouncer/transaction_mode.py $(ARGS)

test-edge: .venv/.ok-tests ## run two app processes behind nginx (its Debian package must be installed)
	@PATH="$$PATH:/usr/sbin"; command -v nginx >/dev/null || \
	    { echo "nginx is needed: apt-get install nginx-light" >&2; exit 1; }
	@$(PY) -m pytest tests/processes/edge/behind_nginx.py $(ARGS)

test-servers: .venv/.ok-tests ## run agents on tool servers that were not made here, from npm and PyPI (npm and a network are needed)
	@$(PY) -m tests.servers.install && $(PY) -m pytest tests/servers/foreign.py $(ARGS)

test-conformance: .venv/.ok-tests ## run the official suite of MCP against /mcp (npm and a network are needed)
	@$(PY) -m tests.conformance $(ARGS)

test-browser: .venv/.ok-tests .venv/.ok-browser ## open every page of the console in Chromium (its Debian package must be installed; SHOTS=DIR keeps pictures)
	@command -v chromium >/dev/null || { echo "chromium is needed: apt-get install chromium" >&2; exit 1; }
	@# What drives the browser keeps a loop of events in the thread that the tests run in, and no page waits in it.
	@DJANGO_ALLOW_ASYNC_UNSAFE=1 $(PY) -m pytest tests/browser/console_pages.py tests/browser/handoff_pages.py tests/browser/playground_page.py tests/browser/routine_pages.py tests/browser/run_timeline.py tests/browser/replay_pages.py tests/browser/tickets_page.py tests/browser/workflow_pages.py $(ARGS)

check: .venv/.ok-tests ## lint, format, types, import contracts, missing migrations
	@echo "ruff check" && $(PY) -m ruff check .
	@echo "ruff format" && $(PY) -m ruff format --check .
	@echo "mypy" && $(NO_DATABASE) $(PY) -m mypy liyagent events handoffs missions routines runs sagas tests manage.py
	@echo "import contracts" && .venv/bin/lint-imports --no-logo
	@echo "migrations" && $(DUMMY) $(PY) -m liyagent.launcher with-postgres -- $(PY) manage.py makemigrations --check --dry-run

check-model: .venv/bin/python ## visit every state of the protocol's models, and see each break without a guard (spin and gcc are needed)
	@$(PY) -m tests.model $(ARGS)

fuzz: .venv/.ok-tests ## send the API whatever its schema allows, and the console's pages anything (FUZZ_EXAMPLES=200 for each operation)
	@FUZZ_EXAMPLES=$${FUZZ_EXAMPLES:-200} $(PY) -m pytest tests/flows/test_schema.py tests/flows/test_console_fuzz.py -q --show-capture=no $(ARGS)

mutants: .venv/.ok-tests ## try mutants of evidence packs: none is accepted (LIYAGENT_MUTANTS=100000)
	@LIYAGENT_MUTANTS=$${LIYAGENT_MUTANTS:-100000} $(PY) -m pytest tests/unit/events/seals/test_mutants.py -q --show-capture=no $(ARGS)

sagas: .venv/.ok-tests ## try random runs that fail and are undone: none twice, none lost (SAGA_EXAMPLES=300 runs of SAGA_STEPS=20 moments)
	@SAGA_EXAMPLES=$${SAGA_EXAMPLES:-300} SAGA_STEPS=$${SAGA_STEPS:-20} $(PY) -m pytest tests/unit/workflows/test_sagas_stateful.py -q --show-capture=no $(ARGS)

demo: .venv/.ok ## kill a process in the middle of a write and see the run finish on the other
	@$(PY) -m liyagent.demo $(ARGS)

trials: .venv/.ok-tests ## kill processes at random moments and count the effects (FULL=1: all; CUTS=1: at every message)
	@$(PY) -m tests.trials $(ARGS)

races: .venv/.ok-tests ## decide about requests, and revise hand-offs, at the same instant on two processes (RACE_ROUNDS=200 for each case)
	@RACE_ROUNDS=$${RACE_ROUNDS:-200} $(PY) -m pytest tests/processes/test_approval_races.py tests/processes/test_decided_while_*.py \
	    tests/processes/test_deaths_after_approval.py tests/processes/test_revises_at_once.py -q -rP --show-capture=stdout $(ARGS)

guards: .venv/.ok-tests ## take each guard out of a copy and see its test turn red
	@$(PY) -m tests.guards $(ARGS)

bench: .venv/.ok-tests ## measure what a step costs
	@$(PY) -m tests.bench $(ARGS)

promises: .venv/.ok-tests ## show which test proves each promise (JSON=1: as JSON alone)
	@$(PY) -m tests.promises $(ARGS)

# Set-up tells on standard error what it does: `make promises JSON=1` prints JSON alone.
.venv/bin/python:
	@for python in python3.11 python3.12 python3.13 python3 ""; do \
	    if [ -z "$$python" ]; then echo "Python 3.11 or newer is needed: apt-get install python3 python3-venv" >&2; exit 1; fi; \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	done; \
	if ! "$$python" -c 'import ensurepip' 2>/dev/null; then echo "$$python has no venv: apt-get install python3-venv" >&2; exit 1; fi; \
	echo "making .venv with $$python" >&2; \
	"$$python" -m venv .venv

.venv/.ok: requirements.txt | .venv/bin/python
	@echo "installing requirements.txt into .venv (about half a minute)" >&2
	@$(PY) -m pip install -qq --disable-pip-version-check -r requirements.txt >&2
	@touch $@

.venv/.ok-tests: tests/requirements.txt .venv/.ok
	@echo "installing tests/requirements.txt into .venv" >&2
	@$(PY) -m pip install -qq --disable-pip-version-check -r tests/requirements.txt >&2
	@touch $@

.venv/.ok-browser: tests/requirements-browser.txt .venv/.ok-tests
	@echo "installing tests/requirements-browser.txt into .venv" >&2
	@$(PY) -m pip install -qq --disable-pip-version-check -r tests/requirements-browser.txt >&2
	@touch $@
