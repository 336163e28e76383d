"""Definitions of well-known projects, from their Go modules."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from pilotage.cli.definitions import read_definitions

from .loading import lost

MODULES = {
    "github.com/cert-manager/cert-manager@v1.18.2": "deploy/crds",
    "sigs.k8s.io/gateway-api@v1.3.0": "config/crd/experimental",
    "github.com/prometheus-operator/prometheus-operator@v0.84.0": "example/prometheus-operator-crd",
    "sigs.k8s.io/cluster-api@v1.10.4": "config/crd/bases",
    "sigs.k8s.io/karpenter@v1.6.2": "pkg/apis/crds",
    "knative.dev/serving@v0.46.0": "config/core/300-resources",
    "github.com/argoproj/argo-rollouts@v1.8.3": "manifests/crds",
    "sigs.k8s.io/jobset@v0.10.1": "config/components/crd/bases",
    "github.com/kubernetes-csi/external-snapshotter/client/v8@v8.2.0": "config/crd",
}
NO_STATUS = "clusterresourcesetbindings.addons.cluster.x-k8s.io"
"""It has the subresource status, but no field for it, which a class cannot express."""


@pytest.mark.long
@pytest.mark.parametrize("module", MODULES)
def test_the_definitions_of_a_project_are_the_same_afterwards(module: str, tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    command = ["go", "mod", "download", "-json", module]
    downloaded = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if downloaded.returncode:
        pytest.skip(f"{module} cannot be downloaded: {downloaded.stdout}")
    definitions = read_definitions(Path(json.loads(downloaded.stdout)["Dir"]) / MODULES[module])
    found = [line for each in definitions for line in lost([each], tmp_path)]
    assert [line for line in found if not line.startswith(NO_STATUS)] == []
