#include "agent/binding.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "agent/assignment.hpp"

namespace muster::agent {
namespace {

TEST(CpuList, is_read_as_the_kernel_writes_it) {
  const auto set = parse_cpu_list("0-1,5,1022-1023");
  ASSERT_TRUE(set) << to_text(set.error());
  EXPECT_EQ(CPU_COUNT(&*set), 5);
  EXPECT_TRUE(CPU_ISSET(5, &*set));
  for (const char* none : {"", ",", "1-", "-1", "3-2", "0-1024", "a", "1,,2", "99999999999"}) {
    EXPECT_FALSE(parse_cpu_list(none)) << none;
  }
}

// Remembers the test process's CPUs and restores them at the end.
class OwnCpus {
 public:
  OwnCpus() { (void)::sched_getaffinity(0, sizeof before_, &before_); }
  ~OwnCpus() { (void)::sched_setaffinity(0, sizeof before_, &before_); }
  OwnCpus(const OwnCpus&) = delete;
  OwnCpus& operator=(const OwnCpus&) = delete;

  [[nodiscard]] int last() const {
    int cpu = CPU_SETSIZE - 1;
    while (!CPU_ISSET(cpu, &before_)) --cpu;
    return cpu;
  }
  [[nodiscard]] int missing() const {
    int cpu = 0;
    while (CPU_ISSET(cpu, &before_)) ++cpu;
    return cpu;
  }
  [[nodiscard]] static std::string now() {
    cpu_set_t set;
    (void)::sched_getaffinity(0, sizeof set, &set);
    std::string text;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) text += fmt::format("{} ", cpu);
    }
    return text;
  }

 private:
  cpu_set_t before_{};
};

facts::Gpu gpu_near(const std::string& cpus) {
  facts::Gpu gpu{.vendor = "NVIDIA", .model = "m", .pci = "0000:1b:00.0"};
  gpu.cpus = cpus;
  return gpu;
}

TEST(Binding, is_to_the_cpus_near_the_ranks_gpu_that_it_may_use) {
  const OwnCpus own;
  const std::vector<facts::Gpu> gpus = {gpu_near(fmt::format("{}", own.missing())),
                                        gpu_near(fmt::format("{},{}", own.last(), own.missing()))};
  EXPECT_EQ(bind_near_gpu(gpus, {}, 1), "");
  EXPECT_EQ(OwnCpus::now(), fmt::format("{} ", own.last()));
}

TEST(Binding, that_is_impossible_is_said_and_left_alone) {
  const OwnCpus own;
  const std::string before = OwnCpus::now();
  const std::vector<facts::Gpu> gpus = {gpu_near(fmt::format("{}", own.missing())), gpu_near(""),
                                        gpu_near("x")};
  const std::pair<int, const char*> cases[] = {{0, "it may use none of the CPUs"},
                                               {1, "the NUMA node of its GPU 0000:1b:00.0 is not"},
                                               {2, "'x' is not a list of CPUs"},
                                               {3, "there is no GPU for it"}};
  for (const auto& [rank, why] : cases) {
    EXPECT_NE(bind_near_gpu(gpus, {}, rank).find(why), std::string::npos) << why;
  }
  EXPECT_EQ(OwnCpus::now(), before);
}

TEST(Binding, travels_to_the_host) {
  Assignment told{.bind_to_gpu = true, .gpus = {gpu_near("0-3")}};
  told.gpus[0].mig_devices = {{"1g.10gb", "MIG-1"}};
  EXPECT_EQ(parse_placement(to_json(told)), told);
}

}  // namespace
}  // namespace muster::agent
