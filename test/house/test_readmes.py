"""tools/check-readmes must name a folder without a README and one whose README is too long."""

from house import run, tool, write


def test_missing_and_long_ones_are_named(tmp_path):
    write(tmp_path, "src/base/README.md", "line\n" * 30)
    write(tmp_path, "test/unit/README.md", "line\n")
    assert run(tool("check-readmes"), str(tmp_path)).returncode == 0
    write(tmp_path, "src/base/README.md", "line\n" * 31)
    result = run(tool("check-readmes"), str(tmp_path))
    assert result.returncode == 1 and "src/base/README.md: 31 lines" in result.stdout
    write(tmp_path, "src/base/README.md", "line\n")
    write(tmp_path, "src/os/os.h", "\n")
    result = run(tool("check-readmes"), str(tmp_path))
    assert result.returncode == 1 and "src/os/README.md: missing" in result.stdout


def test_nothing_to_check_is_no_success(tmp_path):
    write(tmp_path, "src/LAYERS", "")
    assert run(tool("check-readmes"), str(tmp_path)).returncode != 0
