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

// A bare name is looked up in PATH, which does not contain this folder, so the script would not
// start by itself.
TEST(WithInterpreter, ANameInTheFolderNeedsPythonEvenIfItCouldRun) {
  EXPECT_EQ(with_interpreter({"train.py"}, false, {.in_folder = true, .runs_itself = true}),
            (Words{"python3", "train.py"}));
}

TEST(PythonCode, IsTheScriptTheModuleOrTheText) {
  const auto files = [](const Words& program) { return python_code(program).files; };
  EXPECT_EQ(files({"python3", "train.py", "other.py"}), Words{"train.py"});
  EXPECT_EQ(files({"/venv/bin/python", "-u", "-W", "ignore", "train"}), Words{"train"});
  EXPECT_EQ(files({"./train.py"}), Words{"./train.py"});
  EXPECT_EQ(files({"python", "-m", "package.train", "-c"}),
            (Words{"package/train.py", "package/train/__main__.py"}));
  EXPECT_EQ(python_code({"python", "-c", "import torch"}).text, "import torch");
  for (const Words& none : {Words{}, Words{"./train"}, Words{"python"}, Words{"python", "-c"}}) {
    EXPECT_EQ(files(none), Words{});
    EXPECT_EQ(python_code(none).text, "");
  }
}

TEST(MpiWord, IsWhatTheScriptOrItsArgumentsSay) {
  EXPECT_EQ(mpi_word("rank = int(os.environ['OMPI_COMM_WORLD_RANK'])", {}), "OMPI_COMM_WORLD_RANK");
  EXPECT_EQ(mpi_word("os.getenv(\"PMI_RANK\")", {}), "PMI_RANK");
  EXPECT_EQ(mpi_word("dist.init_process_group(\"mpi\")", {}), "\"mpi\"");
  EXPECT_EQ(mpi_word("dist.init_process_group(backend='mpi')", {}), "'mpi'");
  EXPECT_EQ(mpi_word("init_process_group('cpu:mpi,cuda:nccl')", {}), "cpu:mpi");
  EXPECT_EQ(mpi_word("from mpi4py import MPI", {}), "mpi4py");
  EXPECT_EQ(mpi_word("", {"python", "train.py", "--backend", "mpi"}), "mpi");
  EXPECT_EQ(mpi_word("", {"python", "train.py", "--backend=mpi"}), "--backend=mpi");
  EXPECT_EQ(mpi_word("init_process_group('gloo')  # not MPI", {"python", "simpi.py"}), "");
}

}  // namespace
}  // namespace muster::cli
