"""Any order of calls gives what the model says, on a real etcd too, and across restarts."""

from __future__ import annotations

import pytest
from hypothesis import settings

from hack.cluster.members import EtcdCluster

from ..test_machine import StorageMachine, bounded

pytestmark = pytest.mark.cluster


class EtcdMachine(StorageMachine):
    """The folder's name is the prefix, so that each run has keys of its own."""


@pytest.fixture(autouse=True, scope="module")
def url(etcd: EtcdCluster) -> None:
    EtcdMachine.url = etcd.url + "/{folder.name}"


TestEtcd = EtcdMachine.TestCase
TestEtcd.settings = settings(bounded, max_examples=15)
