"""The manifests as one plain file, in the order in which they are applied."""

from __future__ import annotations

from pilotage.cli.manifests import objects
from pilotage.cli.manifests.settings import InstallationSettings
from pilotage.meta.text import yamltext


def install(settings: InstallationSettings) -> str:
    """All objects, for `kubectl apply --server-side -f install.yaml`."""
    return yamltext.write_all([each for documents in objects.files(settings).values() for each in documents])
