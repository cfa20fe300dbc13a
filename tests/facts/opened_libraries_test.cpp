#include "facts/opened_libraries.hpp"

#include <gtest/gtest.h>

#include "fake_tree.hpp"

namespace muster::facts {
namespace {

using Paths = std::vector<std::string>;

TEST(OpenedLibraries, of_torch_are_its_module_and_what_it_loads_for_all) {
  FakeTree tree;
  const std::string torch = tree.root() + "/torch";
  EXPECT_EQ(opened_by_torch(torch), Paths());
  EXPECT_EQ(opened_by_torch(""), Paths());
  const std::string module = tree.write("torch/_C.cpython-311-x86_64-linux-gnu.so", "");
  tree.write("torch/_Check.so", "");
  EXPECT_EQ(opened_by_torch(torch), Paths{module});
  const std::string global = tree.write("torch/lib/libtorch_global_deps.so", "");
  EXPECT_EQ(opened_by_torch(torch), (Paths{global, module}));
}

TEST(OpenedLibraries, of_an_mpi_are_its_plugins_for_communication) {
  FakeTree tree;
  const std::string real = tree.write("ompi/lib/libmpi.so.40.30.4", "");
  std::filesystem::create_directory(tree.root() + "/lib");
  const std::string link = tree.root() + "/lib/libmpi.so.40";
  std::filesystem::create_symlink(real, link);
  const std::string btl = tree.write("ompi/lib/openmpi/mca_btl_tcp.so", "");
  const std::string pml = tree.write("ompi/lib/openmpi/mca_pml_ucx.so", "");
  tree.write("ompi/lib/openmpi/mca_btl_tcp.la", "");
  tree.write("ompi/lib/openmpi/mca_io_ompio.so", "");
  EXPECT_EQ(plugins_of({{{"libmpi.so.40", link}}}, {}), (Paths{btl, pml}));
  EXPECT_EQ(plugins_of({{{"libother.so.40", link}}}, {}), Paths());
  EXPECT_EQ(plugins_of({{{"libmpi.so.40", tree.root() + "/gone"}}}, {}), Paths());
}

TEST(OpenedLibraries, of_ucx_and_libfabric_lie_below_them) {
  FakeTree tree;
  const std::string ucs = tree.write("lib/libucs.so.0", "");
  const std::string fabric = tree.write("lib/libfabric.so.1", "");
  const std::string ib = tree.write("lib/ucx/libuct_ib.so.0.0.0", "");
  // A link to the same library.
  std::filesystem::create_symlink(ib, tree.root() + "/lib/ucx/libuct_ib.so.0");
  const std::string efa = tree.write("lib/libfabric/libefa-fi.so", "");
  const Paths found = plugins_of({{{"libucs.so.0", ucs}, {"libfabric.so.1", fabric}}}, {});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(std::filesystem::canonical(found[0]), std::filesystem::canonical(ib));
  EXPECT_EQ(found[1], efa);
}

TEST(OpenedLibraries, of_nccl_are_found_by_the_search_path) {
  FakeTree tree;
  const std::string plugin = tree.write("plugins/libnccl-net.so", "");
  const Variables variables = {{"LD_LIBRARY_PATH", "/nowhere:" + tree.root() + "/plugins"}};
  EXPECT_EQ(plugins_of({{{"libtorch_cuda.so", "/t/libtorch_cuda.so"}}}, variables), Paths{plugin});
  EXPECT_EQ(plugins_of({{{"libtorch_cpu.so", "/t/libtorch_cpu.so"}}}, variables), Paths());
}

}  // namespace
}  // namespace muster::facts
