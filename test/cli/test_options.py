"""Words on the command line: misspelt, missing, contradicting; help; the man pages against the option tables."""

import os
import re
import subprocess
import sys

import pytest

import cli

VERBS = ["filter", "stat", "explain", "dump", "verify"]


def refused(*words, says):
    result = cli.run(*words)
    assert result.code == 2, result.text
    assert result.out == b""
    for text in [says] if isinstance(says, str) else says:
        assert text in result.text, result.text
    return result


def test_s061h_misspelt_verb():
    refused("filtr", says="unknown verb filtr; did you mean filter?")
    refused("veriify", says="did you mean verify?")
    refused("xyzzy", says="see hapax help")


@pytest.mark.parametrize("word,near", [("--durabilty", "--durability"), ("--idpattern", "--id-pattern"),
                                       ("--sorce=x", "--source"), ("--change-setting", "--change-settings"),
                                       ("--dup", "--duplicates")])
def test_s061h_misspelt_option(word, near):
    refused("filter", word, says=f"did you mean {near}?")


def test_s061h_wrong_words():
    refused("filter", "--refresh", "true", says=["--refresh true", "off or on"])
    refused("filter", "--missing", "drob", says="did you mean drop?")
    refused("filter", "--format", "xml", says="ndjson, csv, tsv or lines")
    refused("filter", "--window", "many", says="--window many")
    refused("filter", "--window", "-1", says="--window -1")
    refused("filter", "--max-record", "1MB", says="--max-record 1MB")
    refused("filter", "-q", says="unknown option -q")
    refused("filter", "--json=yes", says="--json takes no argument")
    refused("filter", "--store", says="--store needs an argument: DIR")
    refused("stat", "--store", "x", "word", says="one word too many")


@pytest.mark.parametrize("option", ["--expiry", "--max-age", "--source-idle", "--max-step"])
@pytest.mark.parametrize("value", ["0", "-1", "30", "-5"])
def test_s118_durations_are_words(option, value):
    refused("filter", option, value, says=[f"{option} {value}", "bare number", "30s"])


@pytest.mark.parametrize("value", ["30 s", "s", "1w", "", "1.5h", "-1s", "0x1s", "99999999999999999999d"])
def test_s118_durations_are_strict(value):
    refused("filter", "--expiry", value, says="--expiry")


@pytest.mark.parametrize("option,value,says", [
    ("--max-age", "0s", "--max-age 0s is too short: at least 1ms, or off"),
    ("--source-idle", "0s", "--source-idle 0s is too short: at least 1ms, or off"),
    ("--expiry", "106751991167d", "--expiry 106751991167d is too long: at most 13031248d, or forever")])
def test_durations_out_of_range_are_named_as_typed(option, value, says):
    assert "_ms" not in refused("filter", option, value, says=says).text


@pytest.mark.parametrize("option", ["--store", "--domain", "--output", "--duplicates", "--verdicts", "--format",
                                    "--expiry", "--max-memory", "--window"])
def test_empty_words(option):
    result = refused("filter", "--format", "lines", f"{option}=", says=option)
    assert re.search(f"{option} (needs|'')", result.text), result.text


def test_a_domain_name_that_is_too_long(tmp_path):
    refused("filter", "--store", tmp_path / "s", "--domain", "d" * 1025, says="--domain takes a name of at most 1024")
    assert not os.path.exists(tmp_path / "s")


def test_s089_only_forever_is_no_bound():
    refused("filter", "--max-memory", "0", says="--max-memory 0")
    refused("filter", "--max-memory", "-1", says="--max-memory -1")
    assert cli.filter("--expiry", "forever", "--format", "lines", stdin=b"a\n").summary()["out"] == 1


