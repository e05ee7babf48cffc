"""Every row of the tables in test/data/README.md, read from there: records, repeats, output and its sha256."""

import hashlib
import os
import re

import pytest

import cli


def tables():
    """The rows of both tables as dicts."""
    rows, header = [], None
    with open(os.path.join(cli.DATA, "README.md"), encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")] if line.startswith("|") else None
            if cells is None:
                header = None
            elif header is None:
                header = cells
            elif not set(line) <= set("|-: \n"):
                rows.append(dict(zip(header, cells)))
    return rows


ROWS = tables()


def number(text):
    return int(text.replace(",", ""))


def command(row):
    """From the words of a row to options and to what is done to the file before and to the output after."""
    text = row.get("id") or row["id field"]
    fields = re.findall(r"`([^`]+)`", text)
    options, before, after = [], [], []
    if "payload" in text and "whatever" in text:
        fields = fields[:1]
    for field in fields:
        options += ["--id", field if row["file"].strip("`").endswith(".csv") else "/" + field]
    if "CR dropped" in text:
        before.append(lambda data: data.replace(b"\r\n", b"\n"))
    if "header left out" in text:
        after.append(lambda data: data.split(b"\n", 1)[1])
    if "without one left out" in text:
        options += ["--missing", "drop"]
    return options, before, after


def test_the_tables_are_there():
    assert len(ROWS) == 14


@pytest.mark.parametrize("row", ROWS, ids=[f"{i}-{row['file'].strip('`')}" for i, row in enumerate(ROWS)])
@pytest.mark.parametrize("way", ["memory", "store", "output"])
def test_row(row, way, tmp_path):
    options, before, after = command(row)
    name = row["file"].strip("`")
    data = cli.read(os.path.join(cli.DATA, name))
    for change in before:
        data = change(data)
    source = cli.write(tmp_path, name, data)
    out = tmp_path / "out"
    if way != "memory":
        options += cli.store(tmp_path / "state") + ["--expiry", "forever"]
    if way == "output":
        options += ["--output", out]
    result = cli.filter(*options, source)
    kept = cli.read(out) if way == "output" else result.out
    for change in after:
        kept = change(kept)
    summary = result.summary()
    assert summary["in"] == number(row["records"])
    assert summary["out"] == number(row["output records"])
    assert summary["duplicate"] == number(row.get("repeats", row.get("repeats")))
    assert summary["unchecked"] == number(row["without id"])
    assert summary["new"] == number(row.get("distinct ids") or row["distinct"])
    assert kept.count(b"\n") == number(row["output lines"])
    assert hashlib.sha256(kept).hexdigest() == row.get("sha256 of the output").strip("`")
    if way == "store":  # and once more: everything is known
        again = cli.filter(*options, source)
        assert again.summary()["new"] == 0
        assert again.summary()["ids_held"] == summary["ids_held"]
