"""Decides which webhooks are called for a request, calls one, and checks its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pilotage.errors import BadRequest
from pilotage.meta.documents import Document, copied, make_whole
from pilotage.rest.request import Deadline
from pilotage.server import deadlines
from pilotage.server.admission import Attributes
from pilotage.server.matching.configurations import Configurations
from pilotage.server.matching.criteria import Criteria, Match
from pilotage.server.matching.requests import VersionedObjects, admission_request
from pilotage.server.matching.selectors import NamespaceLabels
from pilotage.server.plugins.plugin import DynamicAdmission, PluginContext, forbidden
from pilotage.server.webhooks import reviews
from pilotage.server.webhooks.caller import CallError
from pilotage.server.webhooks.endpoints import REVIEW_VERSIONS, WebhookTarget
from pilotage.server.webhooks.reviews import ReviewError, WebhookDecision

_NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")


class CallFailed(Exception):
    """A call whose outcome the failure policy decides. The message has kube-apiserver's words."""


@dataclass(frozen=True, slots=True)
class WebhookInvocation:
    """A webhook that matches a request."""

    hook: Hook
    match: Match


class Dispatcher:
    """The webhooks of one kind of configurations."""

    def __init__(self, context: PluginContext, dynamic: DynamicAdmission, kind: str, *, mutating: bool) -> None:
        self._dynamic = dynamic
        self._configurations = dynamic.configurations
        self._kind = kind
        self._mutating = mutating
        self._namespaces = NamespaceLabels(context.storage, context.prefix)
        self._known: Configurations | None = None
        self._hooks: tuple[Hook, ...] = ()

    def known(self) -> Sequence[Hook] | None:
        """All webhooks, in their order; None if that is not known without a read of the storage."""
        found = self._configurations.current()
        return self._hooks if found is not None and found is self._known else None

    async def hooks(self) -> Sequence[Hook]:
        """All webhooks, in their order."""
        found = await self._configurations.list()
        if found is not self._known:
            self._hooks = tuple(hook for one in found.get(self._kind, ()) for hook in hooks_of(one))
            self._known = found
        return self._hooks

    async def invocation(
        self, hook: Hook, attributes: Attributes, objects: VersionedObjects
    ) -> WebhookInvocation | None:
        """The invocation of a webhook for a request; None if it does not match. Raises ApiError."""
        match = await hook.criteria.match(attributes, self._namespaces)
        if match is None or (hook.conditions and not await self._fulfils(hook, attributes, match, objects)):
            return None
        return WebhookInvocation(hook, match)

    async def _fulfils(self, hook: Hook, attributes: Attributes, match: Match, objects: VersionedObjects) -> bool:
        from pilotage.server.matching.evaluation import ConditionsError, Evaluator, matches_conditions  # with CEL

        new, old = await objects.at(match)
        if attributes.info is not None and attributes.info.custom and new is not None:
            new = copied(new)
            make_whole(new)  # as Go writes it: a webhook in Go cannot decode 1.0 as an integer
        variables = {"object": new, "oldObject": old, "request": admission_request(attributes, match)}
        evaluator = Evaluator(attributes, self._dynamic.authorizer)
        try:
            return await matches_conditions(hook.conditions, evaluator, variables, fail=not hook.ignores_failures)
        except ConditionsError as error:
            raise forbidden(attributes, str(error), attributes.name) from error

    async def call(
        self, invocation: WebhookInvocation, attributes: Attributes, objects: VersionedObjects
    ) -> WebhookDecision:
        """Call a webhook. Its warnings are added to the warnings of the request.

        Raises CallFailed where the failure policy decides, and ApiError if the webhook refuses the request or if the
        request has taken too long.
        """
        hook, deadline = invocation.hook, attributes.request.deadline
        if attributes.dry_run and not hook.supports_dry_run:
            raise BadRequest(f'admission webhook "{hook.name}" does not support dry run')
        try:
            found = await self._review(invocation, attributes, objects)
        except CallError as error:
            if deadline is not None and _left(deadline) <= 0:
                raise deadlines.exceeded(deadline) from error
            raise _failed(hook, f"failed to call webhook: {error}") from error
        except ReviewError as error:
            raise _failed(hook, f"received invalid webhook response: {error}") from error
        for key, value in found.annotations:
            attributes.annotate(f"{hook.name}/{key}", value)
        attributes.warnings.extend(warning for warning in found.warnings if warning)
        if not found.allowed:
            raise reviews.rejection(hook.name, found.status)
        return found

    async def _review(
        self, invocation: WebhookInvocation, attributes: Attributes, objects: VersionedObjects
    ) -> WebhookDecision:
        hook, match = invocation.hook, invocation.match
        if not hook.review_version:
            reason = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
            raise _failed(hook, f"could not create admission objects: {reason}")
        uid = self._dynamic.uid()
        new, old = await objects.at(match)
        review = reviews.review(hook.review_version, uid, admission_request(attributes, match), new, old)
        timeout = _seconds(hook, attributes.request.deadline)
        answer = await self._dynamic.webhooks.call(hook.endpoint, review, timeout)
        try:
            reviews.read_types(answer)
        except ReviewError as error:
            raise CallError(str(error)) from error
        return reviews.verdict(answer, hook.review_version, uid, mutating=self._mutating)


