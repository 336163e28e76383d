"""How long webhooks may delay the answer to a request: as long as kube-apiserver waits, or less if the client requests
it."""

from __future__ import annotations

from pilotage.errors import StatusDetails, Timeout
from pilotage.rest.request import Deadline, Verb

WRITE_SECONDS = 34.0
REQUEST_SECONDS = 60.0
"""Of any request; a delete of a collection has no other limit."""


def of(verb: Verb, now: float, requested: float | None = None) -> Deadline:
    """The deadline of a request that arrives now. A client can shorten it; 0 and less are ignored."""
    limit = REQUEST_SECONDS if verb is Verb.DELETE_COLLECTION else WRITE_SECONDS
    if requested is not None and 0 < requested < limit:
        return Deadline(now + requested, allotted=True)
    return Deadline(now + limit, allotted=verb is Verb.DELETE_COLLECTION)


def exceeded(deadline: Deadline) -> Timeout:
    """The error of a request whose deadline has passed."""
    reason = "the allotted timeout" if deadline.allotted else "requested timeout - context deadline exceeded"
    return Timeout(f"Timeout: request did not complete within {reason}", details=StatusDetails())
