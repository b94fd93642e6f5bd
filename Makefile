# Every target sets up what it needs in .venv; nothing but make and Python 3.11 or later is needed beforehand.
# make PYTHON=/path/to/python3 picks the interpreter; ARGS="..." goes to the program that a target runs.
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: help demo test soak lint format bench interop clean

help:
	@echo "make demo     train on a part of MNIST: in a session, then in a cluster of three processes"
	@echo "make test     run the tests"
	@echo "make soak     kill, cut and strain clusters for a quarter of an hour"
	@echo "make lint     check style, types and who imports whom"
	@echo "make format   rewrite the files in the one style"
	@echo "make bench    time weft beside real TensorFlow (set up in .peers where it can be)"
	@echo "make interop  exchange graphs with real TensorFlow"

demo: $(VENV)/.ready
	$(BIN)/weft run examples/mnist.py $(ARGS)
	@echo "the same digits in a cluster: one parameter server, two workers"
	$(BIN)/weft launch --ps 1 --workers 2 examples/mnist_cluster.py

test: $(VENV)/.ready-dev
	$(BIN)/python -m pytest -n 2 --timeout 120 --ignore tests/interop $(ARGS)

soak: $(VENV)/.ready-dev
	WEFT_SOAK=1 $(BIN)/python -m pytest tests/distributed -k "fault or soak" --timeout 1800 $(ARGS)

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/import_check.py
	$(BIN)/mypy

format: $(VENV)/.ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.ready
	$(BIN)/python tools/peers.py --install
	$(BIN)/python -m benchmarks.run $(ARGS)

interop: $(VENV)/.ready-dev
	$(BIN)/python tools/peers.py --install
	$(BIN)/python -m pytest tests/interop --timeout 600 $(ARGS)

clean:
	rm -rf $(VENV) .peers .pytest_cache .ruff_cache .mypy_cache build dist

$(VENV)/bin/python:
	@python="$${PYTHON:-$$(sh tools/find_python.sh)}" && echo "setting up $(VENV) with $$python" \
		&& "$$python" -m venv $(VENV)

$(VENV)/.ready: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.ready-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.ready
