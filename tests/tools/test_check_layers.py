"""tools/check_layers on a small tree: it passes unchanged, and the tool names each added fault."""
import pytest
from tests.tools.planted import assert_named, checker, write

check = checker("check_layers")

TREE = {
    "src/base/CMakeLists.txt": "muster_module(base SOURCES error.cpp LINK tl::expected)\n",
    "src/base/error.hpp": "#pragma once\n#include <string>\n",
    "src/base/error.cpp": '#include "base/error.hpp"\n',
    "src/sys/CMakeLists.txt": "muster_module(sys\n  SOURCES file.cpp\n  DEPENDS base)\n",
    "src/sys/file.hpp": '#pragma once\n#include <sys/types.h>\n#include "base/error.hpp"\n',
    "src/sys/file.cpp": '#include "sys/file.hpp"\n',
    "src/hosts/CMakeLists.txt": "muster_module(hosts SOURCES host.cpp DEPENDS base)\n",
    "src/hosts/host.hpp": '#include "base/error.hpp"\n',
    "src/hosts/host.cpp": '#include "hosts/host.hpp"\n',
    "src/remote/CMakeLists.txt": "muster_module(remote SOURCES ssh.cpp DEPENDS hosts sys)\n",
    "src/remote/ssh.cpp": '#include "base/error.hpp"\n#include "hosts/host.hpp"\n#include "sys/file.hpp"\n',
    "src/engines/CMakeLists.txt": "muster_module(engines SOURCES table.cpp DEPENDS base)\n",
    "src/engines/kind.hpp": 'inline constexpr const char* kOpenMpi = "openmpi";\n',
    "src/engines/table.cpp": '{.word = kOpenMpi},\n{.word = "flux"},\n',
    "src/launch/flux.cpp": 'EnginePlan{"flux", plan_flux};\n',
    "src/torch/ddp.cpp": "#include <torch/torch.h>\n",
    "tests/hosts/host_test.cpp": '#include <gtest/gtest.h>\n#include "hosts/host.hpp"\n',
}


@pytest.mark.parametrize("whole", ["tree", "root"])
def test_a_tree_without_a_fault_passes(root, request, whole):
    ended = check(root, request.getfixturevalue(whole))
    assert (ended.returncode, ended.stdout) == (0, "")


