"""Writes the tables of the tests of Kubernetes' scheduler plugins as data: `python -m hack.kubernetes.schedulertables`.

Each plugin's package is copied from the module cache beside a file that prints the table of a test, which is called
instead of the test. Go and the sources of the version in `hack/cluster/go.mod` are needed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "tests/workloads/scheduling/tables.json"
PACKAGE = "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
TABLES = {
    "noderesources/fit_test.go": (
        "testEnoughRequests",
        "testNotEnoughRequests",
        "testStorageRequests",
        "testRestartableInitContainers",
    ),
    "nodeports/node_ports_test.go": ("TestNodePorts",),
    "nodeunschedulable/node_unschedulable_test.go": ("TestNodeUnschedulable",),
    "tainttoleration/taint_toleration_test.go": (
        "TestTaintTolerationFilter",
        "TestTaintTolerationFilterWithFeatureGate",
    ),
    "nodeaffinity/node_affinity_test.go": ("TestNodeAffinity",),
    "podtopologyspread/filtering_test.go": ("TestSingleConstraint", "TestMultipleConstraints"),
    "interpodaffinity/filtering_test.go": ("TestRequiredAffinitySingleNode", "TestRequiredAffinityMultipleNodes"),
    "defaultpreemption/default_preemption_test.go": (
        "TestPostFilter",
        "TestSelectBestCandidate",
        "TestPodEligibleToPreemptOthers",
    ),
}
_LOOP = re.compile(r"\n\tfor \w+, \w+ := range (\w+|\[\]bool\{true, false\}) \{")
_NANOSECONDS = re.compile(r"time\.Unix\(0, ([0-9]+)\)")
_LEFT_OUT = ("daemonEndpoints", "image", "features", "podGroups", "filteredNodesStatuses")


def main() -> None:
    """Write the file of the tests."""
    with tempfile.TemporaryDirectory() as folder:
        found = _tables(Path(folder))
    tables = (f'"{name}": [\n{_lines(rows)}\n]' for name, rows in found.items())
    TARGET.write_text("{\n" + ",\n".join(tables) + "\n}\n")
    print(f"{TARGET.relative_to(ROOT)}: {sum(map(len, found.values()))} rows of {len(found)} tables")


def _lines(rows: list[Any]) -> str:
    """A line for each row."""
    return ",\n".join(json.dumps(row, sort_keys=True, separators=(",", ":")) for row in rows)


def _tables(folder: Path) -> dict[str, list[Any]]:
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(ROOT / "hack/cluster" / name, folder / name)
    environment = os.environ | {"GOFLAGS": "-mod=mod", "DUMP_DIR": str(folder)}
    listed = ["go", "list", "-f", "{{.Dir}}", f"{PACKAGE}/noderesources"]
    source = Path(subprocess.check_output(listed, cwd=folder, env=environment, text=True).strip()).parent
    for file, tests in TABLES.items():
        _copy(source, folder / "plugins", file, tests)
    names = "|".join(name.removeprefix("test") for tests in TABLES.values() for name in tests)
    command = ["go", "test", "-vet=off", "-p", "1", "./plugins/...", "-run", names]
    subprocess.run(command, cwd=folder, env=environment, check=True)
    return {
        test: [_trimmed(row) for row in json.loads((folder / f"{test}.json").read_text())]
        for tests in TABLES.values()
        for test in tests
    }


def _copy(source: Path, target: Path, file: str, tests: tuple[str, ...]) -> None:
    """Copy the package of a test file, with a call that writes its tables."""
    package = Path(file).parent.name
    (target / package).mkdir(parents=True)
    for path in (source / package).glob("*.go"):
        shutil.copyfile(path, target / package / path.name)
    text = _NANOSECONDS.sub(r"time.Unix(\1, 0)", (source / file).read_text())  # JSON has whole seconds
    for test in tests:
        loop = _LOOP.search(text, text.index(f"\nfunc {test}("))
        assert loop is not None, f"{test} has no loop over its table"
        table = "tests" if loop[1].startswith("[") else loop[1]
        text = f'{text[: loop.start()]}\n\tif dumpTable("{test}", {table}) {{\n\t\treturn\n\t}}{text[loop.start() :]}'
    (target / file).write_text(text)
    dump = Path(__file__).with_suffix(".go.txt").read_text().replace("PACKAGE", package, 1)
    (target / package / "dump_test.go").write_text(dump)


def _trimmed(value: Any) -> Any:
    """A value without what is empty or does not decide."""
    if isinstance(value, dict):
        if "machineID" in value:
            return None  # the nodeInfo of a node's status
        kept = {key: _trimmed(one) for key, one in value.items() if key not in _LEFT_OUT}
        return {key: one for key, one in kept.items() if one is not None and one != [] and one is not False}
    return [_trimmed(one) for one in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
