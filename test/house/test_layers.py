"""tools/check-layers must name every kind of include that breaks src/LAYERS, and nothing else."""

import pytest
from house import ROOT, run, tool, write

LAYERS = "base\nos base\ncore base os <hapax.h>\ncli base os <hapax.h> app\napp base <hapax.h>\n"


@pytest.fixture
def tree(tmp_path):
    write(tmp_path, "src/LAYERS", LAYERS)
    write(tmp_path, "include/hapax.h", "#include <stdint.h>\n")
    write(tmp_path, "src/base/buf.h", "#include <stddef.h>\n")
    write(tmp_path, "src/os/os.h", '#include "base/buf.h"\n')
    write(tmp_path, "src/core/wal.h", '#include "os/os.h"\n#include <hapax.h>\n')
    write(tmp_path, "src/app/options.h", "#include <hapax.h>\n")
    write(tmp_path, "src/cli/main.c", '#include <stdio.h>\n#include "app/options.h"\n')
    return tmp_path


def test_a_good_tree_passes(tree):
    result = run(tool("check-layers"), str(tree))
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("path, line, complaint", [
    ("src/cli/filter.c", '#include "core/wal.h"', "src/cli/filter.c:1: cli may not include core/"),
    ("src/app/log.c", '#include "os/os.h"', "src/app/log.c:1: app may not include os/"),
    ("src/base/text.c", "#include <hapax.h>", "src/base/text.c:1: base may not include <hapax.h>"),
    ("src/core/api.c", '#include "hapax.h"', "src/core/api.c:1: write <hapax.h>"),
    ("src/core/api.c", '#include "wal.h"', 'src/core/api.c:1: "wal.h" is no file under src/'),
    ("src/core/api.c", '#include "../os/os.h"', 'src/core/api.c:1: "../os/os.h" is'),
    ("src/core/api.c", "  #  include <os/os.h>", 'src/core/api.c:1: write "os/os.h"'),
    ("src/core/api.c", "#include WAL_HEADER", "src/core/api.c:1: include of a macro"),
    ("include/hapax.h", '#include "base/buf.h"', "include/hapax.h:1: the public header includes"),
    ("src/flow/run.c", "int x;", "src/flow: no line in src/LAYERS"),
])
def test_a_fault_is_named(tree, path, line, complaint):
    write(tree, path, line + "\n")
    result = run(tool("check-layers"), str(tree))
    assert result.returncode == 1
    assert complaint in result.stdout


def test_an_empty_tree_is_no_success(tmp_path):
    write(tmp_path, "src/LAYERS", "")
    assert run(tool("check-layers"), str(tmp_path)).returncode == 1


def test_below_the_library_line_nobody_may_see_core():
    with open(f"{ROOT}/src/LAYERS", encoding="utf-8") as file:
        lines = [line.split("#")[0].split() for line in file]
    assert [words[0] for words in lines if "core" in words[1:]] == []
