"""A test that fails on purpose, see README.md."""

import os


def test_fails():
    assert os.environ.get("HAPAX_CANARY") == "healthy"
