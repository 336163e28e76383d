"""The files of a new project."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from pilotage.cli.scaffold.lines import WIDTH

PYTHON = "3.14"
"""The Python of the image and of the CI."""


@dataclass(frozen=True, slots=True)
class NewProject:
    """What the user has chosen."""

    name: str
    package: str
    group: str
    requirement: str
    """How the project depends on pilotage: `~=0.1.0`, empty if the version is unknown."""
    source: str = ""
    """What pip can make a wheel of pilotage from; empty if it finds pilotage in the package index."""

    def files(self) -> dict[str, str]:
        """All files by their paths, in the order in which a reader looks at them."""
        source = f"src/{self.package}"
        return {
            "README.md": self._readme(),
            "pyproject.toml": self._pyproject(),
            "Makefile": self._makefile(),
            "Dockerfile": self._dockerfile(),
            ".dockerignore": _DOCKERIGNORE + ("!wheels\n" if self.source else ""),
            ".gitignore": _GITIGNORE,
            ".github/workflows/ci.yaml": _CI.replace("PYTHON", PYTHON),
            f"{source}/__init__.py": f'"""{self.name}: a Kubernetes operator."""\n',
            f"{source}/operator.py": _OPERATOR,
            f"{source}/api/__init__.py": '"""The kinds, one module for each version."""\n',
            f"{source}/controllers/__init__.py": '"""The controllers, one module for each kind."""\n',
            "tests/test_operator.py": self._test(),
            "deploy/README.md": _DEPLOY,
        }

    def _pyproject(self) -> str:
        return f"""[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{self.name}"
version = "0.1.0"
description = "A Kubernetes operator."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["pilotage[webhook]{self.requirement}"]

[dependency-groups]
dev = ["mypy", "pilotage[cel]", "pytest", "ruff"]  # cel: the tests' API server evaluates CEL rules

[tool.pilotage]
target = "{self.package}.operator:setup"  # what `pilotage run` and `pilotage manifests` use
group = "{self.group}"  # the API group of kinds that `pilotage create api` adds

[tool.hatch.build.targets.wheel]
packages = ["src/{self.package}"]

[tool.ruff]
line-length = {WIDTH}

[tool.ruff.lint]
select = ["ASYNC", "B", "E", "F", "I", "RUF", "SIM", "UP", "W"]
ignore = ["RUF012"]  # the mutable default of a model is copied for each object

[tool.mypy]
strict = true
files = ["src", "tests"]
mypy_path = "src"

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["src"]
addopts = "--strict-markers --strict-config"
"""

    def _makefile(self) -> str:
        text = _MAKEFILE.replace("NAME", self.name)
        if not self.source:
            return text
        wheels = _WHEELS.replace("SOURCE", shlex.quote(self.source).replace("$", "$$").replace("#", "\\#"))
        text = text.replace(_BEFORE_WHEELS, _BEFORE_WHEELS + wheels).replace("image:  ##", "image: setup  ##")
        return text.replace("--quiet --editable", "--quiet --find-links wheels --editable")

    def _dockerfile(self) -> str:
        text = _DOCKERFILE.replace("python:PYTHON", f"python:{PYTHON}")
        if not self.source:
            return text
        text = text.replace("COPY src src\n", "COPY src src\nCOPY wheels wheels\n")
        return text.replace("pip install .", "pip install --find-links wheels .")

    def _readme(self) -> str:
        return f"""# {self.name}

A Kubernetes operator, written with Pilotage, the controller runtime for Python.

    make setup      # a virtual environment in .venv, with the tools
    make check      # format, lint, types
    make test       # the tests, on an API server in memory
    make dev        # run on an API server in memory, and show what each save changes
    make run        # the same without that; `pilotage run` uses the cluster of your kubeconfig

`pilotage create api KIND` adds a kind with its controller and a test, `pilotage create webhook KIND` webhooks for it.
`pytest --pilotage-cluster` runs the tests on the cluster of your kubeconfig.

| | |
|---|---|
| `src/{self.package}/operator.py` | `setup(manager)` adds all controllers and webhooks |
| `src/{self.package}/api` | the kinds, one module for each version; CRDs are made from them |
| `src/{self.package}/controllers` | the controllers, one module for each kind |
| `tests` | tests with the fixture `pilotage_env` |
| `deploy` | manifests, written by `make manifests`, and samples |
| `Dockerfile` | the image, built by `make image` |
{_README_WHEELS if self.source else ""}"""

    def _test(self) -> str:
        return f'''"""The whole program, set up as `pilotage run` does it."""

import pilotage as pt
from pilotage.testing import Environment


async def test_the_operator_starts_and_becomes_idle(pilotage_env: Environment) -> None:
    target = pt.load_target("{self.package}.operator:setup")
    await target.setup(pilotage_env.manager)
    await pilotage_env.cluster.install(*target.kinds)
    await pilotage_env.run_until_idle()
'''


_README_WHEELS = """| `wheels` | Pilotage, which is from no package index: `make setup` builds it once; commit it |
"""

_OPERATOR = '''"""The program: `pilotage run` calls `setup` with a manager and starts it."""

import pilotage as pt


def setup(manager: pt.Manager) -> None:
    """Add the controllers and webhooks to the manager. `pilotage create` adds lines here."""
'''

_MAKEFILE = """# Commands for developers. `make help` lists them.
IMAGE ?= NAME:latest
BIN := .venv/bin

.PHONY: help setup check format test dev run manifests image deploy

help:  ## list the targets
	@sed -n 's/^\\([a-z]*\\):.*## /  make \\1\\t/p' Makefile | expand -t 24

setup: .venv/ready  ## create the virtual environment

.venv/ready: pyproject.toml
	python3 -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

check: setup  ## format, lint, types; the manifests, if they are there
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(if $(wildcard deploy/install.yaml),$(BIN)/pilotage manifests --check)

format: setup  ## format, and fix what the linter can fix
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

test: setup  ## the tests, on an API server in memory
	$(BIN)/pytest

dev: setup  ## run while you write it: each save shows what the code now writes differently
	$(BIN)/pilotage dev

run: setup  ## run on an API server in memory, with the samples; restart when a file changes
	$(BIN)/pilotage run --storage memory: --reload $(if $(wildcard deploy/samples),-f deploy/samples)

manifests: setup  ## write the manifests to deploy
	$(BIN)/pilotage manifests

image:  ## build the image
	docker build --tag $(IMAGE) .

deploy: manifests  ## apply the manifests to the cluster of your kubeconfig
	kubectl apply --server-side -f deploy/install.yaml
"""

_BEFORE_WHEELS = "	$(BIN)/python -m pip install --quiet --upgrade pip\n"
_WHEELS = """	@# Pilotage is not from a package index: pip finds it in wheels. Commit it; delete it to build it again.
	[ -d wheels ] || $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir wheels SOURCE
"""

_DOCKERFILE = """# The program in a virtual environment, built in one stage and copied to another: no cache is left.
FROM python:PYTHON-slim AS build
RUN python -m venv /venv
WORKDIR /build
COPY pyproject.toml README.md ./
COPY src src
RUN --mount=type=cache,target=/root/.cache/pip /venv/bin/pip install .

FROM python:PYTHON-slim
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
COPY pyproject.toml ./
COPY --from=build /venv /venv
USER 65532:65532
ENTRYPOINT ["pilotage", "run"]
"""

_DOCKERIGNORE = """# Only what the Dockerfile copies.
*
!pyproject.toml
!README.md
!src
**/__pycache__
"""

_GITIGNORE = """.venv/
__pycache__/
.mypy_cache/
.pytest_cache/
.ruff_cache/
dist/
"""

_CI = """name: CI
on:
  push:
    branches: [main]
  pull_request:
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    timeout-minutes: 10
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "PYTHON"
          cache: pip
      - run: make check test
      - run: make image
"""

_DEPLOY = """# Manifests

`make manifests` writes here what the program needs on a cluster: CustomResourceDefinitions, roles, the Deployment.
Commit the files; `make check` then compares them with the program.

| | |
|---|---|
| `install.yaml` | everything in one file, which `make deploy` applies |
| `base`, `components`, `overlays` | the same for kustomize |
| `chart` | the same for Helm |
| `samples` | an object of each kind to try, written by `pilotage create api` |
"""
