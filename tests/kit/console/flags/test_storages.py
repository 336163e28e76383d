from __future__ import annotations

import argparse

import pytest

from pilotage.kit.console.flags import storages


def test_encryption_keys_that_are_empty_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    storages.add_encryption_keys(parser)
    assert parser.parse_args([]).encryption_keys is None
    with pytest.raises(SystemExit):
        parser.parse_args(["--encryption-keys", ""])
    assert "argument --encryption-keys: the value is empty: give a file" in capsys.readouterr().err
