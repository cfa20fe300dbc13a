#include "facts/gpus.hpp"

#include <gtest/gtest.h>

#include "fake_gpus.hpp"

namespace muster::facts {
namespace {

std::string calls_of(const FakeGpuHost& host) {
  std::ifstream file(host.tree.root() + "/answers/calls");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string not_seen_text(const GpuReport& report) {
  std::string text;
  for (const NotSeen& one : report.not_seen) text += one.what + ": " + one.why + "\n";
  return text;
}

TEST(Gpus, a_host_without_any_starts_no_tool) {
  FakeGpuHost host;
  host.tree.write("sys/bus/pci/devices/0000:00:02.0/vendor", "0x8086\n");
  host.tree.write("sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n");
  host.tree.write("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");  // a node of CPUs
  host.write_tool();
  const GpuReport report = host.read();
  EXPECT_TRUE(report.gpus.empty());
  EXPECT_EQ(not_seen_text(report), "");
  EXPECT_EQ(calls_of(host), "");
}

TEST(Gpus, of_an_h100_host) {
  FakeGpuHost host;
  make_h100_host(host);
  host.apps = "00000000:43:00.0, 4242, 532\n";
  const GpuReport report = host.read();
  EXPECT_EQ(not_seen_text(report), "");
  ASSERT_EQ(report.gpus.size(), 8U);
  const Gpu& gpu = report.gpus[5];
  EXPECT_EQ(gpu.index, 5);
  EXPECT_EQ(gpu.vendor, "NVIDIA");
  EXPECT_EQ(gpu.model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpu.pci, "0000:c3:00.0");
  EXPECT_EQ(gpu.uuid, uuid_of(5));
  EXPECT_EQ(gpu.problem, "");
  EXPECT_EQ(gpu.numa_node, 1);
  EXPECT_EQ(gpu.cpus, "56-111,168-223");
  EXPECT_EQ(gpu.memory_bytes, std::int64_t{81559} << 20);
  EXPECT_EQ(gpu.memory_used_bytes, std::int64_t{4} << 20);
  EXPECT_EQ(gpu.pcie_width, 16);
  EXPECT_EQ(gpu.pcie_width_max, 16);
  EXPECT_EQ(gpu.pcie_gen_max, 5);
  EXPECT_EQ(gpu.ecc_uncorrected, 0);
  EXPECT_EQ(gpu.remap_pending, false);
  EXPECT_EQ(gpu.remap_failed, false);
  EXPECT_FALSE(gpu.retired_pages_pending);  // pages of another GPU are pending
  EXPECT_TRUE(gpu.throttled_by.empty());    // being idle is not reported as a reason
  EXPECT_EQ(gpu.mig, false);
  EXPECT_EQ(gpu.persistence, true);
  EXPECT_EQ(gpu.compute_mode, "Default");
  EXPECT_EQ(gpu.fabric_state, "Completed");
  EXPECT_EQ(gpu.nvlinks_up, 18);
  EXPECT_EQ(gpu.nvlinks_down, 0);
  EXPECT_EQ(report.drivers.nvidia, "535.129.03");
  EXPECT_EQ(report.drivers.cuda, "12.2");
  EXPECT_EQ(report.drivers.nvswitches, 4);
  EXPECT_EQ(report.drivers.fabric_manager, true);
  ASSERT_EQ(report.gpus[1].processes.size(), 1U);
  EXPECT_EQ(report.gpus[1].processes[0].pid, 4242);
  EXPECT_EQ(report.gpus[1].processes[0].command, "nv-fabricmanage");
  EXPECT_EQ(report.gpus[1].processes[0].user, "root");
  EXPECT_EQ(report.gpus[1].processes[0].memory_bytes, std::int64_t{532} << 20);
}

// Driver 470: fields that it does not know are requested in the older form, or not at all.
TEST(Gpus, of_an_older_driver) {
  FakeGpuHost host;
  make_h100_host(host);
  host.refused = {"remapped_rows.pending", "remapped_rows.failure", "clocks_event_reasons.active",
                  "fabric.state"};
  host.cell(2, "clocks_event_reasons.active") = "0x0000000000000048";
  host.remaps = "00000000:43:00.0, Yes, No\n00000000:52:00.0, 0, 1\n";
  const GpuReport report = host.read();
  EXPECT_EQ(not_seen_text(report), "");
  ASSERT_EQ(report.gpus.size(), 8U);
  EXPECT_EQ(report.gpus[1].remap_pending, true);
  EXPECT_EQ(report.gpus[1].remap_failed, false);
  EXPECT_EQ(report.gpus[2].remap_failed, true);
  EXPECT_EQ(report.gpus[2].throttled_by,
            (std::vector<std::string>{"hw_slowdown", "hw_thermal_slowdown"}));
  EXPECT_EQ(report.gpus[2].fabric_state, "");
}

TEST(Gpus, mig_devices_belong_to_their_gpu) {
  FakeGpuHost host;
  make_h100_host(host);
  host.cell(0, "mig.mode.current") = "Enabled";
  host.listed = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: " + uuid_of(0) +
                ")\n"
                "  MIG 1g.10gb     Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)\n"
                "  MIG 1g.10gb     Device  1: (UUID: MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb)\n"
                "GPU 1: NVIDIA H100 80GB HBM3 (UUID: " +
                uuid_of(1) + ")\n";
  const GpuReport report = host.read();
  EXPECT_EQ(report.gpus[0].mig, true);
  ASSERT_EQ(report.gpus[0].mig_devices.size(), 2U);
  EXPECT_EQ(report.gpus[0].mig_devices[1].profile, "1g.10gb");
  EXPECT_EQ(report.gpus[0].mig_devices[1].uuid, "MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb");
  EXPECT_TRUE(report.gpus[1].mig_devices.empty());
}

TEST(Gpus, mig_devices_that_cannot_be_read_are_not_passed_over) {
  FakeGpuHost host;
  make_h100_host(host);
  host.cell(0, "mig.mode.current") = "Enabled";
  host.listed_code = 9;
  EXPECT_EQ(not_seen_text(host.read()), "gpus.mig_devices: nvidia-smi failed with exit code 9\n");
}

TEST(Gpus, one_in_a_narrow_slot_has_the_lanes_of_the_slot) {
  FakeGpuHost host;
  make_h100_host(host);
  host.cell(1, "pcie.link.width.current") = "8";
  host.tree.write(host.folder(1) + "/max_link_width", "8\n");
  EXPECT_EQ(host.read().gpus.at(1).pcie_width_max, 8);
}

TEST(Gpus, one_that_the_driver_has_not_looked_at_has_no_uuid) {
  FakeGpuHost host;
  make_h100_host(host);
  host.has_tool = false;
  host.tree.write(
      "proc/driver/nvidia/gpus/" + host.pci(0) + "/information",
      "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-" + std::string(36, '?') + "\n");
  EXPECT_EQ(host.read().gpus.at(0).uuid, "");
}

TEST(Gpus, one_that_fell_off_the_bus_is_named_and_the_others_count_on) {
  FakeGpuHost host;
  make_h100_host(host);
  host.rows.erase(host.rows.begin() + 3);
  host.said = "Unable to determine the device handle for GPU3: 0000:61:00.0: Unknown Error\n";
  const GpuReport report = host.read();
  ASSERT_EQ(report.gpus.size(), 8U);
  EXPECT_EQ(report.gpus[3].pci, "0000:61:00.0");
  EXPECT_EQ(report.gpus[3].problem, "nvidia-smi: Unknown Error");
  EXPECT_EQ(report.gpus[3].index, -1);
  EXPECT_EQ(report.gpus[4].index, 3);
  EXPECT_EQ(report.gpus[4].problem, "");
}

TEST(Gpus, one_that_nvidia_smi_leaves_out_is_lost_unless_it_is_withheld) {
  FakeGpuHost host;
  make_h100_host(host);
  host.rows.erase(host.rows.begin() + 1, host.rows.end());
  EXPECT_NE(host.read().gpus.at(1).problem.find("nvidia-smi does not list it"), std::string::npos);
  host.tree.write("dev/nvidia0", "");  // a container that has only this device
  const GpuReport report = host.read();
  ASSERT_EQ(report.gpus.size(), 1U);
  EXPECT_EQ(report.gpus[0].problem, "");
}

TEST(Gpus, of_a_container_or_slurm_step_without_any) {
  FakeGpuHost host;
  make_h100_host(host);
  host.has_tool = false;
  GpuSources sources = host.sources();
  sources.in_container = true;  // a container sees the driver's files even without devices
  EXPECT_TRUE(read_gpus(sources).gpus.empty());
  FakeGpuHost step;
  make_h100_host(step);
  for (int minor = 0; minor < 8; ++minor) step.tree.write(fmt::format("dev/nvidia{}", minor), "");
  step.rows = {{"No devices were found"}};
  step.code = 6;
  const GpuReport report = step.read();
  EXPECT_EQ(not_seen_text(report), "");
  for (const Gpu& gpu : report.gpus) EXPECT_NE(gpu.problem, "");
}

TEST(Gpus, one_without_a_driver_is_named_but_not_one_of_a_virtual_machine) {
  FakeGpuHost host;
  make_h100_host(host);
  for (const char* bus : {"0000:e1:00.0", "0000:e2:00.0"}) {
    host.tree.write(fmt::format("sys/bus/pci/devices/{}/vendor", bus), "0x10de\n");
    host.tree.write(fmt::format("sys/bus/pci/devices/{}/class", bus), "0x030000\n");
  }
  host.tree.write("sys/bus/pci/drivers/vfio-pci/bind", "");
  std::filesystem::create_symlink("../../drivers/vfio-pci",
                                  host.tree.root() + "/sys/bus/pci/devices/0000:e2:00.0/driver");
  const GpuReport report = host.read();
  ASSERT_EQ(report.gpus.size(), 9U);
  EXPECT_EQ(report.gpus[8].pci, "0000:e1:00.0");
  EXPECT_NE(report.gpus[8].problem.find("the NVIDIA driver does not have it"), std::string::npos);
}

TEST(Gpus, what_nvidia_smi_says_when_it_fails_is_passed_on) {
  FakeGpuHost host;
  make_h100_host(host);
  host.rows = {{"Failed to initialize NVML: Driver/library version mismatch"}};
  host.code = 18;
  const GpuReport report = host.read();
  EXPECT_EQ(report.gpus.size(), 8U);  // as listed in the driver's files
  EXPECT_EQ(report.gpus[0].problem, "");
  EXPECT_EQ(report.gpus[0].numa_node, 0);
  EXPECT_EQ(not_seen_text(report),
            "gpus.nvidia-smi: nvidia-smi failed with exit code 18: Failed to initialize NVML: "
            "Driver/library version mismatch\n");
}

TEST(Gpus, a_tool_that_hangs_costs_its_deadline) {
  FakeGpuHost host;
  make_h100_host(host);
  host.has_tool = false;
  host.tree.write("bin/nvidia-smi", "#!/bin/sh\ntrap '' TERM\nexec sleep 1000\n", 0755);
  GpuSources sources = host.sources();
  sources.deadline = std::chrono::milliseconds(200);
  const GpuReport report = read_gpus(sources);
  EXPECT_EQ(report.gpus.size(), 8U);
  EXPECT_EQ(not_seen_text(report), "gpus.nvidia-smi: nvidia-smi gave no answer within 0.2 s\n");
}

TEST(Gpus, without_the_tool_the_files_must_do) {
  FakeGpuHost host;
  make_h100_host(host);
  host.has_tool = false;
  host.tree.write(host.folder(1) + "/current_link_width", "8\n");
  const GpuReport report = host.read();
  ASSERT_EQ(report.gpus.size(), 8U);
  EXPECT_EQ(report.gpus[1].pcie_width, 8);
  EXPECT_EQ(report.gpus[1].pcie_width_max, 16);
  EXPECT_EQ(report.gpus[1].uuid, uuid_of(1));
  EXPECT_EQ(not_seen_text(report), "gpus.nvidia-smi: nvidia-smi is not installed\n");
}

TEST(Gpus, errors_in_the_kernels_log_belong_to_their_gpu) {
  FakeGpuHost host;
  make_h100_host(host);
  host.tree.write("dev/kmsg",
                  "4,1234,5678901,-;NVRM: Xid (PCI:0000:52:00): 79, pid='<unknown>', "
                  "name=<unknown>, GPU has fallen off the bus.\n"
                  "4,1235,5678999,-;NVRM: Xid (PCI:0000:52:00): 79, pid='<unknown>'\n"
                  "6,1236,5679000,-;usb 1-1: new device\n"
                  "4,1237,5679001,-;NVRM: Xid (PCI:0000:d1:00): 63, pid=1, Row Remapper\n");
  const GpuReport report = host.read();
  ASSERT_EQ(report.gpus[2].xids.size(), 1U);
  EXPECT_EQ(report.gpus[2].xids[0].code, 79);
  EXPECT_EQ(report.gpus[2].xids[0].count, 2);
  EXPECT_GE(report.gpus[2].xids[0].seconds_ago, 0);
  ASSERT_EQ(report.gpus[6].xids.size(), 1U);
  EXPECT_EQ(report.gpus[6].xids[0].code, 63);
}

TEST(Gpus, the_fabric_manager_cannot_be_seen_from_a_container_or_with_hidepid) {
  FakeGpuHost host;
  make_h100_host(host);
  std::filesystem::remove_all(host.tree.root() + "/proc/4242");
  // No process of root is visible because of hidepid.
  EXPECT_FALSE(host.read().drivers.fabric_manager);
  host.tree.write("proc/1/comm", "systemd\n");
  EXPECT_EQ(host.read().drivers.fabric_manager, false);
  GpuSources sources = host.sources();
  sources.in_container = true;
  EXPECT_FALSE(read_gpus(sources).drivers.fabric_manager);
}

void add_mi300x(FakeGpuHost& host, std::size_t gpu) {
  host.add_pci(gpu, "0x1002", "0x120000");
  const std::string node = fmt::format("sys/class/kfd/kfd/topology/nodes/{}", gpu + 2);
  const int bus = std::stoi(kBuses.at(gpu), nullptr, 16);
  host.tree.write(node + "/gpu_id", fmt::format("{}\n", 28851 + gpu));
  host.tree.write(node + "/name", "ip discovery\n");
  host.tree.write(
      node + "/properties",
      fmt::format("cpu_cores_count 0\nsimd_count 1216\nvendor_id 4098\ndevice_id 29857\n"
                  "location_id {}\ndomain 0\ngfx_target_version 90402\nunique_id {}\n",
                  bus << 8, 0x6f1f0a2b3c4d5e60 + gpu));
  host.tree.write(node + "/mem_banks/0/properties",
                  "heap_type 1\nsize_in_bytes 206141652992\nflags 0\n");
}

std::string amd_smi_script(const FakeGpuHost& host, std::size_t gpus) {
  std::string statics, metrics, processes;
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    const char* comma = gpu == 0 ? "" : ",";
    statics += fmt::format(
        R"({}{{"gpu":{},"asic":{{"market_name":"AMD Instinct MI300X","vendor_id":"0x1002",)"
        R"("device_id":"0x74a1","asic_serial":"0x6F1F0A2B3C4D5E60","target_graphics_version":"gfx942"}},)"
        R"("bus":{{"bdf":"0000:{}:00.0","max_pcie_width":16,"max_pcie_speed":{{"value":32,"unit":"GT/s"}},)"
        R"("pcie_interface_version":"Gen 5","slot_type":"OAM"}},"driver":{{"name":"amdgpu","version":"6.8.5"}},)"
        R"("vram":{{"type":"HBM3","size":{{"value":196592,"unit":"MB"}}}},"numa":{{"node":{},"affinity":0}}}})",
        comma, gpu, kBuses.at(gpu), gpu < 4 ? 0 : 1);
    metrics += fmt::format(
        R"({}{{"gpu":{},"mem_usage":{{"total_vram":{{"value":196592,"unit":"MB"}},)"
        R"("used_vram":{{"value":283,"unit":"MB"}}}},"pcie":{{"width":16,"speed":{{"value":32,"unit":"GT/s"}}}},)"
        R"("ecc":{{"total_correctable_count":0,"total_uncorrectable_count":{},"total_deferred_count":0}},)"
        R"("throttle":{{"prochot_violation_status":"NOT ACTIVE","socket_thermal_violation_status":"{}",)"
        R"("hbm_thermal_violation_status":"N/A"}}}})",
        comma, gpu, gpu == 2 ? 3 : 0, gpu == 3 ? "ACTIVE" : "NOT ACTIVE");
    processes +=
        gpu == 1
            ? R"(,{"gpu":1,"process_list":[{"process_info":{"name":"python3","pid":4242,)"
              R"("memory_usage":{"gtt_mem":{"value":0,"unit":"B"},"vram_mem":{"value":1048576,"unit":"B"}}}}]})"
            : fmt::format(
                  R"({}{{"gpu":{},"process_list":[{{"process_info":"No running processes detected"}}]}})",
                  comma, gpu);
  }
  (void)host;
  return fmt::format(
      "#!/bin/sh\ncase \"$1\" in\nstatic) echo '{{\"gpu_data\":[{}]}}' ;;\nmetric) echo '[{}]' ;;\n"
      "process) echo '[{}]' ;;\nesac\n",
      statics, metrics, processes);
}

TEST(Gpus, of_an_mi300x_host) {
  FakeGpuHost host;
  host.tree.write("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
  for (std::size_t gpu = 0; gpu < kBuses.size(); ++gpu) add_mi300x(host, gpu);
  host.tree.write("opt/rocm/.info/version", "6.2.4-120\n");
  host.tree.write("bin/amd-smi", amd_smi_script(host, kBuses.size()), 0755);
  const GpuReport report = host.read();
  EXPECT_EQ(not_seen_text(report), "");
  ASSERT_EQ(report.gpus.size(), 8U);
  const Gpu& gpu = report.gpus[7];
  EXPECT_EQ(gpu.index, 7);
  EXPECT_EQ(gpu.vendor, "AMD");
  EXPECT_EQ(gpu.model, "AMD Instinct MI300X");
  EXPECT_EQ(gpu.pci, "0000:df:00.0");
  EXPECT_EQ(gpu.uuid, "GPU-6f1f0a2b3c4d5e67");
  EXPECT_EQ(gpu.numa_node, 1);
  EXPECT_EQ(gpu.cpus, "56-111,168-223");
  EXPECT_EQ(gpu.memory_bytes, std::int64_t{196592} << 20);
  EXPECT_EQ(gpu.memory_used_bytes, std::int64_t{283} << 20);
  EXPECT_EQ(gpu.pcie_width, 16);
  EXPECT_EQ(gpu.ecc_uncorrected, 0);
  EXPECT_EQ(report.gpus[2].ecc_uncorrected, 3);
  EXPECT_EQ(report.gpus[3].throttled_by, std::vector<std::string>{"socket_thermal"});
  ASSERT_EQ(report.gpus[1].processes.size(), 1U);
  EXPECT_EQ(report.gpus[1].processes[0].memory_bytes, 1048576);
  EXPECT_EQ(report.drivers.amd, "6.8.5");
  EXPECT_EQ(report.drivers.rocm, "6.2.4-120");
}

TEST(Gpus, of_an_mi300x_host_without_amd_smi) {
  FakeGpuHost host;
  for (std::size_t gpu = 0; gpu < 2; ++gpu) add_mi300x(host, gpu);
  const GpuReport report = host.read();
  ASSERT_EQ(report.gpus.size(), 2U);
  EXPECT_EQ(report.gpus[0].model, "AMD gfx942");
  EXPECT_EQ(report.gpus[0].memory_bytes, 206141652992);
  EXPECT_EQ(not_seen_text(report), "gpus.amd-smi: amd-smi is not installed\n");
}

TEST(Gpus, driver_versions) {
  EXPECT_EQ(nvidia_driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
                                  "570.86.10  Release Build  (dvs-builder@U16)\nGCC 12.2.0\n"),
            "570.86.10");
  EXPECT_EQ(nvidia_driver_version(""), "");
  EXPECT_EQ(cuda_of_driver("570.86.10"), "12.8");
  EXPECT_EQ(cuda_of_driver("540.4.0"), "12.2");
  EXPECT_EQ(cuda_of_driver("390.48"), "");
}

TEST(Gpus, IntelsCardsAreThoseOfDrmWithADeviceFile) {
  FakeTree tree;
  const auto add = [&](const std::string& name, const std::string& address, const char* vendor) {
    const std::string device = "sys/bus/pci/devices/" + address;
    tree.write(device + "/vendor", fmt::format("{}\n", vendor));
    tree.write(device + "/device", "0x0bd5\n");
    tree.write(device + "/numa_node", "1\n");
    tree.write("sys/bus/pci/drivers/i915/bind", "");
    tree.write("sys/class/drm/" + name + "/dev", "226:128\n");
    std::filesystem::create_symlink("../../drivers/i915", tree.root() + "/" + device + "/driver");
    std::filesystem::create_symlink("../../../bus/pci/devices/" + address,
                                    tree.root() + "/sys/class/drm/" + name + "/device");
  };
  add("renderD128", "0000:00:02.0", "0x8086");  // the CPU's integrated GPU
  add("renderD129", "0000:29:00.0", "0x8086");
  add("renderD130", "0000:9a:00.0", "0x8086");
  add("renderD131", "0000:b0:00.0", "0x1a03");  // another vendor's
  for (const char* name : {"renderD128", "renderD129", "renderD131"}) {
    tree.write(std::string("dev/dri/") + name, "");
  }
  GpuSources sources{.proc = tree.root() + "/proc", .sys = tree.root() + "/sys"};
  sources.dev = tree.root() + "/dev";
  const GpuReport report = read_gpus(sources);
  ASSERT_EQ(report.gpus.size(), 1U) << "renderD130 was not given to this container";
  EXPECT_EQ(report.gpus[0].vendor, "Intel");
  EXPECT_EQ(report.gpus[0].model, "Intel GPU 0x0bd5");
  EXPECT_EQ(report.gpus[0].pci, "0000:29:00.0");
  EXPECT_EQ(report.gpus[0].numa_node, 1);
  EXPECT_EQ(report.drivers.intel, "i915");
}

}  // namespace
}  // namespace muster::facts
