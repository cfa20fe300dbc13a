#include "facts/cpu.hpp"

#include <gtest/gtest.h>

#include "fake_tree.hpp"

namespace muster::facts {
namespace {

TEST(Cpuinfo, of_x86) {
  Cpu cpu;
  read_cpuinfo(
      "processor\t: 0\nmodel name\t: Xeon @ 2.50GHz\n"
      "flags\t\t: fpu sse4_2 avx2 avx512f avx512_vnni amx_tile mmx fma\nprocessor : 1\n"
      "model name : other\nflags : avx\n",
      cpu);
  EXPECT_EQ(cpu.model, "Xeon @ 2.50GHz");
  EXPECT_EQ(cpu.isa, (std::vector<std::string>{"amx_tile", "avx2", "avx512_vnni", "avx512f", "fma",
                                               "sse4_2"}));
}

TEST(Cpuinfo, of_arm) {
  Cpu cpu;
  read_cpuinfo("processor : 0\nFeatures : fp asimd sve crc32 bf16\n", cpu);
  EXPECT_EQ(cpu.isa, (std::vector<std::string>{"asimd", "bf16", "fp", "sve"}));
}

TEST(Cores, threads_of_one_core_count_once) {
  FakeTree tree;
  for (const auto& [cpu, threads] :
       {std::pair{"cpu0", "0,2"}, {"cpu1", "1,3"}, {"cpu2", "0,2"}, {"cpu3", "1,3"}}) {
    tree.write(std::string("cpu/") + cpu + "/topology/thread_siblings_list", threads);
  }
  tree.write("cpu/cpufreq/topology/thread_siblings_list", "9");
  tree.write("node/node0/x", "");
  tree.write("node/node1/x", "");
  tree.write("node/has_cpu", "");
  EXPECT_EQ(count_cores(tree.root()), 2);
  EXPECT_EQ(count_numa_nodes(tree.root()), 2);
}

TEST(Cores, where_nothing_is_shown) {
  EXPECT_EQ(count_cores("/no/such"), 0);
  EXPECT_EQ(count_numa_nodes("/no/such"), 1);
}

TEST(Quota, is_the_smallest_of_the_levels) {
  FakeTree tree;
  tree.write("a/cpu.max", "150000 100000\n");
  tree.write("a/b/cpu.max", "max 100000\n");
  tree.write("a/b/c/cpu.max", "400000 100000\n");
  EXPECT_EQ(read_cpu_quota("0::/a/b/c\n", tree.root()), 1.5);
  EXPECT_EQ(read_cpu_quota("0::/other\n", tree.root()), std::nullopt);
}

TEST(Quota, of_version_1) {
  FakeTree tree;
  tree.write("cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n");
  tree.write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  tree.write("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  tree.write("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read_cpu_quota("9:cpuset:/job\n4:cpu,cpuacct:/job\n0::/\n", tree.root()), 2.5);
}

TEST(Quota, of_a_container_that_sees_its_host_s_path) {
  FakeTree tree;
  tree.write("cpu/cpu.cfs_quota_us", "50000\n");
  tree.write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read_cpu_quota("1:cpu:/docker/0123\n", tree.root()), 0.5);
}

TEST(Quota, nonsense_is_none) {
  FakeTree tree;
  tree.write("cpu.max", "100000 0\n");
  for (const std::string text : {"", ":", "0::", "0::/", "0::relative", "x"}) {
    EXPECT_EQ(read_cpu_quota(text, tree.root()), std::nullopt) << text;
  }
}

TEST(Cpu, of_this_machine_is_plausible) {
  const Cpu cpu = read_cpu();
  EXPECT_FALSE(cpu.architecture.empty());
  EXPECT_GE(cpu.cores, 1);
  EXPECT_GE(cpu.usable, 1);
  EXPECT_GE(cpu.numa_nodes, 1);
}

}  // namespace
}  // namespace muster::facts
