"""Write the Go stubs in tests/device/go/{v2,v3,v6,v8} from our own .proto files.

They are made by the tools that Go programmers use, and checked in, so that the tests need nothing but Go. A test
compares them with the .proto files.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "src/pilotage/device/wire/proto"
TARGET = ROOT / "tests/device/go"
ENVIRONMENT = ROOT / ".venv-proto"
COMPILER = "grpcio-tools==1.85.1"
PLUGINS = (
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
)
MODULE = "pilotage.dev/compat"


def main() -> None:
    python = ENVIRONMENT / "bin/python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", COMPILER], check=True)
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"GOBIN": folder, "PATH": os.pathsep.join((folder, os.environ["PATH"]))}
        for plugin in PLUGINS:
            subprocess.run(["go", "install", plugin], env=environment, check=True)
        for generation in ("v2", "v3", "v6", "v8"):
            command = [python, "-m", "grpc_tools.protoc", f"--proto_path={SOURCES}"]
            outputs = [
                f"--{name}_{kind}" for name in ("go", "go-grpc") for kind in (f"out={TARGET}", f"opt=module={MODULE}")
            ]
            subprocess.run([*command, *outputs, f"{generation}/gpu.proto"], env=environment, check=True)


if __name__ == "__main__":
    sys.exit(main())
