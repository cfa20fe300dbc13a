#include "facts/torch_build.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "facts/pytorch.hpp"
#include "fake_tree.hpp"

namespace muster::facts {
namespace {

constexpr const char* kForCuda =
    "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version']\n"
    "__version__ = '2.6.0+cu124'\ndebug = False\ncuda: Optional[str] = '12.4'\n"
    "git_version = '2236df1770800ffea5697b11b0bb0d910b2e59e1'\nhip: Optional[str] = None\n";

TEST(TorchBuild, values_of_version_py) {
  EXPECT_EQ(value_in_version_py(kForCuda, "cuda"), "12.4");
  EXPECT_EQ(value_in_version_py(kForCuda, "hip"), "");
  EXPECT_FALSE(value_in_version_py(kForCuda, "xpu"));
  EXPECT_EQ(value_in_version_py("cuda_home = 'x'\ncuda = '11.8'\n", "cuda"), "11.8");
}

TEST(TorchBuild, of_the_torch_that_the_program_imports) {
  FakeTree tree;
  tree.write("site-packages/torch/version.py", kForCuda);
  tree.write("site-packages/nvidia/nccl/include/nccl.h",
             "#ifndef NCCL_H_\n#define NCCL_MAJOR 2\n#define NCCL_MINOR 21\n#define NCCL_PATCH 5\n"
             "#define NCCL_SUFFIX \"\"\n#define NCCL_VERSION_CODE 22105\n");
  tree.write("ofi/libnccl-net-ofi.so", std::string("x\0NET/OFI aws-ofi-nccl 1.13.2-aws\0", 34));
  Facts facts;
  facts.program = Program{.name = "python3"};
  facts.program->torch_folder = tree.root() + "/site-packages/torch";
  read_torch_build({}, facts);
  EXPECT_EQ(facts.torch.cuda, "12.4");
  EXPECT_EQ(facts.torch.uses_gpus, true);
  EXPECT_EQ(facts.torch.nccl, "");  // not searched for on a host without GPUs
  facts.gpus.resize(1);
  read_torch_build({{"LD_LIBRARY_PATH", tree.root() + "/ofi"}}, facts);
  EXPECT_EQ(facts.torch.nccl, "2.21.5");
  EXPECT_EQ(facts.torch.ofi_plugin, "1.13.2");
}

TEST(TorchBuild, nccl_may_tell_only_in_its_library) {
  FakeTree tree;
  tree.write("torch/version.py", kForCuda);
  tree.write("torch/lib/libnccl.so.2",
             std::string("\x7f"
                         "ELF\0NCCL version %d\0NCCL version 2.20.5+cuda12.4\0",
                         51));
  Facts facts;
  facts.gpus.resize(1);
  facts.program = Program{.torch_folder = tree.root() + "/torch"};
  read_torch_build({}, facts);
  EXPECT_EQ(facts.torch.nccl, "2.20.5");
}

TEST(TorchBuild, without_gpus) {
  FakeTree tree;
  tree.write("torch/version.py", "__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\n");
  Facts facts;
  facts.program = Program{.torch_folder = tree.root() + "/torch"};
  read_torch_build({}, facts);
  EXPECT_EQ(facts.torch.uses_gpus, false);
  Facts nothing;
  read_torch_build({}, nothing);
  EXPECT_FALSE(nothing.torch.uses_gpus);
}

TEST(TorchBuild, backends_of_oneccl_where_they_are_installed) {
  FakeTree tree;
  const auto backends = [&] {
    Facts facts;
    facts.program =
        Program{.torch = "2.8.0+xpu", .torch_folder = tree.root() + "/site-packages/torch"};
    read_torch_build({}, facts);
    return fmt::format("{}", fmt::join(facts.torch.backends, ","));
  };
  tree.write("site-packages/torch/version.py",
             "__version__ = '2.8.0+xpu'\ncuda: Optional[str] = None\nhip = None\n"
             "xpu: Optional[str] = '20250101'\n");
  EXPECT_EQ(backends(), "");
  tree.write("site-packages/torch/include/torch/csrc/distributed/c10d/ProcessGroupXCCL.hpp", "");
  EXPECT_EQ(backends(), "xccl");
  tree.write("site-packages/oneccl_bindings_for_pytorch/__init__.py", "");
  EXPECT_EQ(backends(), "ccl,xccl");
}

}  // namespace
}  // namespace muster::facts
