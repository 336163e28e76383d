# The commands of the project. `make demo` and `make test` need nothing but Python 3.11+, make and a C compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/.ready-$(shell cksum < requirements/dev.lock | cut -d" " -f1)
# Installed again when pyproject.toml changes: the entry points of commands and plugins are written then.
READY := $(VENV)/.installed-$(shell cksum < pyproject.toml | cut -d" " -f1)
DOCS_VENV := .venv-docs
DOCS_READY := $(DOCS_VENV)/.ready-$(shell cksum < requirements/docs.lock | cut -d" " -f1)
PYTEST := $(BIN)/python -m pytest
# Two more than there are cores: some tests only wait.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
PARALLEL := --numprocesses=$(WORKERS) --dist=worksteal

# Tests start some hundred Pythons: with their bytecode written once, they take two thirds of the time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo docs test check format cluster-tests cluster-binaries helm foreign-clients foreign-tests differential compatibility-tests compatibility-binaries go-stubs kill-tests page-tests soak-tests short-soak-tests bench bench-device bench-abuse bench-webhooks bench-lists bench-etcd bench-page bench-workloads newest-python test-newest test-pythons dist lock types reference pictures page-pictures proto recordings clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 30

# A Python that is named is the one that is used: an environment of another version is set up again.
VERSION := -c 'import sys; print(*sys.version_info[:2])'
ifneq ($(origin PYTHON),file)
ifneq ($(shell $(PYTHON) $(VERSION)),$(if $(wildcard $(BIN)/python),$(shell $(BIN)/python $(VERSION))))
.PHONY: $(TOOLS)
endif
endif

$(TOOLS): requirements/dev.lock
	@echo "setting up $(VENV) with $$($(PYTHON) --version) (once, about a minute)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Pilotage needs Python 3.11 or newer; select one with: make PYTHON=python3.12 …" >&2; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@touch $@

$(READY): $(TOOLS)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY)  ## run an example operator on the embedded server (ONCE=1 exits at the end)
	@$(BIN)/pilotage demo $(if $(ONCE),--once)

$(DOCS_READY): requirements/docs.lock
	@rm -rf $(DOCS_VENV)
	@$(PYTHON) -m venv $(DOCS_VENV)
	@$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.lock
	@touch $@

docs: $(DOCS_READY)  ## build the site of the documentation into the folder site; warnings, such as broken links, are errors
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/python -m mkdocs build --strict

test: $(READY)  ## all tests that need nothing but Python
	$(PYTEST) $(PARALLEL) -m "not cluster and not foreign and not go and not page and not long"

recordings: $(READY)  ## replay all recorded answers of a kube-apiserver, and print the agreement for each kind
	$(BIN)/python -m tests.server.recordings.replay --check

check: $(READY)  ## format, lint, types (those of the docs too), layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python hack/check_docs.py
	$(BIN)/lint-imports

format: $(READY)  ## format, and fix what the linter can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

cluster-binaries:  ## build kube-apiserver, etcd and kubectl into the cache folder, once
	@$(PYTHON) hack/cluster/binaries.py || test $$? -eq 3

helm:  ## build helm into the cache folder, once
	@$(PYTHON) hack/helm/binaries.py || test $$? -eq 3

cluster-tests: $(READY) cluster-binaries  ## the client tests and generated CRDs against a real kube-apiserver
	@$(PYTHON) hack/helm/binaries.py > /dev/null || echo "no helm: the tests that render the chart are skipped" >&2
	$(PYTEST) -m "cluster and not long"

differential: $(READY) cluster-binaries  ## random requests to a real kube-apiserver and to ours, for SECONDS (600), from SEED (1)
	$(BIN)/python -m tests.differential --seconds $(or $(SECONDS),600) --seed $(or $(SEED),1)

foreign-clients:  ## install or build the clients of other projects into the cache folder, once
	@$(PYTHON) hack/foreign/environment.py
	@$(PYTHON) hack/foreign/binaries.py || test $$? -eq 3
	@$(PYTHON) hack/envtest/binaries.py || test $$? -eq 3

foreign-tests: $(READY) cluster-binaries foreign-clients  ## these clients on a real kube-apiserver and on ours
	$(PYTEST) -m foreign tests/foreign

compatibility-binaries:  ## build the Go programs of the Device API's older generations into the cache folder, once
	@$(PYTHON) hack/device/binaries.py || test $$? -eq 3

compatibility-tests: $(READY) compatibility-binaries  ## the Device API with Go clients and Go servers
	$(PYTEST) -m go

