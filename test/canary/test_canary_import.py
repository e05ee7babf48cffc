"""A test file that cannot be imported, on purpose, see README.md."""

import os

if os.environ.get("HAPAX_CANARY") != "healthy":
    raise ImportError("this file is a canary")


def test_is_found():
    assert os.path.exists(__file__)
