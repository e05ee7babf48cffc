"""`make install` puts everything where Debian expects it, and what it puts there works: the header and the library for a C
program that knows only pkg-config, the program, the man pages. The examples of README and man page are such programs."""

import os
import re
import subprocess
import tempfile

import pytest
from house import ROOT, run

PREFIX = "/opt/hapax"  # not a default one, so that a path that ignores PREFIX is seen


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    dest = str(tmp_path_factory.mktemp("dest"))
    result = run("make", "install", f"DESTDIR={dest}", f"PREFIX={PREFIX}", timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    return dest + PREFIX


@pytest.fixture(scope="module")
def libdir(installed):
    triplet = run("cc", "-print-multiarch").stdout.strip()
    return os.path.join(installed, "lib", triplet)


def flags(libdir, *words):
    env = {"PKG_CONFIG_PATH": os.path.join(libdir, "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": libdir.split(PREFIX)[0]}
    result = run("pkg-config", *words, "hapax", env=env)
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def build(tmp_path, libdir, source, *options):
    path = tmp_path / "example.c"
    path.write_text(source, encoding="utf-8")
    program = str(tmp_path / "example")
    result = run("cc", "-Wall", "-Wextra", "-Werror", *options, str(path), "-o", program,
                 *flags(libdir, "--cflags", "--libs"))
    assert result.returncode == 0, result.stderr
    return program


def state_folder(tmp_path):
    """A place for a store: full durability is refused on a file system that cannot give it."""
    for base in (tmp_path, os.path.join(ROOT, "build")):
        kind = run("stat", "-f", "-c", "%T", str(base)).stdout.strip()
        if kind not in ("tmpfs", "ramfs"):
            return base
    return tmp_path


def example_of_readme():
    with open(f"{ROOT}/README.md", encoding="utf-8") as file:
        blocks = re.findall(r"```c\n(.*?)```", file.read(), re.S)
    return next(block for block in blocks if "#include <hapax.h>" in block)


def example_of_man_page():
    with open(f"{ROOT}/man/hapax.3.scd", encoding="utf-8") as file:
        return re.search(r"```\n(.*?)```", file.read(), re.S).group(1).replace("\\\\", "\\")


def test_files_are_where_they_belong(installed, libdir):
    for path in ("bin/hapax", "include/hapax.h", "share/man/man1/hapax.1", "share/man/man3/hapax.3"):
        found = os.path.join(installed, path)
        assert os.path.exists(found) or os.path.exists(found + ".gz"), path
    for name in ("libhapax.so", "libhapax.so.0", "libhapax.so.0.1.0", "pkgconfig/hapax.pc"):
        assert os.path.exists(os.path.join(libdir, name)), name
    assert os.path.realpath(os.path.join(libdir, "libhapax.so")).endswith("libhapax.so.0.1.0")
    soname = run("readelf", "-d", os.path.join(libdir, "libhapax.so")).stdout
    assert "Library soname: [libhapax.so.0]" in soname


def test_nothing_else_is_installed(installed):
    top = sorted(os.listdir(installed))
    assert top == ["bin", "include", "lib", "share"]
    assert os.listdir(os.path.join(installed, "include")) == ["hapax.h"]
    assert os.listdir(os.path.join(installed, "bin")) == ["hapax"]


def test_the_library_needs_libc_alone(libdir):
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", os.path.join(libdir, "libhapax.so")).stdout)
    assert [name for name in needed if not re.match(r"libc\.so|ld-linux", name)] == []


@pytest.mark.parametrize("source", [example_of_readme, example_of_man_page])
def test_the_examples_work(tmp_path, libdir, source):
    """Each is a program that prints `ID verdict` for its arguments and remembers them in ./state."""
    program = build(tmp_path, libdir, source())
    place = state_folder(tmp_path)
    env = {"LD_LIBRARY_PATH": libdir}
    with tempfile.TemporaryDirectory(dir=place) as folder:
        first = run(program, "a", "b", "a", cwd=folder, env=env)
        assert (first.returncode, first.stdout) == (0, "a new\nb new\na duplicate\n"), first.stderr
        second = run(program, "b", "c", cwd=folder, env=env)
        assert (second.returncode, second.stdout) == (0, "b duplicate\nc new\n"), second.stderr


@pytest.mark.parametrize("options", [["-std=c99", "-pedantic"], ["-std=c17"], ["-std=gnu17"]])
def test_the_header_stands_alone(tmp_path, libdir, options):
    build(tmp_path, libdir, "#include <hapax.h>\nint main(void) { return hapax_version() == 0; }\n", *options)


def test_version_is_the_same_everywhere(tmp_path, libdir, installed):
    program = build(tmp_path, libdir, '#include <hapax.h>\n#include <stdio.h>\nint main(void) { puts(hapax_version()); }\n')
    version = run(program, env={"LD_LIBRARY_PATH": libdir}).stdout.strip()
    assert version == flags(libdir, "--modversion")[0]
    assert version in run(os.path.join(installed, "bin", "hapax"), "--version").stdout
    with open(f"{ROOT}/CHANGELOG.md", encoding="utf-8") as file:
        assert f"## {version}" in file.read()


def test_the_installed_program_runs_without_the_library_path(installed):
    """Also from a clean environment: it must not depend on ldconfig or on the build folder."""
    result = subprocess.run([os.path.join(installed, "bin", "hapax"), "filter", "--format", "lines"], input=b"x\ny\nx\n",
                            capture_output=True, env={"PATH": "/usr/bin:/bin"}, timeout=60)
    assert (result.returncode, result.stdout) == (0, b"x\ny\n"), result.stderr


def test_man_pages_are_sound(installed):
    pages = [os.path.join(base, name) for base, _, names in os.walk(os.path.join(installed, "share", "man"))
             for name in names]
    assert len(pages) >= 2
    for page in pages:
        result = run("mandoc", "-T", "lint", "-W", "error", page)
        assert result.returncode == 0, result.stdout