@pytest.mark.parametrize("name, text, place, says", [
    ("src/base/error.cpp", '\n#include "sys/file.hpp"\n', "src/base/error.cpp:2:", "base may not include sys"),
    ("src/hosts/host.cpp", '#include "sys/file.hpp"\n', "src/hosts/host.cpp:1:", "hosts may not include sys"),
    ("tests/hosts/host_test.cpp", '#include "remote/ssh.hpp"\n', "tests/hosts/host_test.cpp:1:", "hosts may not include remote"),
    ("src/sys/file.cpp", '#include "file.hpp"\n', "src/sys/file.cpp:1:", 'write "module/file.hpp"'),
    ("src/sys/file.cpp", '#include "../base/error.hpp"\n', "src/sys/file.cpp:1:", 'write "module/file.hpp"'),
    ("tests/hosts/host_test.cpp", '#include "../../src/sys/file.hpp"\n', "tests/hosts/host_test.cpp:1:", 'write "module/file.hpp"'),
    ("src/sys/file.cpp", "#include <base/error.hpp>\n", "src/sys/file.cpp:1:", "write it in quotes"),
    ("src/remote/ssh.cpp", "#include <torch/torch.h>\n", "src/remote/ssh.cpp:1:", "the tool side includes torch/torch.h"),
    ("src/remote/ssh.cpp", "#  include <mpi.h>\n", "src/remote/ssh.cpp:1:", "the tool side includes mpi.h"),
    ("src/remote/ssh.cpp", "#include <Python.h>\n", "src/remote/ssh.cpp:1:", "the tool side includes Python.h"),
    ("src/remote/ssh.cpp", '#include "muster/join.hpp"\n', "src/remote/ssh.cpp:1:", "different sides"),
    ("src/torch/ddp.cpp", '#include "hosts/host.hpp"\n', "src/torch/ddp.cpp:1:", "different sides"),
    ("include/muster/join.hpp", '#include "base/error.hpp"\n', "include/muster/join.hpp:1:", "different sides"),
    ("src/hosts/CMakeLists.txt", "muster_module(hosts SOURCES host.cpp\n  DEPENDS base remote)\n",
     "src/hosts/CMakeLists.txt:2:", "hosts may not depend on remote"),
    ("src/hosts/CMakeLists.txt", "\ntarget_link_libraries(x muster::sys)\n", "src/hosts/CMakeLists.txt:2:", "may not link muster::sys"),
    ("src/hosts/CMakeLists.txt", "muster_module(guests SOURCES host.cpp)\n", "src/hosts/CMakeLists.txt:1:", "use one word"),
    ("src/hosts/CMakeLists.txt", "muster_module(hosts LINK torch)\n", "src/hosts/CMakeLists.txt:1:", "the tool side names torch"),
    ("src/remote/ssh.cpp", '\nfmt::print("{}", 1);\n', "src/remote/ssh.cpp:2:", "use sys/print.hpp"),
    ("src/remote/ssh.cpp", "std::fputs(text, stdout);\n", "src/remote/ssh.cpp:1:", "use sys/print.hpp"),
    ("src/remote/ssh.cpp", '\nif (kind == "flux") return;\n', "src/remote/ssh.cpp:2:", 'names the engine "flux"'),
    ("src/remote/ssh.cpp", 'if (kind == "openmpi") return;\n', "src/remote/ssh.cpp:1:", 'names the engine "openmpi"'),
    ("src/remote/ssh.cpp", "if (kind == engines::kOpenMpi) return;\n", "src/remote/ssh.cpp:1:", "names the engine engines::kOpenMpi"),
    ("fuzz/ssh.cpp", '#include "torch/ddp.hpp"\n', "fuzz/ssh.cpp:1:", "the tool side includes torch/ddp.hpp"),
    ("fuzz/training_files.cpp", '#include "hosts/host.hpp"\n', "fuzz/training_files.cpp:1:", "different sides"),
    ("src/magic/a.cpp", "\n", "src/magic:1:", "not in the table"),
    ("src/sys/long.cpp", "\n" * 601, "src/sys/long.cpp:601:", "601 lines, 600 at most"),
    ("src/sys/utils/a.cpp", "\n", "src/sys/utils:1:", "says nothing"),
    ("src/sys/helpers.hpp", "\n", "src/sys/helpers.hpp:1:", "says nothing"),
])
def test_fault_is_named(root, tree, name, text, place, says):
    write(tree, name, text)
    assert_named(check(root, tree), place, says)


def test_a_test_may_include_a_header_beside_it(root, tree):
    write(tree, "tests/hosts/refusal.hpp", "")
    write(tree, "tests/hosts/host_test.cpp", '#include "refusal.hpp"\n')
    assert check(root, tree).returncode == 0


def test_a_fuzz_target_of_the_training_side_may_include_it(root, tree):
    write(tree, "fuzz/training_files.cpp", '#include "base/error.hpp"\n#include "torch/tensor_header.hpp"\n')
    assert check(root, tree).returncode == 0


def test_600_lines_are_allowed(root, tree):
    write(tree, "src/sys/long.cpp", "\n" * 600)
    assert check(root, tree).returncode == 0


def test_cycle_of_modules_is_named(root, tree):
    write(tree, "src/base/other.cpp", '#include "sys/file.hpp"\n')
    assert "modules include each other: base -> sys -> base" in check(root, tree).stdout


def test_cycle_of_files_within_a_module_is_named(root, tree):
    write(tree, "src/hosts/a.hpp", '#include "hosts/b.hpp"\n')
    write(tree, "src/hosts/b.hpp", '#include "hosts/a.hpp"\n')
    ended = check(root, tree)
    assert ended.returncode == 1
    assert "files include each other: src/hosts/a.hpp -> src/hosts/b.hpp -> src/hosts/a.hpp" in ended.stdout


def test_wrong_root_is_no_success(root, tmp_path):
    assert check(root, tmp_path).returncode != 0
