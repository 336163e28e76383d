"""Builds the control plane that the cluster tests run against, once, outside the clone.

kube-apiserver, etcd and kubectl are built from their Go modules at the versions in go.mod; `hack/gobuild.py` has the
cache folder and the exit codes.

    python3 hack/cluster/binaries.py            build what is missing, then print the folder
    python3 hack/cluster/binaries.py --where    print the folder if it is there, and never build
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this is a script, wherever it is started
from hack.gobuild import Programs, found

MODULE = Path(__file__).resolve().parent
GO_MOD = (MODULE / "go.mod").read_text()


def linker_flags() -> str:
    """They stamp the version as a release of Kubernetes has it."""
    major, minor, patch = found(r"^\tk8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)$", GO_MOD)
    stamp = {
        "gitVersion": f"v{major}.{minor}.{patch}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitCommit": "",  # a Go module does not contain its commit
        "gitTreeState": "archive",  # Kubernetes' word for sources without their git history
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    values = (f"-X {package}.{key}={value}" for package in packages for key, value in stamp.items())
    return f"-s -w {' '.join(values)}"


PROGRAMS = Programs(
    title="the control plane",
    folder="cluster",
    module=MODULE,
    packages={
        name: f"./{name}" for name in ("etcd", "kubectl", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
    },
    script="hack/cluster/binaries.py",
    linker_flags=linker_flags(),
)

if __name__ == "__main__":
    PROGRAMS.main()
