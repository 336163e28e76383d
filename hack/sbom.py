"""Print what is installed in the environment of this interpreter, as a CycloneDX SBOM: names, versions, licences, and
which package needs which. Needs the standard library alone, so that it can run in any environment."""

import json
import re
from importlib.metadata import Distribution, distributions
from typing import Any

PRODUCT = "pilotage"
NOT_SHIPPED = {"pip", "setuptools"}
"""Tools of the environment itself."""


def main() -> None:
    found = {name(each): each for each in distributions() if name(each) not in NOT_SHIPPED}
    product = found.pop(PRODUCT)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(product)},
        "components": [component(found[each]) for each in sorted(found)],
        "dependencies": [
            {"ref": reference(each), "dependsOn": sorted(reference(found[other]) for other in needs(each) & set(found))}
            for each in [product, *(found[one] for one in sorted(found))]
        ],
    }
    print(json.dumps(document, indent=2))


def name(distribution: Distribution) -> str:
    return re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()


def reference(distribution: Distribution) -> str:
    return f"pkg:pypi/{name(distribution)}@{distribution.version}"


def needs(distribution: Distribution) -> set[str]:
    """The names of what a package needs, extras included: only those that are installed appear in the SBOM."""
    lines = distribution.requires or []
    return {re.sub(r"[-_.]+", "-", match[0]).lower() for line in lines if (match := re.match(r"[\w.-]+", line))}


def component(distribution: Distribution) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": reference(distribution),
        "name": distribution.metadata["Name"],
        "version": distribution.version,
        "purl": reference(distribution),
        "licenses": licences(distribution),
    }


def licences(distribution: Distribution) -> list[dict[str, Any]]:
    """An SPDX expression where the package has one, else the names in its classifiers."""
    if expression := distribution.metadata["License-Expression"]:
        return [{"expression": expression}]
    classifiers = distribution.metadata.get_all("Classifier") or []
    return [{"license": {"name": line.rpartition(" :: ")[2]}} for line in classifiers if line.startswith("License :: ")]


if __name__ == "__main__":
    main()
