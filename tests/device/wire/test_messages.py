"""The generated descriptors are those of the .proto files; protobuf is not needed until it is used."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from pilotage.device import wire
from pilotage.device.wire.generated import descriptors
from pilotage.device.wire.generation import PACKAGES, Generation, method_path
from pilotage.device.wire.messages import GRPC, classes, file_protos

PROTO = Path(wire.__file__).parent / "proto"


def test_the_generated_code_is_of_these_proto_files() -> None:
    digest = hashlib.sha256()
    for name in sorted(path.relative_to(PROTO).as_posix() for path in PROTO.rglob("*.proto")):
        digest.update(f"{name}\n{(PROTO / name).read_text()}\n".encode())
    assert digest.hexdigest() == descriptors.SOURCES, "the .proto files have changed: run make proto"


def test_every_proto_file_is_in_a_set() -> None:
    known = {file.name for name in descriptors.SETS for file in file_protos(name)}
    assert {path.relative_to(PROTO).as_posix() for path in PROTO.rglob("*.proto")} <= known


def test_each_generation_has_its_own_messages_under_the_same_names() -> None:
    name = "nvidia.nvsentinel.v1alpha1.Gpu"
    assert len({classes(generation.value)[name] for generation in Generation}) == len(Generation)


def test_the_methods_of_a_generation_are_those_of_its_service() -> None:
    for generation in Generation:
        services = [service for file in file_protos(generation.value) for service in file.service]
        gpus = next(service for service in services if service.name == "GpuService")
        assert tuple(method.name for method in gpus.method) == generation.methods


def test_a_method_has_a_path_in_each_package() -> None:
    assert method_path("ListGpus") == "/nvidia.nvsentinel.v1alpha1.GpuService/ListGpus"
    assert method_path("ListGpus", PACKAGES[1]) == "/nvidia.device.v1alpha1.GpuService/ListGpus"


def test_the_packages_of_grpc_are_there() -> None:
    assert "grpc.health.v1.HealthCheckRequest" in classes(GRPC)


PROGRAM = """
import sys
{block}
from pilotage.device.wire.client import encode_request
from pilotage.device.wire.generation import RESOURCE, Generation
from pilotage.rest import APIRequest, Verb
assert not sys.modules.get("google.protobuf")
encode_request(Generation.V6, APIRequest(Verb.LIST, RESOURCE))
"""


def test_importing_the_wire_does_not_import_protobuf() -> None:
    program = PROGRAM.format(block="") + 'assert "google.protobuf" in sys.modules'
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("missing", ["google", "google.protobuf"])
def test_without_protobuf_the_error_names_the_extra(missing: str) -> None:
    program = PROGRAM.format(block=f"sys.modules[{missing!r}] = None")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "the Device API needs an optional dependency: pip install 'pilotage[device]'" in done.stderr


def test_the_descriptors_work_without_the_compiled_runtime() -> None:
    program = PROGRAM.format(block='import os; os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"')
    program += """
from google.protobuf.internal import api_implementation
assert api_implementation.Type() == "python"
body = b'{"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"uuid":"u"},"status":{"conditions":[{"type":"T"}]}}'
from pilotage.device.wire.client import decode_response
from pilotage.device.wire.server import encode_response
for generation in Generation:
    message = encode_response(generation, "GetGpu", body)
    assert b'"name":"a"' in decode_response(generation, "GetGpu", message).body
"""
    subprocess.run([sys.executable, "-c", program], check=True)
