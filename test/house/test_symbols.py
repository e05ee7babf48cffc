"""tools/check-symbols must find each thing that may not be in the library, in a small library built here."""

import os

import pytest
from house import run, tool, write

HEADER = """
#define HAPAX_API __attribute__((visibility("default")))
/* HAPAX_API int hapax_not_this(void); */
HAPAX_API int hapax_one(int x);
HAPAX_API const char *
hapax_two(void);
"""
GOOD = """
#include "hapax.h"
int hx_api_count(int x);
int hx_api_count(int x) { return x + 1; }
static const char *const names[] = {"two", "three"}; /* constant, though it holds pointers */
const char *const *hx_api_names(void);
const char *const *hx_api_names(void) { return names; }
int hapax_one(int x) { return hx_api_count(x); }
const char *hapax_two(void) { return names[0]; }
"""


def check(tmp_path, source, header=HEADER):
    """Builds libhapax.so and libhapax_static.a from one source file as meson would and checks them."""
    src = tmp_path / "src"
    header_path = write(tmp_path, "hapax.h", header)
    path = write(tmp_path, "api.c", source)
    os.makedirs(src, exist_ok=True)
    obj = str(src / "core_api.c.o")
    flags = ["-O1", "-fPIC", "-fvisibility=hidden", "-w", f"-I{tmp_path}"]
    assert run("cc", *flags, "-c", path, "-o", obj).returncode == 0
    assert run("ar", "rcs", str(src / "libhapax_static.a"), obj).returncode == 0
    assert run("cc", "-shared", obj, "-o", str(src / "libhapax.so")).returncode == 0
    return run(tool("check-symbols"), str(tmp_path), "--header", header_path)


def test_a_good_library_passes(tmp_path):
    result = check(tmp_path, GOOD)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("addition, complaint", [
    ('#include <stdio.h>\nvoid hx_api_say(int x) { printf("%d", x); }', "uses printf"),
    ('#include <stdio.h>\nvoid hx_api_say(void) { printf("line\\n"); }', "uses puts"),
    ('#include <stdio.h>\nvoid hx_api_say(void) { fprintf(stderr, "x%d", 1); }', "uses stderr"),
    ("#include <stdlib.h>\nvoid hx_api_end(void) { exit(1); }", "uses exit"),
    ('#include <stdlib.h>\nvoid *hx_api_home(void) { return getenv("HOME"); }', "uses getenv"),
    ("#include <signal.h>\nvoid hx_api_mute(void) { signal(SIGPIPE, SIG_IGN); }", "uses signal"),
    ("#include <signal.h>\nint hx_api_mute(void *p) { return sigaction(1, p, 0); }", "uses sigaction"),
    ("int hx_api_calls; int hx_api_next(void) { return ++hx_api_calls; }", "hx_api_calls is writable data"),
    ("static int calls = 3; int hx_api_next(void) { return ++calls; }", "calls is writable data"),
    ("int hx_api_next(void) { static int calls; return ++calls; }", "is writable data"),
    ("static _Thread_local int calls; int hx_api_next(void) { return ++calls; }", "calls is writable data"),
    ('__attribute__((visibility("default"))) int hapax_three(void) { return 3; }', "exports hapax_three"),
    ("int helper(int x) { return x; }", "helper has linkage"),
])
def test_a_fault_is_named(tmp_path, addition, complaint):
    result = check(tmp_path, GOOD + addition + "\n")
    assert result.returncode == 1
    assert complaint in result.stdout


def test_a_declared_function_that_is_missing_is_named(tmp_path):
    result = check(tmp_path, GOOD, HEADER + "HAPAX_API void hapax_gone(void);\n")
    assert result.returncode == 1
    assert "hapax.h declares hapax_gone" in result.stdout
