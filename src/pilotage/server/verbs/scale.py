"""The scale subresource: an object read and written as its Scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from pilotage.errors import BadRequest
from pilotage.meta.causes import internal_error, invalid_error
from pilotage.meta.documents import Document
from pilotage.meta.validation.objectmeta import object_meta_causes
from pilotage.rest.request import APIRequest, Form, PatchType, Verb
from pilotage.rest.response import Response
from pilotage.server import records
from pilotage.server.catalogue import routes
from pilotage.server.context import RegistryContext
from pilotage.server.decoding import bodies
from pilotage.server.decoding.fieldproblems import FieldProblems
from pilotage.server.decoding.refusals import UndecodablePatch
from pilotage.server.ownership import configuration
from pilotage.server.ownership.track import owns, replicas_path
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.checks import numbers
from pilotage.server.strategies.metadata import unqualified_finalizer_causes
from pilotage.server.strategies.scaling import (
    SCALE,
    ScalePaths,
    has_replicas,
    scale_of,
    scaled,
    shown_replicas_path,
)
from pilotage.server.strategies.strategy import NO_RULES, Strategy
from pilotage.server.verbs import patch as patching
from pilotage.server.verbs.apply import Applier
from pilotage.server.verbs.identity import check_identity, check_uid, check_version
from pilotage.server.verbs.update import Projection, Updater
from pilotage.server.writes import steps

_UNSET = -(2**31)
"""The replicas of a custom resource without replicas, for a patch."""
NextScale = Callable[[Document], tuple[Document, list[str]]]
"""Maps the Scale of the stored object to the new Scale, with warnings."""


@dataclass(frozen=True, slots=True)
class Scaler:
    """Answers get, update and patch of a scale."""

    context: RegistryContext

    async def call(self, info: ResourceInfo, request: APIRequest) -> Response:
        paths = info.rules.scale
        assert paths is not None, "a resource without a scale has no such subresource"
        if request.verb is Verb.GET:
            return await self._get(info, request, paths)
        if request.verb not in (Verb.UPDATE, Verb.PATCH):
            raise routes.no_method()
        if request.verb is Verb.PATCH and patching.patch_type(info, request) is PatchType.APPLY:
            return await self._apply(info, request, paths)
        bodies.check_options(request)
        of_scale = _scale_info(info)
        read = _reader_of_patch(of_scale, request) if request.verb is Verb.PATCH else _reader_of_body(of_scale, request)

        def next_state(old: Document, _: bytes) -> tuple[Document, list[str]]:
            current = scale_of(old, paths)
            if request.verb is Verb.PATCH and not has_replicas(old, paths):
                current["spec"]["replicas"] = _UNSET
            scale, warnings = read(current)
            if request.verb is Verb.UPDATE or not info.custom:  # a patch of a custom resource has no such precondition
                check_uid(of_scale, request, scale, old)
            if info.custom:
                check_version(of_scale, scale, old, request.name)
            document = _next_object(info, old, scale, paths)
            if not info.custom:  # an invalid Scale of a built-in kind is refused as such, of whatever version
                check_version(of_scale, scale, old, request.name)
            elif info.stored is info:  # objects on the path of the replicas may be new, and get defaults
                steps.default(info, request, document, FieldProblems())
            return document, warnings

        response = await Updater(self.context).change(
            info, _whole(request), next_state, projection=_projection(info, paths)
        )
        return _answer(response, paths)

    async def _get(self, info: ResourceInfo, request: APIRequest, paths: ScalePaths) -> Response:
        entry = await self.context.entry(info, request)
        data = await self.context.converter.as_read(entry, info)
        document = records.decode(data)
        if info.custom and not has_replicas(document, paths):
            problem = f'the spec replicas field "{shown_replicas_path(paths)}" does not exist'
            raise internal_error(problem)
        return _answer(Response(data, warnings=info.warnings), paths)

    async def _apply(self, info: ResourceInfo, request: APIRequest, paths: ScalePaths) -> Response:
        """Apply a Scale as the part of the object that it represents."""
        configuration.check_manager(request)
        config, _ = configuration.read(request.body)
        of_scale = _scale_info(info)
        configuration.check_kind(of_scale, config)
        configuration.check_types(of_scale, config)
        metadata = config.get("metadata") or {}
        applied: Document = {"metadata": metadata, "apiVersion": info.gvk.api_version, "kind": info.gvk.kind}
        spec = config.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("replicas"), int):
            applied = scaled(applied, paths, spec["replicas"])
        whole = replace(_whole(request), body=records.to_json(applied))
        response = await Applier(self.context).apply(info, whole, _projection(info, paths))
        return _answer(response, paths)


def _reader_of_body(info: ResourceInfo, request: APIRequest) -> NextScale:
    document, problems = bodies.read(request, info)
    document["metadata"].pop("managedFields", None)  # the object's managed fields are not set through its Scale
    warnings = problems.report(request, info)
    check_identity(info, request, document)
    return lambda _: (document, warnings)


def _reader_of_patch(info: ResourceInfo, request: APIRequest) -> NextScale:
    patch = patching.reader(info, request)

    def read(current: Document) -> tuple[Document, list[str]]:
        document, problems = patch(records.private(current))
        try:
            bodies.check_kind(document, info, request)
            document = bodies.internal(document, info, request, problems)
            check_identity(info, request, document)
            return document, problems.report(request, info)
        except UndecodablePatch as error:
            shown, _ = patch(records.private(current))
            raise patching.undecodable(info, request, error.why, shown) from None

    return read


def _next_object(info: ResourceInfo, old: Document, scale: Document, paths: ScalePaths) -> Document:
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if not info.custom:
        metadata = {"namespace": old["metadata"].get("namespace")} | scale["metadata"]
        causes = object_meta_causes(metadata, namespaced=True)
        causes += unqualified_finalizer_causes(metadata.get("finalizers") or ())
        causes += numbers.counts(scale.get("spec") or {}, "spec", ("replicas",))
        if causes:
            raise invalid_error(SCALE.group_kind, old["metadata"]["name"], causes)
    elif replicas == _UNSET:
        raise BadRequest(f'the spec replicas field "{shown_replicas_path(paths)}" cannot be empty')
    return scaled(old, paths, replicas)


def _scale_info(info: ResourceInfo) -> ResourceInfo:
    """The resource info for bodies and patches of a scale: the kind is Scale, the resource is the object's."""
    return replace(
        info,
        mapping=replace(info.mapping, gvk=SCALE),
        rules=NO_RULES,
        make_strategy=Strategy,
        compile_schema=lambda: None,
        custom=False,
        openapi=None,
        storage=None,
        versions={},
    )


