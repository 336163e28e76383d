"""Reviews: requests about access and identity that are created as objects, and answered at once. Nothing is stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from pilotage.errors import BadRequest, Cause
from pilotage.meta.causes import invalid, invalid_error
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupKind
from pilotage.rest.request import APIRequest, User
from pilotage.rest.response import Response
from pilotage.rest.users import user_info
from pilotage.server.access.authentication import Authenticator
from pilotage.server.access.policyrules import AccessAttributes
from pilotage.server.access.rbac import Authorizer
from pilotage.server.access.serviceaccounts import ISSUER, InvalidToken
from pilotage.server.admission import Attributes, Operation
from pilotage.server.context import RegistryContext
from pilotage.server.decoding import bodies
from pilotage.server.decoding.refusals import with_warnings
from pilotage.server.offload import offload
from pilotage.server.ownership.track import track_create
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs.identity import set_namespace
from pilotage.server.verbs.reviewrules import (
    attribute_causes,
    evaluation_error,
    local_causes,
    metadata_causes,
    selector_causes,
)
from pilotage.server.writes import steps

AUTHORIZATION = "authorization.k8s.io"
AUTHENTICATION = "authentication.k8s.io"
_UNTRACKED = ("selfsubjectreviews", "selfsubjectrulesreviews")
"""Reviews without managed fields."""


class Reviewer:
    """Answers the creation of a review."""

    def __init__(self, context: RegistryContext, authorizer: Authorizer) -> None:
        self._context = context
        self._authorizer = authorizer
        self.tokens = Authenticator({}, context.service_accounts)
        """Authenticates tokens: tokens of service accounts, and others if the server has them."""
        self._answers: dict[str, Callable[[Document, APIRequest], Awaitable[None]]] = {
            "localsubjectaccessreviews": self._answer_subject,
            "selfsubjectaccessreviews": self._answer_self,
            "selfsubjectreviews": self._answer_identity,
            "selfsubjectrulesreviews": self._answer_rules,
            "subjectaccessreviews": self._answer_subject,
            "tokenreviews": self._answer_token,
        }

    def reviews(self, info: ResourceInfo) -> bool:
        """Whether a resource is a review."""
        return info.gvr.group in (AUTHORIZATION, AUTHENTICATION) and info.gvr.resource in self._answers

    async def create(self, info: ResourceInfo, request: APIRequest) -> Response:
        """The review with its answer as status."""
        bodies.check_options(request)
        size = len(request.body)
        document, problems = await offload(size, bodies.read, request, info)
        warnings = await offload(size, steps.default, info, request, document, problems)
        if info.gvr.resource not in _UNTRACKED:
            track_create(info, request, document, now=self._context.now())
        document.pop("status", None)  # the managed fields have this version, although the answer has another one
        attributes = Attributes(Operation.CREATE, request, document, None, warnings, info)
        admission = self._context.chain.of(info.group_resource)
        with with_warnings(warnings):
            await admission.mutate(attributes)
            answer = await self._answer(info, request, document)
            await admission.validate(attributes)  # after the rules of the kind, as everywhere
        return Response(msgspec.json.encode(answer), 201, tuple(warnings))

    async def _answer(self, info: ResourceInfo, request: APIRequest, document: Document) -> Document:
        metadata = document["metadata"]
        set_namespace(info, request, metadata)
        answer = {"kind": info.gvk.kind, "apiVersion": info.gvk.api_version, "metadata": metadata}
        answer["spec"] = document.get("spec") or {}
        await self._answers[info.gvr.resource](answer, request)
        return answer

    async def _answer_self(self, review: Document, request: APIRequest) -> None:
        spec = review["spec"]
        _check([*attribute_causes(spec), *selector_causes(spec), *metadata_causes(review["metadata"], local=False)])
        await self._decide(review, _attributes(spec, request.user))

    async def _answer_subject(self, review: Document, request: APIRequest) -> None:
        spec, local = review["spec"], bool(request.namespace)
        causes = list(attribute_causes(spec))
        if not spec.get("user") and not spec.get("groups"):
            causes.append(invalid("spec.user", "", "at least one of user or group must be specified"))
        causes += [*selector_causes(spec), *metadata_causes(review["metadata"], local=local)]
        _check([*causes, *(local_causes(spec, request.namespace) if local else ())])
        extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
        user = User(spec.get("user") or "", tuple(spec.get("groups") or ()), extra, spec.get("uid") or "")
        await self._decide(review, _attributes(spec, user))

    async def _decide(self, review: Document, attributes: AccessAttributes) -> None:
        if not attributes.user.name and not attributes.user.groups:
            review["status"] = {"allowed": True}  # the program itself, in process: nothing is checked
            return
        decision = await self._authorizer.authorize(attributes)
        review["status"] = {"allowed": decision.allowed} | ({"reason": decision.reason} if decision.reason else {})
        if error := evaluation_error(review["spec"]):
            review["status"]["evaluationError"] = error

    async def _answer_rules(self, review: Document, request: APIRequest) -> None:
        namespace = review["spec"].get("namespace") or ""
        if not namespace:
            raise BadRequest("no namespace on request")
        grants = await self._authorizer.grants(request.user, namespace)
        rules = [grant.rule for grant in grants.found]
        review["spec"] = {}
        review["status"] = {
            "resourceRules": [
                {key: rule[key] for key in ("verbs", "apiGroups", "resources", "resourceNames") if rule.get(key)}
                for rule in rules
                if rule.get("resources")
            ],
            "nonResourceRules": [
                {"verbs": rule["verbs"], "nonResourceURLs": rule["nonResourceURLs"]}
                for rule in rules
                if rule.get("nonResourceURLs")
            ],
            "incomplete": False,
        }
        if grants.missing:
            errors = [f'{kind.lower()}.rbac.authorization.k8s.io "{name}" not found' for kind, name in grants.missing]
            review["status"]["evaluationError"] = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"

    async def _answer_identity(self, review: Document, request: APIRequest) -> None:
        del review["spec"]
        review["metadata"] = {"creationTimestamp": self._context.now()}
        review["status"] = {"userInfo": user_info(request.user)}

    async def _answer_token(self, review: Document, request: APIRequest) -> None:
        spec = review["spec"]
        if not spec.get("token"):
            raise BadRequest("token is required for TokenReview in authentication")
        error, found = "invalid bearer token", None
        try:
            found = await self.tokens.user_of_token(spec["token"], spec.get("audiences") or (ISSUER,))
        except InvalidToken as problem:
            error = f"[{error}, {problem}]"
        if found is None:
            review["status"] = {"user": {}, "error": error}
            return
        user, audiences = found
        review["status"] = {"authenticated": True, "user": user_info(user), "audiences": audiences}


def _attributes(spec: Document, user: User) -> AccessAttributes:
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return AccessAttributes(user, path.get("verb") or "", path=path.get("path") or "/")
    found = spec["resourceAttributes"]
    values = (found.get(key) or "" for key in ("verb", "group", "resource", "subresource", "name", "namespace"))
    return AccessAttributes(user, *values)


def _check(causes: list[Cause]) -> None:
    if causes:
        raise invalid_error(GroupKind(AUTHORIZATION, ""), "", causes)
