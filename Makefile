# The front door. Every target makes .venv and installs what it needs on first use.

VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed-$(shell cksum < pyproject.toml | cut -d' ' -f1)
DOCS_STAMP := $(STAMP)-docs
CONFORMANCE_STAMP := $(STAMP)-conformance
PEERS   := $(VENV)/peers
PEERS_STAMP := $(PEERS)/$(notdir $(STAMP))
MINUTES ?= 10
JOBS    ?= 2
ARGS    ?=
# The Python of a machine with a GPU, which has torch, and a folder of wheels for what it lacks.
GPU_PYTHON ?= python3
GPU_SITE := .gpu
WHEELS  ?=
PYTEST  := $(BIN)/pytest -q -n $(JOBS) --dist worksteal

# Tests and campaigns start hundreds of processes, which import the same modules: compiled once, not by each of them.
unexport PYTHONDONTWRITEBYTECODE

# The first interpreter that is new enough; PYTHON=... chooses another.
PYTHON  ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; exit; }; done)

.DEFAULT_GOAL := help
.PHONY: help verify verify-deep test test-rest test-all lint docs bench bench-peers gpu-site gpu-test gpu-bench clean

help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

verify: $(STAMP) ## Prove the shipped rewrite rules, with live progress (ARGS="--filter pad" to choose)
	@$(BIN)/soundline verify --jobs $(JOBS) $(ARGS)

verify-deep: $(CONFORMANCE_STAMP) ## Ask other interpreters, put abstract machine and prover on trial, and change law and prover to see that tests notice (MINUTES=10)
	@PYTHONPATH=tests $(BIN)/python -m trials.deep --minutes $(MINUTES) $(ARGS)

test: $(STAMP) ## Run every kind of test and every example in the documentation strings, and of long corpora a part of each family
	@$(PYTEST) -m "not thorough" $(ARGS)

test-rest: $(STAMP) ## Run what make test leaves out: the rest of long corpora, and long tests
	@$(PYTEST) -m thorough $(ARGS)

test-all: $(STAMP) ## Run every test: make test and make test-rest in one
	@$(PYTEST) $(ARGS)

lint: $(STAMP) ## Check style, types, spelling and the import law
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict -p soundline
	MYPYPATH=tests $(BIN)/mypy --strict -p trials
	$(BIN)/codespell
	$(BIN)/pytest -q tests/unit/test_import_law.py

docs: $(DOCS_STAMP) ## Build the documentation into docs/_build/html
	@$(BIN)/sphinx-build -E -W -n --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs: open docs/_build/html/index.html"

bench: $(STAMP) ## Measure prover, compiler and kernels; results go to benchmarks/results
	@$(BIN)/python benchmarks/run.py $(ARGS)
	@echo "now beside peers; make bench-peers installs those that are absent"
	@$(if $(wildcard $(PEERS_STAMP)),$(PEERS)/bin/python,$(BIN)/python) benchmarks/peers.py

bench-peers: $(PEERS_STAMP) ## Measure kernels beside numpy, torch, JAX and tinygrad (ARGS="--row gemm-1024" to choose; tinygrad needs clang)
	@$(PEERS)/bin/python benchmarks/peers.py $(ARGS)

gpu-site:
	@test -z "$(WHEELS)" || $(GPU_PYTHON) -m pip install --quiet --no-index --no-deps --no-compile --upgrade \
		--target $(GPU_SITE) $(WHEELS)/*.whl

gpu-test: gpu-site ## On an NVIDIA GPU: compare kernels with torch and with their sequential reading, under sanitizers (WHEELS=folder)
	@PYTHONPATH=src:$(GPU_SITE) $(GPU_PYTHON) tests/gpu/main.py $(ARGS)

gpu-bench: gpu-site ## On an NVIDIA GPU: measure kernels beside cuBLAS and torch (WHEELS=folder; ARGS="--row softmax" to choose)
	@PYTHONPATH=src:$(GPU_SITE) $(GPU_PYTHON) benchmarks/gpu.py $(ARGS)

clean: ## Remove .venv, caches and built documentation
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis docs/_build
	find src -maxdepth 1 -name '*.egg-info' -exec rm -rf {} +

$(VENV)/bin/python:
	@if [ -z "$(PYTHON)" ]; then \
		echo "soundline needs Python 3.11 or newer; found: $$(python3 --version 2>&1 || true)." >&2; \
		echo "Install one, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; fi
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "soundline needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1 | head -n 1)." >&2; exit 1; }
	@echo "making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

$(STAMP): | $(VENV)/bin/python
	@echo "installing soundline and its tools into $(VENV) (first use, or pyproject.toml changed)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517 -e '.[dev]'
	@rm -f $(VENV)/.installed-*
	@touch $@

$(PEERS_STAMP): $(STAMP)
	@echo "installing peers to compare with into $(PEERS) (first use, or pyproject.toml changed)"
	@test -x $(PEERS)/bin/python || $(BIN)/python -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --use-pep517 -e '.[bench]'
	@touch $@

$(DOCS_STAMP): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517 -e '.[docs]'
	@touch $@

$(CONFORMANCE_STAMP): $(STAMP)
	@echo "installing what others wrote, to compare with (first use, or pyproject.toml changed)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517 -e '.[conformance]'
	@touch $@
