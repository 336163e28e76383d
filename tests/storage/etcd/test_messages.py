from __future__ import annotations

import hashlib
from pathlib import Path

from pilotage.storage import etcd
from pilotage.storage.etcd.generated import descriptors

PROTO = Path(etcd.__file__).parent / "proto"


def test_the_generated_code_is_of_this_proto_file() -> None:
    text = f"etcd.proto\n{(PROTO / 'etcd.proto').read_text()}\n"
    assert hashlib.sha256(text.encode()).hexdigest() == descriptors.SOURCES, "the file has changed: run make proto"
