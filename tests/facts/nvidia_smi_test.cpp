#include "facts/nvidia_smi.hpp"

#include <gtest/gtest.h>

#include "facts/pci.hpp"
#include "facts/xids.hpp"

namespace muster::facts {
namespace {

TEST(PciAddress, is_the_same_whoever_writes_it) {
  EXPECT_EQ(pci_address("00000000:18:00.0"), "0000:18:00.0");
  EXPECT_EQ(pci_address("0000:C1:00.0"), "0000:c1:00.0");
  EXPECT_EQ(pci_address("0000000F:01:00.0"), "000f:01:00.0");
  EXPECT_EQ(pci_address("GPU0000:25:00.0: Unknown Error"), "0000:25:00.0");
  EXPECT_EQ(pci_address("GPU 3: 10000:e1:00.0"), "10000:e1:00.0");
  for (const char* none : {"", ":", "18:00.0", "0000:18:00", "0000:1x:00.0", "12:34:56"}) {
    EXPECT_EQ(pci_address(none), "") << none;
  }
}

TEST(NvidiaSmi, refuses_one_field_at_a_time) {
  EXPECT_EQ(refused_field("Field \"fabric.state\" is not a valid field to query.\n\n"),
            "fabric.state");
  EXPECT_EQ(refused_field("0, NVIDIA H100\n"), "");
  EXPECT_EQ(refused_field("\" is not a valid field to query"), "");
  const SmiFields fields = {"index", "clocks_event_reasons.active", "remapped_rows.pending",
                            "remapped_rows.failure"};
  EXPECT_EQ(without_field(fields, "clocks_event_reasons.active")[1],
            "clocks_throttle_reasons.active");
  EXPECT_EQ(without_field(fields, "remapped_rows.pending").size(), 2U);
  EXPECT_EQ(without_field(fields, "other"), fields);
}

TEST(NvidiaSmi, values_that_it_does_not_have_are_unknown) {
  const SmiFields fields = {"index",
                            "pci.bus_id",
                            "memory.used",
                            "remapped_rows.pending",
                            "ecc.errors.uncorrected.volatile.total",
                            "pcie.link.width.current"};
  const auto rows =
      parse_smi_rows(fields,
                     "0, 0000000F:01:00.0, [N/A], [Not Supported], [N/A], [Unknown Error]\n"
                     "WARNING: infoROM is corrupted at gpu 0000:0F:01.0\n"
                     "1, 00000000:25:00.0, 99999999999999999999, Perhaps, -, 4096\n");
  ASSERT_EQ(rows.size(), 2U);
  for (const SmiRow& row : rows) {
    EXPECT_EQ(row.gpu.memory_used_bytes, -1);
    EXPECT_FALSE(row.gpu.remap_pending);
    EXPECT_EQ(row.gpu.ecc_uncorrected, -1);
    EXPECT_EQ(row.gpu.pcie_width, 0);
  }
}

TEST(NvidiaSmi, links_that_are_down) {
  std::vector<Gpu> gpus(2);
  gpus[0].uuid = "GPU-a";
  gpus[1].uuid = "GPU-b";
  take_nvlinks(
      "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-a)\n\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n"
      "GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-c)\n\t Link 0: <inactive>\n",
      gpus);
  EXPECT_EQ(gpus[0].nvlinks_up, 1);
  EXPECT_EQ(gpus[0].nvlinks_down, 1);
  EXPECT_EQ(gpus[1].nvlinks_down, -1);  // unknown, because the output did not mention them
}

TEST(Xids, need_no_time_in_front) {
  const auto xids = parse_xids(
      "[12345.6] NVRM: Xid (PCI:0000:3b:00): 94, pid=1, Contained\nNVRM: Xid (PCI:x): 94\n"
      "NVRM: Xid (PCI:0000:3b:00): many\n",
      0);
  ASSERT_EQ(xids.size(), 1U);
  ASSERT_EQ(xids.at("0000:3b:00.0").size(), 1U);
  EXPECT_EQ(xids.at("0000:3b:00.0")[0].code, 94);
  EXPECT_EQ(xids.at("0000:3b:00.0")[0].seconds_ago, -1);
}

TEST(Xids, tell_how_long_ago_they_were) {
  const auto xids = parse_xids("4,1,60000000,-;NVRM: Xid (PCI:0000:3b:00): 48, x\n", 100);
  EXPECT_EQ(xids.at("0000:3b:00.0")[0].seconds_ago, 40);
}

}  // namespace
}  // namespace muster::facts