def _projection(info: ResourceInfo, paths: ScalePaths) -> Projection:
    """The projection for admission, which sees a Scale."""
    return Projection(
        _scale_info(info),
        lambda document: scale_of(document, paths),
        lambda scale, document, now: _show_managers(info, scale, document, now),
        lambda document, scale: _next_object(info, document, scale, paths),
    )


def _show_managers(info: ResourceInfo, scale: Document, document: Document, now: str) -> None:
    """Add the managed fields of a Scale, in place: the owner of the replicas of the object owns the replicas of the
    Scale."""
    entries: list[Document] = []
    for entry in document["metadata"].get("managedFields") or ():
        if not owns(entry, replicas_path(info, entry)):
            continue
        shown = entry | {"apiVersion": SCALE.api_version, "fieldsV1": {"f:spec": {"f:replicas": {}}}}
        if now and entry.get("subresource") == "scale":
            shown["time"] = now  # which is not stored
        entries.append(shown)
    if entries:
        scale["metadata"]["managedFields"] = entries


def _whole(request: APIRequest) -> APIRequest:
    """The request for the whole object, in any requested form of its Scale."""
    return replace(request, form=Form.OBJECT)


def _answer(response: Response, paths: ScalePaths) -> Response:
    document = records.decode(response.body)
    return replace(response, body=records.to_json(scale_of(document, paths)))