def _left(deadline: Deadline) -> float:
    """How many seconds a request still has."""
    from pilotage.tasks import loop_time  # only programs with webhooks need an event loop here

    return deadline.time - loop_time()


def _seconds(hook: Hook, deadline: Deadline | None) -> float:
    """How long a webhook has for its answer. Raises Timeout if the request has no time left."""
    if deadline is None:
        return hook.timeout
    left = _left(deadline)
    if left <= 0:
        raise deadlines.exceeded(deadline)
    return min(hook.timeout, left)


def _failed(hook: Hook, reason: str) -> CallFailed:
    return CallFailed(f'failed calling webhook "{hook.name}": {reason}')


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook of a configuration."""

    name: str
    configuration: str
    identity: str
    """Unique among all webhooks, also of configurations that repeat a name."""
    criteria: Criteria = field(repr=False)
    endpoint: WebhookTarget
    conditions: Sequence[Document] = ()
    timeout: float = 10.0
    ignores_failures: bool = False
    reinvoked: bool = False
    """A mutating webhook that is called again if another one has changed the object after it."""
    side_effects: str | None = None
    review_version: str = ""
    """The first version of AdmissionReview that both sides know; empty: none."""

    @property
    def supports_dry_run(self) -> bool:
        return self.side_effects in _NO_SIDE_EFFECTS


def hooks_of(configuration: Document) -> tuple[Hook, ...]:
    """The webhooks of a configuration, in their order."""
    name = configuration["metadata"]["name"]
    counts: dict[str, int] = {}
    found: list[Hook] = []
    for webhook in configuration.get("webhooks") or ():
        number = counts[webhook["name"]] = counts.get(webhook["name"], -1) + 1
        found.append(_hook(webhook, name, f"{name}/{webhook['name']}/{number}"))
    return tuple(found)


def _hook(webhook: Document, configuration: str, identity: str) -> Hook:
    versions = webhook.get("admissionReviewVersions") or ()
    return Hook(
        name=webhook["name"],
        configuration=configuration,
        identity=identity,
        criteria=Criteria.of_webhook(webhook),
        endpoint=WebhookTarget.of(webhook.get("clientConfig") or {}),
        conditions=tuple(webhook.get("matchConditions") or ()),
        timeout=float(webhook.get("timeoutSeconds") or 10),
        ignores_failures=webhook.get("failurePolicy") == "Ignore",
        reinvoked=webhook.get("reinvocationPolicy") == "IfNeeded",
        side_effects=webhook.get("sideEffects"),
        review_version=next((version for version in versions if version in REVIEW_VERSIONS), ""),
    )