def test_contradictions(tmp_path):
    refused("filter", "--ack-fd", "3", says="--ack-fd needs --store")
    refused("filter", "--again", says="--again needs --store")
    refused("filter", "--max-disk", "1GiB", says="--max-disk needs --store")
    refused("filter", "--durability", "process", says="--durability needs --store")
    refused("filter", "--store", tmp_path / "s", "--again", says="--again needs --output")
    refused("filter", "--store", tmp_path / "s", "--ack-fd", "9", says="--ack-fd 9")
    refused("filter", "--window", "0", "--expiry", "0ms", says="remember nothing")
    refused("filter", "--output", "a", "--duplicates", "a", says="--output a and --duplicates a are the same file")
    refused("filter", "--id", "/a", "--format", "lines", says="--id")
    refused("filter", "--id-pattern", "(", "--format", "lines", says="--id-pattern")
    refused("filter", "--id", "no-slash", says="no-slash")
    assert not os.path.exists(tmp_path / "s")


def test_later_policies_are_refused_by_name():
    refused("filter", "--policy", "sequence", says="comes with the sequence policy")
    refused("filter", "--stale", "drop", says="comes with the sequence policy")
    refused("filter", "--number", "first", says="comes with the sequence policy")
    refused("stat", "--store", "x", "--gaps", says="comes with the sequence policy")
    assert cli.filter("--policy", "window", "--format", "lines", stdin=b"a\n").out == b"a\n"


def test_no_verb():
    result = cli.run()
    assert result.code == 2
    assert "usage: hapax VERB" in result.text


def test_version_and_help():
    version = cli.run("--version")
    assert version.code == 0 and re.fullmatch(rb"hapax \d+\.\d+\.\d+\n", version.out)
    assert cli.run("version").out == version.out
    everything = cli.run("help")
    assert everything.code == 0
    for verb in VERBS:
        assert verb in everything.out.decode()
        shown = cli.run(verb, "--help")
        assert shown.code == 0 and shown.err == b""
        assert shown.out.decode().startswith(f"usage: hapax {verb}")
        assert cli.run("help", verb).out == shown.out


@pytest.mark.parametrize("words", [["--version"], ["help"], ["filter", "--help"], ["help", "verify"]])
def test_help_that_cannot_be_written(words):
    with open("/dev/full", "wb") as full:
        result = subprocess.run([cli.BIN, *words], stdout=full, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 3 and b"stdout: No space left on device" in result.stderr


def test_options_in_any_order_and_form(tmp_path):
    source = cli.write(tmp_path, "in.csv", b"a;b\n1;x\n2;x\n")
    for words in (["--id=b", "--delimiter=;", source], [source, "--id", "b", "--delimiter", ";"],
                  ["--id", "b", "--delimiter", ";", "--", source]):
        assert cli.filter(*words).summary()["new"] == 1
    assert cli.filter("-z", "--format=lines", stdin=b"a\0a\0b\0").out == b"a\0b\0"


def test_man_pages_match_the_tables():
    """The option section of each page is what the table of its verb says."""
    tool = os.path.join(cli.ROOT, "man", "sync-options.py")
    result = subprocess.run([sys.executable, tool, "--check", cli.BIN], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    for verb in VERBS:
        page = cli.read(os.path.join(cli.ROOT, "man", f"hapax-{verb}.1.scd")).decode()
        for option in re.findall(r"^  (?:-\w, )?(--?[a-z-]+)", cli.run(verb, "--help").out.decode(), re.M):
            assert f"*{option}*" in page, (verb, option)


def test_man_check_finds_a_difference(tmp_path):
    tool = os.path.join(cli.ROOT, "man", "sync-options.py")
    for verb in VERBS:
        page = cli.read(os.path.join(cli.ROOT, "man", f"hapax-{verb}.1.scd"))
        cli.write(tmp_path, f"hapax-{verb}.1.scd", page.replace(b"The store's folder", b"A folder"))
    result = subprocess.run([sys.executable, tool, "--check", cli.BIN, str(tmp_path)], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 1 and "hapax-stat.1.scd" in result.stdout
