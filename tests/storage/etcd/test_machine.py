"""Any order of calls gives the results of the model, on a real etcd too, and across restarts."""

from __future__ import annotations

from typing import cast

import pytest

from hack.cluster.members import EtcdCluster
from pilotage.storage.etcd import EtcdStorage

from ..test_machine import StorageMachine, bounded

pytestmark = pytest.mark.cluster


class EtcdMachine(StorageMachine):
    """The folder's name is the prefix, so that each run has keys of its own."""

    def closed(self) -> None:
        if any(slot.revision for slot in cast("EtcdStorage", self.storage)._slots._free):
            self.model.advance()  # slots are deleted


@pytest.fixture(autouse=True, scope="module")
def url(etcd: EtcdCluster) -> None:
    EtcdMachine.url = etcd.url + "/{folder.name}"


TestEtcd = EtcdMachine.TestCase
TestEtcd.settings = bounded
