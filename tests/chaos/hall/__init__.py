"""Published bugs of operators, each with its fixed form: what chaos must find, and must not report."""

from __future__ import annotations

from tests.chaos.hall import (
    argo_243,
    casskop_370,
    clusterapi_13649,
    instaclustr_398,
    instaclustr_402,
    k8ssandra_1023,
    konflux_5874,
    kuberay_715,
    percona_896,
    rabbitmq_653,
    rabbitmq_782,
    zookeeper_312,
)
from tests.chaos.hall.kit import Bug

HALL: tuple[Bug, ...] = (
    rabbitmq_782.BUG,
    casskop_370.BUG,
    percona_896.BUG,
    k8ssandra_1023.BUG,
    rabbitmq_653.BUG,
    zookeeper_312.BUG,
    instaclustr_402.BUG,
    instaclustr_398.BUG,
    kuberay_715.BUG,
    clusterapi_13649.BUG,
    argo_243.BUG,
    konflux_5874.BUG,
)
