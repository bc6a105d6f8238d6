# Everything a person types: run, test, check, bench, soak, tavern, format.
PY := .venv/bin/python

.PHONY: check test format
check:
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

test:
	$(PY) -m pytest -n 2 --dist loadgroup

format:
	$(PY) -m ruff check --fix-only .
	$(PY) -m ruff format .
