#include "cli/python_program.hpp"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

using Words = std::vector<std::string>;

TEST(WithInterpreter, StartsScriptsAndModulesWithPython) {
  EXPECT_EQ(with_interpreter({"train.py", "--epochs", "3"}, false, {.in_folder = true}),
            (Words{"python3", "train.py", "--epochs", "3"}));
  EXPECT_EQ(with_interpreter({"/job/train.py"}, false, {.in_folder = true}),
            (Words{"python3", "/job/train.py"}));
  EXPECT_EQ(with_interpreter({"train.py"}, false, {}), (Words{"python3", "train.py"}));
  EXPECT_EQ(with_interpreter({"package.train", "-x"}, true, {}),
            (Words{"python3", "-m", "package.train", "-x"}));
}

TEST(WithInterpreter, LeavesTheRestAlone) {
  EXPECT_EQ(with_interpreter({}, true, {}), Words{});
  EXPECT_EQ(with_interpreter({"./train"}, false, {.in_folder = true}), Words{"./train"});
  EXPECT_EQ(with_interpreter({"python", "train.py"}, false, {}), (Words{"python", "train.py"}));
  EXPECT_EQ(with_interpreter({"./train.py"}, false, {.in_folder = true, .runs_itself = true}),
            Words{"./train.py"});
  EXPECT_EQ(with_interpreter({"tool.py"}, false, {.in_path = true}), Words{"tool.py"});
}

// PATH does not find it, so that it would not start by itself.
TEST(WithInterpreter, ANameInTheFolderNeedsPythonEvenIfItCouldRun) {
  EXPECT_EQ(with_interpreter({"train.py"}, false, {.in_folder = true, .runs_itself = true}),
            (Words{"python3", "train.py"}));
}

}  // namespace
}  // namespace muster::cli
