from __future__ import annotations

import pytest

from pilotage.meta.validation.clientconfig import client_config_causes


@pytest.mark.parametrize(
    ("path", "problems"),
    [
        ("/a/b", []),
        ("a", ["must start with a '/'", "segment[0] may not be empty"]),
        ("\u00e4", ["must start with a '/'", "segment[0]: a lowercase RFC 1123 subdomain must consist of"]),
    ],
)
def test_the_segments_of_a_path_begin_after_its_first_byte(path: str, problems: list[str]) -> None:
    service = {"namespace": "a", "name": "b", "path": path}
    found = [cause.message for cause in client_config_causes({"service": service}, "clientConfig")]
    assert len(found) == len(problems)
    assert all(problem in message for problem, message in zip(problems, found, strict=True))
