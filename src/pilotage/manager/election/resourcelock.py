"""The data of a leader election: the record that replicas share, the lock that stores it, and its timings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pilotage.errors import InvalidDefinition
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, seconds_field
from pilotage.meta.scalars.times import MicroTime

JITTER = 1.2
"""A standby waits between one and 1 + JITTER retry periods, so that standbys do not retry at the same time."""


@dataclass(frozen=True, slots=True)
class LeaderElectionRecord:
    """The content of a lease."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    leader_transitions: int = 0
    preferred_holder: str = ""
    strategy: str = ""


class ResourceLock(Protocol):
    """Stores the record. `update` fails with Conflict if another replica has written since the last read.

    A lock that is an object of an API server may also have `fence(record, check)`, which returns the Fence of the
    holder's writes: with it, that server refuses the writes of a former leader; and `changes()`, a block with an
    iterator over the records as they change: with it, a standby sees a released lease at once.
    """

    @property
    def name(self) -> str: ...

    async def get(self) -> LeaderElectionRecord | None:
        """The record; None if there is none."""

    async def create(self, record: LeaderElectionRecord) -> None: ...

    async def update(self, record: LeaderElectionRecord) -> None: ...


@dataclass(frozen=True, slots=True)
class LeaseTimings:
    """In seconds, as in controller-runtime."""

    lease_duration: SecondsField = seconds_field(15.0, zero=False)
    renew_deadline: SecondsField = seconds_field(10.0, zero=False)
    retry_period: SecondsField = seconds_field(2.0, zero=False)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.lease_duration <= self.renew_deadline:
            raise InvalidDefinition(
                f"lease_duration ({self.lease_duration:g} s) must be more than renew_deadline "
                f"({self.renew_deadline:g} s), else another replica leads before this one stops"
            )
        if self.renew_deadline <= JITTER * self.retry_period:
            raise InvalidDefinition(
                f"renew_deadline ({self.renew_deadline:g} s) must be more than {JITTER:g} times retry_period "
                f"({self.retry_period:g} s), else one failed attempt ends the leadership"
            )

    @property
    def request_timeout(self) -> float:
        """The timeout of one attempt, so that a silent server leaves time for another one."""
        return max(1.0, self.renew_deadline / 2)
