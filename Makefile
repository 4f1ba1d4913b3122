# Everything that people, hooks and CI run. `make help` lists the targets.
#
# Nothing is installed outside this directory: virtual environments live under .venv/, the
# wheel in dist/, Rust's output in target/. Stamp files make repeated calls quick.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
CARGO ?= cargo
# Extra arguments, for example: make test-python PYTEST_FLAGS="-k sparse -x"
PYTEST_FLAGS ?=
CARGO_TEST_FLAGS ?=
BENCH_FLAGS ?=
# QUICK=1 makes `make peers` run the short variants.
QUICK ?=

# rustup's usual place, for shells that have not read its profile yet.
export PATH := $(PATH):$(HOME)/.cargo/bin
# An outer environment must not leak into ours.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV CONDA_PREFIX

VENVS := .venv
ENVIRONMENTS := demo lint oldest peers test
PIP := -m pip --disable-pip-version-check --quiet

# What each environment installs beside the wheel and its run-time dependencies.
EXTRA_demo := [demo]
EXTRA_lint := [lint]
EXTRA_oldest := [test]
EXTRA_peers :=
EXTRA_test := [test]

# The oldest versions that we support, together with others of their time; pyproject.toml has
# the same lower bounds. Newer Pythons need newer wheels: there the oldest that exist for them.
# pytest 9 deprecates what scikit-learn 1.6's `parametrize_with_checks` does, and polars 2 has no
# interchange protocol, by which scikit-learn 1.6 finds its column names.
PINS_oldest := \
	"joblib==1.4.2" \
	"numpy==1.26.4; python_version < '3.13'" \
	"numpy==2.1.3; python_version == '3.13'" \
	"numpy==2.3.3; python_version > '3.13'" \
	"pandas<3" \
	"polars==1.20.0" \
	"pytest<9" \
	"scikit-learn==1.6.1; python_version <= '3.13'" \
	"scikit-learn==1.7.2; python_version > '3.13'" \
	"scipy==1.14.1; python_version <= '3.13'" \
	"scipy==1.16.2; python_version > '3.13'"
# What each environment is given if there is a wheel for its platform and its Python.
OPTIONAL_peers := pandas scikit-learn-intelex ydf
OLDEST_TESTS := $(wildcard $(addprefix tests/test_, estimator_checks.py estimators.py forest*.py composition.py model_selection.py))

# Directories are listed too, so that a removed file is seen as a change.
WHEEL_SOURCES := $(shell find src python -not -path '*/__pycache__*' -not -name '.*' 2>/dev/null) \
	$(wildcard Cargo.toml Cargo.lock pyproject.toml rust-toolchain.toml README.md LICENSE)
WHEEL_STAMP := dist/.stamp

.PHONY: help demo test test-rust test-python test-oldest lint lint-rust lint-python lint-stubs \
	lint-docs format bench peers wheel clean check-python check-rust

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENVS)/demo.stamp ## Train on real data, compare with scikit-learn, draw a tree
	$(VENVS)/demo/bin/python examples/demo.py

test: test-rust test-python test-oldest ## Run all tests

# The same cases at every run, as the Python tests draw them too; a bare `cargo test` draws new ones.
test-rust: | check-rust ## Run the Rust tests (no Python needed)
	PROPTEST_RNG_SEED=1 $(CARGO) test $(CARGO_TEST_FLAGS)

# What is tested must be the installed wheel, never the source tree.
INSTALLED := import pathlib, sysconfig, sklearn, spinney; \
	site = pathlib.Path(sysconfig.get_path("platlib")).resolve(); \
	found = pathlib.Path(spinney.__file__).resolve(); \
	assert found.is_relative_to(site), f"spinney comes from {found}, not from the wheel in {site}"; \
	print("testing", found.parent, "with scikit-learn", sklearn.__version__)

test-python: $(VENVS)/test.stamp ## Run the Python tests against the built wheel
	@$(VENVS)/test/bin/python -c '$(INSTALLED)'
	$(VENVS)/test/bin/pytest $(PYTEST_FLAGS)

test-oldest: $(VENVS)/oldest.stamp ## Run the estimator tests with the oldest scikit-learn supported
	@test -n "$(OLDEST_TESTS)" || { echo "error: no estimator tests found in tests/" >&2; exit 1; }
	@$(VENVS)/oldest/bin/python -c '$(INSTALLED)'
	$(VENVS)/oldest/bin/pytest $(PYTEST_FLAGS) $(OLDEST_TESTS)

lint: lint-rust lint-docs lint-python lint-stubs ## Run all static checks

lint-rust: | check-rust ## rustfmt and clippy, without and with the Python module
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings
	$(CARGO) clippy --all-targets --features python -- -D warnings

