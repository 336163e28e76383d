"""The differences from kube-controller-manager that are on purpose, or that depend on timing."""

from __future__ import annotations

import re

EXPECTED: tuple[re.Pattern[str], ...] = (
    # The first look at a claim of a StatefulSet: before its Pod exists, before the Pod has a node, or after that, when
    # there is no Event. It depends on which of three controllers is faster.
    re.compile(r"^PersistentVolumeClaim data-db-\d persistentvolume-controller Normal WaitFor(FirstConsumer|PodSched)"),
    # From the tenth Event of a kind within ten minutes on, one Event stands for all, and has the text of the last one.
    re.compile(r" \(combined from similar events\): Scaled (up|down) replica set "),
    # A node that is uncordoned has the taint until the node lifecycle controller has removed it; the scheduler may
    # look in between.
    re.compile(r"^Pod web-\w+-\* default-scheduler Warning FailedScheduling 0/5 .* 1 node\(s\) had untolerated taint"),
)
