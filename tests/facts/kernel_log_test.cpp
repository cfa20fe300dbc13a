#include "facts/kernel_log.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "fake_tree.hpp"

namespace muster::facts {
namespace {

using Lines = std::vector<std::string>;

TEST(KernelLog, TellsOnlyWhatMayEndAProgram) {
  EXPECT_EQ(
      telling_kernel_lines("3,10,99,-;Out of memory: Killed process 5 (python3)\n"
                           " SUBSYSTEM=Out of memory\n"
                           "6,11,99,-;usb 1-1: new device\n"
                           "4,12,99,-;NVRM: Xid (PCI:0000:18:00): 79, pid=5\n"
                           "not a record: Out of memory\n"
                           "4,13,99,-;mlx5_core 0000:18:00.0 eth0: Link is Down\x1b[2J\n"),
      (Lines{"Out of memory: Killed process 5 (python3)", "NVRM: Xid (PCI:0000:18:00): 79, pid=5",
             "mlx5_core 0000:18:00.0 eth0: Link is Down?[2J"}));
}

TEST(KernelLog, IsBounded) {
  std::string records;
  for (int i = 0; i < 1000; ++i) {
    records += "3,1,1,-;I/O error " + std::to_string(i) + std::string(1000, 'x') + "\n";
  }
  const Lines lines = telling_kernel_lines(records);
  ASSERT_EQ(lines.size(), kMostKernelLines);
  EXPECT_EQ(lines.front().find("I/O error 0"), 0U);
  EXPECT_EQ(lines.back().find("I/O error 999"), 0U);
  EXPECT_EQ(lines.back().size(), kLongestKernelLine);
}

TEST(KernelLog, OfAWatchBeginsWhenTheWatchDoes) {
  FakeTree tree;
  tree.write("kmsg", "3,1,1,-;Out of memory: before\n");
  KernelWatch watch(tree.root() + "/kmsg");
  EXPECT_EQ(watch.new_telling_lines(), Lines{});
  std::ofstream(tree.root() + "/kmsg", std::ios::app) << "3,2,2,-;Out of memory: now\n";
  EXPECT_EQ(watch.new_telling_lines(), Lines{"Out of memory: now"});
  EXPECT_EQ(KernelWatch("/nowhere/kmsg").new_telling_lines(), Lines{});
}

}  // namespace
}  // namespace muster::facts
