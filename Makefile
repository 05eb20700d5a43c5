# Set-up is part of every target: on a machine with Python 3.11+ `make demo` and `make test` are all there is to it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DATA := examples/retail/data

.DEFAULT_GOAL := help
.PHONY: help demo report test test-full test-interop fuzz kill style bench regret clean

help: ## show this help
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: $(STAMP) $(DATA) ## generate the retail example and recommend how to keep its views
	@$(BIN)/advisor recommend examples/retail/workload.yaml

report: $(STAMP) $(DATA) ## the same as a page to look at: examples/retail/report.html
	@$(BIN)/advisor recommend examples/retail/workload.yaml --html examples/retail/report.html

test: $(STAMP) ## run the tests, once per engine, with one summary
	@$(BIN)/python tests/run.py

test-full: $(STAMP) ## the same with every view of the corpus on every engine, and more seeds
	@ADVISOR_TEST_FULL=1 $(BIN)/python tests/run.py unit sail spark connect cluster browser interop

test-interop: $(STAMP) ## run the tests against Spark's own Delta connector (fetched with Maven)
	@$(BIN)/python tests/run.py interop

fuzz: $(STAMP) ## random views and changes on Sail: make fuzz N=20000 SEED=1
	@$(BIN)/python tests/executors/fuzz.py --cases $(or $(N),2000) --seed $(or $(SEED),1)

kill: $(STAMP) ## kill processes at random points and check what they leave: make kill N=200 SEED=1 ENGINE=sail
	@$(BIN)/python tests/kill/kill.py --points $(or $(N),40) --seed $(or $(SEED),1) --engine $(or $(ENGINE),sail)

style: $(STAMP) ## ruff, ruff format and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP) ## time commits, file pruning, and refresh against recompute at TPC-H scale 1
	$(BIN)/python benchmarks/commit.py
	$(BIN)/python benchmarks/pruning.py
	PYTHONPATH=. $(BIN)/python benchmarks/refresh.py

regret: $(STAMP) ## measure the recommended way against the best one (40 minutes on a quiet machine), write docs/regret.md
	PYTHONPATH=. $(BIN)/python benchmarks/regret.py
	PYTHONPATH=. $(BIN)/python benchmarks/regret.py --report

clean: ## remove the environment, the example data and what tests leave behind
	rm -rf $(VENV) $(DATA) target test-output .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=python3.11 …"; exit 1; }
	@echo "creating the environment in $(VENV), once"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		{ echo "this Python cannot make environments: apt-get install python3-venv"; rm -rf $(VENV); exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(DATA): | $(STAMP)
	@$(BIN)/python examples/retail/generate.py
