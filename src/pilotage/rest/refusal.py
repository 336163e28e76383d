"""Refusals: the missing permission in an error of the server, and the RBAC rule that grants it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from pilotage.errors import ApiError, Forbidden
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.permission import permissions_of, rule_line
from pilotage.rest.request import APIRequest, Verb

_REVIEWS = GroupVersionResource("authorization.k8s.io", "v1", "selfsubjectaccessreviews")
_REFUSED = re.compile(
    r'is forbidden: User "(?P<user>(?:[^"\\]|\\.)*)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)" '
    r'in API group "(?P<group>[^"]*)" (?:in the namespace "(?P<namespace>[^"]*)"|at the cluster scope)'
)
"""The answer of an authorizer. A refusal by admission has another text, and no rule allows the request."""


@dataclass(frozen=True, slots=True)
class MissingPermission:
    """Verbs on a resource in one namespace, or in the whole cluster, that the server refuses."""

    verbs: tuple[str, ...]
    group: str
    resource: str
    """The plural name, with a subresource: `deployments/scale`."""
    namespace: str = ""
    """Empty: at the cluster scope, which includes all namespaces."""
    user: str = field(default="", compare=False)
    """The user that needs it."""

    @property
    def rule(self) -> str:
        """The rule that grants it, as one line of YAML that can be pasted into the `rules` of a role."""
        rule = {"apiGroups": [self.group], "resources": [self.resource], "verbs": list(self.verbs)}
        return f"- {rule_line(rule)}"

    def with_verbs(self, verbs: Sequence[str]) -> MissingPermission:
        """The same with other verbs, where a caller knows that it needs more than the one that was refused."""
        return replace(self, verbs=tuple(verbs))

    def __str__(self) -> str:
        role = f"a Role in the namespace {self.namespace}" if self.namespace else "a ClusterRole"
        return f"missing permission: {self.user or 'this program'} needs {role} with the rule {self.rule}"


def refused(error: BaseException | None) -> MissingPermission | None:
    """The permission whose absence is the reason of an error; None where the error has another reason."""
    if not isinstance(error, Forbidden) or (found := _REFUSED.search(str(error))) is None:
        return None
    return MissingPermission(
        (found["verb"],), found["group"], found["resource"], found["namespace"] or "", found["user"].replace("\\", "")
    )


def granted(request: APIRequest) -> Iterator[MissingPermission]:
    """The permissions that are not missing if a request succeeds."""
    is_namespace = not request.resource.group and request.resource.resource == "namespaces"
    namespace = request.name if is_namespace else request.namespace  # the namespace of a Namespace is itself
    for one in permissions_of(request):
        yield MissingPermission((one.verb,), one.group, one.resource, namespace)


def review_request(permission: MissingPermission) -> APIRequest:
    """The request of a SelfSubjectAccessReview: whether the sender has the permission. For its first verb."""
    resource, _, subresource = permission.resource.partition("/")
    attributes = {
        "verb": permission.verbs[0],
        "group": permission.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": permission.namespace,
    }
    document = {
        "apiVersion": f"{_REVIEWS.group}/{_REVIEWS.version}",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {name: value for name, value in attributes.items() if value}},
    }
    return APIRequest(Verb.CREATE, _REVIEWS, body=msgspec.json.encode(document))


def is_allowed(answer: bytes) -> bool:
    """Whether the answer to `review_request` allows it."""
    try:
        return _REVIEW.decode(answer).status.allowed
    except msgspec.DecodeError as error:
        raise ApiError(f"the answer to an access review cannot be decoded: {error}") from None


class _ReviewStatus(msgspec.Struct, gc=False):
    allowed: bool = False


class _Review(msgspec.Struct, gc=False):
    status: _ReviewStatus


_REVIEW = msgspec.json.Decoder(_Review)
