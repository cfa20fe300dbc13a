#include "layout/python.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace muster::layout {
namespace {

using Words = std::vector<std::string>;

std::optional<PythonCode> script(std::string word) {
  return PythonCode{.word = std::move(word)};
}

std::optional<PythonCode> module(std::string word) {
  return PythonCode{.word = std::move(word), .is_module = true};
}

TEST(PythonCode, IsAfterTheInterpretersOptions) {
  const struct {
    Words program;
    std::optional<PythonCode> code;
  } cases[] = {
      {{"python3", "train.py", "--epochs", "3"}, script("train.py")},
      {{"/opt/venv/bin/python", "-u", "a/train.py"}, script("a/train.py")},
      {{"python3.11", "-uBW", "ignore", "-X", "dev", "-Xutf8", "train.py"}, script("train.py")},
      {{"python3", "--check-hash-based-pycs", "never", "train.py"}, script("train.py")},
      {{"python3", "--", "-odd.py"}, script("-odd.py")},
      {{"python3", "-m", "package.train", "x.py"}, module("package.train")},
      {{"python3", "-umpackage.train", "x.py"}, module("package.train")},
      {{"./train.py", "x.py"}, script("./train.py")},
  };
  for (const auto& one : cases) EXPECT_EQ(python_code(one.program), one.code) << one.program.back();
}

TEST(PythonCode, IsNotAlwaysInAFile) {
  const Words cases[] = {{},
                         {"python3"},
                         {"python3", "-c", "import torch", "x.py"},
                         {"python3", "-uc", "import torch", "x.py"},
                         {"python3", "-", "x.py"},
                         {"python3", "-m"},
                         {"python3", "-W"},
                         {"python3", "--version"},
                         {"python3-config", "x.py"},
                         {"train.py"},  // looked up in PATH
                         {"bash", "train.py"},
                         {"./train", "x.py"}};
  for (const Words& one : cases) EXPECT_FALSE(python_code(one)) << (one.empty() ? "" : one.back());
}

}  // namespace
}  // namespace muster::layout
