"""tools/check_registered on a small tree: it passes unchanged, and the tool names each added
fault."""
import pytest
from tests.tools.planted import assert_named, checker, write

check = checker("check_registered")

TREE = {
    "CMakeLists.txt": "add_subdirectory(src)\nadd_subdirectory(tests)\nadd_subdirectory(fuzz)\n",
    "src/CMakeLists.txt": "add_subdirectory(sys)\n",
    "src/sys/CMakeLists.txt": "muster_module(sys\n  SOURCES file.cpp  # reads\n  DEPENDS base)\n"
                              "install(FILES ${PROJECT_SOURCE_DIR}/include/muster/join.hpp DESTINATION include)\n",
    "src/sys/file.cpp": "",
    "include/muster/join.hpp": "",
    "tests/CMakeLists.txt": "add_subdirectory(sys)\n",
    "tests/sys/CMakeLists.txt": "muster_test(sys file_test.cpp)\n",
    "tests/sys/file_test.cpp": "",
    "tests/cli/test_binary.py": "def test_it(): pass\n",
    "tests/conftest.py": "",
    "fuzz/CMakeLists.txt": "muster_fuzz(expression)\n",
    "fuzz/expression.cpp": "",
    "pytest.ini": "[pytest]\ntestpaths = tests\n",
    "README.md": "# Top\n[a](docs/a.md) [b](https://example.org/x) [c](#top) `[d](no)`\n\n```\n[e](no)\n```\n",
    "docs/a.md": "[up](../README.md#top)\n",
}


@pytest.mark.parametrize("whole", ["tree", "root"])
def test_a_tree_without_a_fault_passes(root, request, whole):
    ended = check(root, request.getfixturevalue(whole))
    assert (ended.returncode, ended.stdout) == (0, "")


@pytest.mark.parametrize("name, text, place, says", [
    ("tests/sys/more_test.cpp", "", "tests/sys/more_test.cpp:1:", "no build runs this test"),
    ("tests/sys/CMakeLists.txt", "# muster_test(sys file_test.cpp)\n", "tests/sys/file_test.cpp:1:", "no build runs this test"),
    ("tests/CMakeLists.txt", "", "tests/sys/file_test.cpp:1:", "no build runs this test"),
    ("src/sys/more.cpp", "", "src/sys/more.cpp:1:", "no target holds this source"),
    ("src/sys/CMakeLists.txt", "set(sources file.cpp)\n", "src/sys/file.cpp:1:", "no target holds this source"),
    ("fuzz/hostfile.cpp", "", "fuzz/hostfile.cpp:1:", "no build makes this fuzz target"),
    ("include/muster/more.hpp", "", "include/muster/more.hpp:1:", "not installed"),
    ("include/muster/deep/more.hpp", "", "include/muster/deep/more.hpp:1:", "not installed"),
    ("tests/cli/test_empty.py", "x = 1\n", "tests/cli/test_empty.py:1:", "holds no test"),
    ("tests/cli/checks.py", "def test_it(): pass\n", "tests/cli/checks.py:1:", "call it test_*.py"),
    ("tests/build/test_a.py", "def test_it(): pass\n", "tests/build/test_a.py:1:", "norecursedirs"),
    ("pytest.ini", "[pytest]\ntestpaths = tests/lab\n", "tests/cli/test_binary.py:1:", "outside the testpaths"),
    ("pytest.ini", "[pytest]\ntestpaths = tests\npython_files = check_*.py\n", "tests/cli/test_binary.py:1:", "python_files"),
    ("tests/conftest.py", "collect_ignore = ['cli/test_binary.py']\n", "tests/cli/test_binary.py:1:", "tests/conftest.py ignores it"),
    ("tests/conftest.py", "collect_ignore_glob = ['cli/*']\n", "tests/cli/test_binary.py:1:", "tests/conftest.py ignores it"),
    ("docs/a.md", "\n\n[x](b.md)\n", "docs/a.md:3:", "b.md leads nowhere"),
    ("docs/a.md", "![x](pictures/b.png)\n", "docs/a.md:1:", "pictures/b.png leads nowhere"),
    ("docs/a.md", "[x]: ../no.md\n", "docs/a.md:1:", "../no.md leads nowhere"),
    ("docs/a.md", "[x](../README.md#bottom)\n", "docs/a.md:1:", "no heading #bottom"),
    ("docs/a.md", "[x](../../../etc/passwd)\n", "docs/a.md:1:", "leads out of the repository"),
])
def test_fault_is_named(root, tree, name, text, place, says):
    write(tree, name, text)
    assert_named(check(root, tree), place, says)


def test_header_in_an_installed_file_set_passes(root, tree):
    write(tree, "include/muster/more.hpp", "")
    named = "target_sources(x PUBLIC FILE_SET HEADERS BASE_DIRS include FILES include/muster/more.hpp)\n"
    write(tree, "CMakeLists.txt", TREE["CMakeLists.txt"] + named)
    assert "more.hpp:1:" in check(root, tree).stdout, "a FILE_SET that nothing installs does not count"
    write(tree, "CMakeLists.txt", TREE["CMakeLists.txt"] + named + "install(TARGETS x FILE_SET HEADERS)\n")
    assert check(root, tree).returncode == 0


def test_wrong_root_is_no_success(root, tmp_path):
    assert check(root, tmp_path).returncode != 0


def test_a_pattern_names_all_files_that_match(root, tree):
    write(tree, "tests/sys/CMakeLists.txt", "muster_test(sys *_test.cpp)\n")
    write(tree, "tests/sys/more_test.cpp", "")
    assert check(root, tree).returncode == 0