lint-docs: | check-rust ## rustdoc: every link resolves
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --features python

lint-python: $(VENVS)/lint.stamp ## ruff and mypy
	$(VENVS)/lint/bin/ruff check
	$(VENVS)/lint/bin/ruff format --check
	$(VENVS)/lint/bin/mypy --strict python/spinney

lint-stubs: $(VENVS)/lint.stamp ## The stub of the compiled module says what the module has
	$(VENVS)/lint/bin/python -m mypy.stubtest --mypy-config-file pyproject.toml spinney._spinney

format: $(VENVS)/lint.stamp | check-rust ## Rewrite the sources in the house format
	$(CARGO) fmt
	$(VENVS)/lint/bin/ruff check --fix
	$(VENVS)/lint/bin/ruff format

bench: | check-rust ## Run the criterion benches
	$(CARGO) bench $(BENCH_FLAGS)

peers: $(VENVS)/peers.stamp ## Print the side-by-side tables (QUICK=1: the short ones)
	$(VENVS)/peers/bin/python benches/peers/table1.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/news20.py
	$(VENVS)/peers/bin/python benches/peers/forest.py $(if $(QUICK),--trees 10)
	$(VENVS)/peers/bin/python benches/peers/dense.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/overheads.py $(if $(QUICK),--repeats 1)
	$(VENVS)/peers/bin/python benches/peers/absolute_error.py $(if $(QUICK),--rows 5000 --repeats 1)
	$(VENVS)/peers/bin/python benches/peers/mixed.py $(if $(QUICK),--repeats 1 --trees 10)
	$(VENVS)/peers/bin/python benches/peers/threads.py $(if $(QUICK),--repeats 1)
	$(VENVS)/peers/bin/python benches/peers/lazy.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/crossval.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/memory.py $(if $(QUICK),--quick)

wheel: $(WHEEL_STAMP) ## Build the wheel into dist/
	@ls dist/*.whl

clean: ## Remove the environments and everything that was built
	rm -rf $(VENVS) dist target .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find python tests examples benches -name __pycache__ -prune -exec rm -rf {} +

$(WHEEL_STAMP): $(WHEEL_SOURCES) $(VENVS)/build.stamp | check-rust
	@rm -rf dist
	$(VENVS)/build/bin/maturin build --release --interpreter $(VENVS)/build/bin/python --out dist
	@touch $@

$(VENVS)/build.stamp: pyproject.toml | check-python
	@$(VENVS)/build/bin/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENVS)/build
	$(VENVS)/build/bin/python $(PIP) install "maturin>=1.9.4,<2"
	@touch $@

# The wheel keeps its version while it is developed, hence the forced first step; the second
# one adds whatever its metadata asks for.
$(ENVIRONMENTS:%=$(VENVS)/%.stamp): $(VENVS)/%.stamp: $(WHEEL_STAMP) Makefile | check-python
	@$(VENVS)/$*/bin/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENVS)/$*
	$(VENVS)/$*/bin/python $(PIP) install --force-reinstall --no-deps dist/*.whl
	$(VENVS)/$*/bin/python $(PIP) install --prefer-binary "$$(echo dist/*.whl)$(EXTRA_$*)" $(PINS_$*)
	@for package in $(OPTIONAL_$*); do \
		$(VENVS)/$*/bin/python $(PIP) install --only-binary :all: "$$package" || \
			echo "note: $$package cannot be installed here and is left out" >&2; \
	done
	@touch $@

check-python:
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "error: $(PYTHON) not found; install Python >= 3.10 or name one: make PYTHON=/path/to/python3" >&2; \
		exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
		echo "error: $(PYTHON) is $$("$(PYTHON)" --version 2>&1) but spinney needs Python >= 3.10;" \
			"name another: make PYTHON=/path/to/python3" >&2; \
		exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "error: $(PYTHON) cannot make virtual environments: its modules venv or ensurepip are missing" \
			"(on Debian and Ubuntu: the package python3-venv)" >&2; \
		exit 1; }

check-rust:
	@command -v "$(CARGO)" >/dev/null || { \
		echo "error: $(CARGO) not found; install a Rust toolchain (https://rustup.rs)" >&2; \
		exit 1; }
	@wanted=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); \
	found=$$($(CARGO) --version | awk '{ print $$2 }'); \
	printf '%s\n' "$$wanted" "$$found" | sort -V -C || { \
		echo "error: Rust $$found is too old; install $$wanted or later (rustup update)" >&2; \
		exit 1; }
	@command -v cc >/dev/null || { \
		echo "error: no C linker (cc) found; Rust needs one (on Debian and Ubuntu: the package gcc)" >&2; \
		exit 1; }
