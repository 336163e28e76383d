"""Reflection: a client that knows nothing can learn every service from the server."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool

from pilotage.device.wire import reflection
from pilotage.device.wire.descriptors import descriptors
from pilotage.device.wire.generation import PACKAGES, Generation
from pilotage.device.wire.messages import GRPC, classes, parsed
from pilotage.errors import DecodeError

from .samples import number, text

SERVED = descriptors(Generation.V6)


def ask(question: bytes, generation: Generation = Generation.V6) -> Any:
    answer = reflection.answer(question, descriptors(generation))
    return parsed(classes(GRPC)["grpc.reflection.v1.ServerReflectionResponse"], answer)


def test_the_services_are_listed() -> None:
    answer = ask(text(1, "host") + text(7, ""))
    assert [service.name for service in answer.list_services_response.service] == [
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
        "nvidia.device.v1alpha1.GpuService",
        "nvidia.device.v1alpha1.ProviderService",
        "nvidia.nvsentinel.v1alpha1.GpuService",
        "pilotage.device.v1alpha1.TelemetryService",
    ]
    assert (answer.valid_host, answer.original_request.host) == ("host", "host")


@pytest.mark.parametrize("generation", list(Generation))
@pytest.mark.parametrize("package", PACKAGES)
def test_a_client_can_build_every_message_from_the_answers(generation: Generation, package: str) -> None:
    answer = ask(text(4, f"{package}.GpuService"), generation)
    pool = descriptor_pool.DescriptorPool()
    for data in reversed(answer.file_descriptor_response.file_descriptor_proto):
        pool.AddSerializedFile(data)
    service = pool.FindServiceByName(f"{package}.GpuService")
    assert tuple(method.name for method in service.methods) == generation.methods
    listed = service.methods_by_name["ListGpus"].output_type
    item = listed.fields_by_name["gpu_list"].message_type.fields_by_name["items"].message_type
    assert item.full_name == f"{package}.Gpu"


@pytest.mark.parametrize(
    ("symbol", "file"),
    [
        ("nvidia.nvsentinel.v1alpha1.Gpu", "v6/gpu.proto"),
        ("nvidia.nvsentinel.v1alpha1.ObjectMeta.LabelsEntry", "v6/gpu.proto"),
        ("nvidia.nvsentinel.v1alpha1.GpuService.ListGpus", "v6/gpu.proto"),
        ("nvidia.device.v1alpha1.Gpu", "device/v6/gpu.proto"),
        ("nvidia.device.v1alpha1.ProviderService", "provider.proto"),
        ("nvidia.device.v1alpha1.HeartbeatRequest.gpu_names", "provider.proto"),
        ("grpc.health.v1.HealthCheckResponse.ServingStatus", "grpc/health/v1/health.proto"),
        ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
    ],
)
def test_a_symbol_leads_to_its_file(symbol: str, file: str) -> None:
    first = SERVED.containing(symbol)[0]
    assert descriptor_pb2.FileDescriptorProto.FromString(first).name == file
    assert ask(text(4, symbol)).file_descriptor_response.file_descriptor_proto[0] == first


@pytest.mark.parametrize("generation", list(Generation))
def test_no_symbol_is_in_two_files(generation: Generation) -> None:
    symbols = [symbol for file in descriptors(generation).files.values() for symbol in file.symbols]
    assert len(symbols) == len(set(symbols))


def test_a_file_comes_with_what_it_imports_each_once() -> None:
    answer = ask(text(3, "provider.proto"))
    names = [
        descriptor_pb2.FileDescriptorProto.FromString(data).name
        for data in answer.file_descriptor_response.file_descriptor_proto
    ]
    assert names[:2] == ["provider.proto", "v6/gpu.proto"]
    assert sorted(names[2:]) == ["google/protobuf/empty.proto", "google/protobuf/timestamp.proto"]


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (text(4, "nvidia.nvsentinel.v1alpha1.Tpu"), 5),
        (text(3, "other.proto"), 5),
        (text(3, "tolerant.proto"), 5),
        (text(5, text(1, "nvidia.nvsentinel.v1alpha1.Gpu") + number(2, 100)), 5),
        (text(6, "nvidia.nvsentinel.v1alpha1.Gpu"), 5),
        (b"", 12),
    ],
)
def test_what_is_not_known_is_answered_with_an_error(question: bytes, code: int) -> None:
    assert ask(question).error_response.error_code == code


def test_nonsense_cannot_be_answered() -> None:
    with pytest.raises(DecodeError):
        reflection.answer(b"\xff", SERVED)


def test_both_versions_of_the_service_are_named() -> None:
    assert reflection.METHODS == (
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    )
