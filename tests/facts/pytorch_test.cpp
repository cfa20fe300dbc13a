#include "facts/pytorch.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "facts/program.hpp"
#include "fake_tree.hpp"

namespace muster::facts {
namespace {

TEST(Torch, version_is_the_one_that_version_py_sets) {
  EXPECT_EQ(torch_version("from x import y\n__version__ = '2.13.0+cpu'\ndebug = False\n"),
            "2.13.0+cpu");
  EXPECT_EQ(torch_version("__version__: str = \"2.5\"\n"), "2.5");
  EXPECT_EQ(torch_version("__version__ = broken\n"), "");
}

std::string fake_torch(FakeTree& tree, const std::string& folder, const std::string& version) {
  tree.write(folder + "/torch/__init__.py", "raise SystemExit(9)\n");  // must never be imported
  tree.write(folder + "/torch/version.py", "__version__ = '" + version + "'\n");
  return tree.root() + "/" + folder;
}

TEST(Torch, is_found_where_python_finds_it) {
  FakeTree tree;
  const Variables variables = {{"PATH", "/usr/bin:/bin"},
                               {"PYTHONPATH", fake_torch(tree, "packages", "9.1")}};
  std::vector<NotSeen> not_seen;
  EXPECT_EQ(read_program("python3", tree.root(), variables, kDeadline, not_seen).program.torch,
            "9.1");
  tree.write("train.py", "#!/usr/bin/env python3\n", 0755);
  EXPECT_EQ(read_program("./train.py", tree.root(), variables, kDeadline, not_seen).program.torch,
            "9.1");
  tree.write("train", "#!/bin/sh\n", 0755);
  EXPECT_EQ(read_program("./train", tree.root(), variables, kDeadline, not_seen).program.torch, "");
  EXPECT_TRUE(not_seen.empty());
}

// A Python with its own package folder, as in a virtual environment.
TEST(Torch, is_found_through_a_pth_file) {
  FakeTree tree;
  const std::string elsewhere = fake_torch(tree, "elsewhere", "9.2");
  tree.write("venv/pyvenv.cfg", "home = /usr/bin\n");
  std::filesystem::create_directory(tree.root() + "/venv/bin");
  const std::string python = tree.root() + "/venv/bin/python3";
  std::filesystem::create_symlink("/usr/bin/python3", python);
  const std::string real = std::filesystem::canonical(python).filename();  // "python3.11"
  tree.write("venv/lib/" + real + "/site-packages/other.pth", elsewhere + "\n");
  const auto answer = ask_python(python, {}, kDeadline);
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_EQ(torch_version_in(answer->torch_folder), "9.2");
  EXPECT_EQ(real, "python" + answer->version.substr(0, answer->version.rfind('.')));
  EXPECT_EQ(answer->executable, python);
  EXPECT_NE(std::find(answer->sys_path.begin(), answer->sys_path.end(), elsewhere),
            answer->sys_path.end());
}

// muster's own environment still has variables that the login set and the activation unset. The
// Python that muster asks must not get them.
TEST(Torch, is_not_found_through_variables_that_activation_unset) {
  FakeTree tree;
  const std::string packages = fake_torch(tree, "packages", "9.3");
  ASSERT_EQ(::setenv("PYTHONPATH", packages.c_str(), 1), 0);  // NOLINT(concurrency-mt-unsafe)
  ASSERT_EQ(::setenv("PYTHONHOME", "/none", 1), 0);           // NOLINT(concurrency-mt-unsafe)
  const auto answer = ask_python("python3", {{"PATH", "/usr/bin:/bin"}}, kDeadline);
  ::unsetenv("PYTHONPATH");  // NOLINT(concurrency-mt-unsafe)
  ::unsetenv("PYTHONHOME");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_NE(torch_version_in(answer->torch_folder), "9.3");
}

TEST(Torch, that_could_not_be_asked_for_is_not_taken_for_none) {
  FakeTree tree;
  tree.write("bin/python3", "#!/bin/sh\nexit 3\n", 0755);
  std::vector<NotSeen> not_seen;
  const Variables variables = {{"PATH", tree.root() + "/bin"}};
  EXPECT_EQ(read_program("python3", tree.root(), variables, kDeadline, not_seen).program.torch, "");
  ASSERT_EQ(not_seen.size(), 1U);
  EXPECT_EQ(not_seen[0].what, "program.torch");
  EXPECT_NE(not_seen[0].why.find("exit code 3"), std::string::npos) << not_seen[0].why;
}

}  // namespace
}  // namespace muster::facts
