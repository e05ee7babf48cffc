"""tools/demo shows what it says: the second run drops everything, a duplicate is explained, the store is sound."""

import re

from house import ROOT, run


def test_demo():
    result = run(f"{ROOT}/tools/demo", timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"^7784 unique.csv$", result.stdout, re.M)
    assert re.search(r"^ +1 second.csv$", result.stdout, re.M)  # the header
    assert re.search(r"^known: id ", result.stdout, re.M)
    assert "no damage" in result.stdout
    assert "15,283 records in, 7,783 out" in result.stderr
    assert "15,283 records in, 0 out" in result.stderr