go-stubs:  ## generate the Go stubs of these programs
	$(PYTHON) hack/device/go_stubs.py

kill-tests: $(READY)  ## 200 kills of processes on a SQLite file, 20,000 states after a power failure, ten processes on one file for a minute
	$(PYTEST) -m long tests/storage

page-tests: $(READY)  ## the live page in a headless Chromium, which is installed where this is root
	@$(PYTHON) hack/chromium/browser.py > /dev/null || test $$? -eq 3
	$(PYTEST) -m page tests/dashboard

soak-tests: $(READY)  ## every long run: those of kill-tests, 1,000 processes with Ctrl-C, 100,000 elections, 1,000,000 reads of own writes, 1,000 examples for each property
	$(PYTEST) $(PARALLEL) -m long
	$(PYTEST) $(PARALLEL) -m "hypothesis and not foreign and not cluster and not go and not page and not long" --hypothesis-profile=soak

short-soak-tests: $(READY)  ## the long runs, each with one seed only
	$(PYTEST) --numprocesses=3 --dist=worksteal --durations=15 -m long --one-of-each  # some only wait

bench: $(READY)  ## speed and memory, printed with ratios
	$(BIN)/python -m bench

bench-device: $(READY)  ## the Device API under load, with many watchers, its start and its memory
	$(BIN)/python -m bench.device

bench-webhooks: $(READY)  ## a call of a webhook beside controller-runtime's (needs Go), and rotation of certificates under load
	$(BIN)/python -m bench.webhooks

bench-lists: $(READY)  ## a list of 10,000 cached objects beside controller-runtime's (needs Go)
	$(BIN)/python -m bench.lists

bench-etcd: $(READY) cluster-binaries  ## the API server beside kube-apiserver on the same etcd (needs Go)
	$(BIN)/python -m bench.etcd

bench-page: $(READY)  ## the live page with 10,000 objects and 1,000 events a second: first paint, longest task, CPU, bytes
	@$(PYTHON) hack/chromium/browser.py > /dev/null
	$(BIN)/python -m bench.dashboard

bench-workloads: $(READY)  ## simulated workloads: the Pods of a Deployment (PODS=10000), and a year of a CronJob
	$(BIN)/python -m bench.workloads $(PODS)

bench-abuse: $(READY)  ## latency of other clients of the Device API while one user attacks it (needs root)
	$(BIN)/python -m bench.device.abuse

newest-python:  ## fetch the newest supported Python from Debian into the cache folder, where there is none on this machine
	@$(PYTHON) hack/debian_python.py > /dev/null || test $$? -eq 3

test-pythons: newest-python  ## the tests on each Python from 3.11 to 3.14 that this machine has
	@$(PYTHON) hack/pythons.py | while read version python; do \
	  echo "Python $$version"; \
	  $(MAKE) --no-print-directory test PYTHON=$$python VENV=.venv-$$version || exit 1; done

test-newest: newest-python  ## the tests on the newest Python that this machine has
	@$(PYTHON) hack/pythons.py | tail -1 | { read -r version python; echo "Python $$version"; \
	  $(MAKE) --no-print-directory test PYTHON=$$python VENV=.venv-$$version; }

dist: $(READY)  ## build wheel, sdist and SBOM into the folder dist; install them on each installed Python and run the demo
	$(BIN)/python hack/dist.py dist

lock: $(READY)  ## write the lock files in requirements from pyproject.toml
	$(BIN)/python hack/lock.py

types: $(READY)  ## generate the built-in types
	$(BIN)/python hack/generate_types.py

reference: $(READY)  ## write the reference of the command line from its parser, and the page of public names from the exports
	$(BIN)/python -m hack.docs.reference docs/cli-reference.md
	$(BIN)/python -m hack.docs.names docs/public-names.md

pictures: $(READY)  ## draw the diagrams of the documentation, and record its sessions in a terminal again (needs tmux)
	$(BIN)/python -m hack.pictures.diagrams docs/pictures
	$(BIN)/python -m hack.pictures.explain docs/pictures/explain.svg
	$(BIN)/python -m hack.pictures.session docs/pictures/demo.svg examples/inventory/session.svg

page-pictures: $(READY)  ## take the pictures of the live page again, in a headless Chromium
	@$(PYTHON) hack/chromium/browser.py > /dev/null
	$(BIN)/python -m hack.pictures.page docs/pictures

proto: $(READY)  ## compile the .proto files of the Device API
	$(BIN)/python hack/proto.py

clean:  ## remove the files that make created in this directory
	rm -rf .venv .venv-* site .mypy_cache .ruff_cache .hypothesis dist
