// The lab's version of AMD's driver files and amd-smi. The JSON has the form of ROCm 7: lists
// inside "gpu_data".
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lab/hardware_tree.hpp"

namespace muster::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFirstGpuNode = 2;  // in the topology; the first two nodes are CPUs
constexpr int kFirstRenderMinor = 128;
constexpr std::int64_t kMib = 1 << 20;

Json with_unit(std::int64_t value, const char* unit) {
  return {{"value", value}, {"unit", unit}};
}

std::string amd_uuid(const Gpu& gpu) {
  return "07ff74a1-0000-1000-80" + gpu.uuid.substr(gpu.uuid.size() - 2) + "-" +
         gpu.uuid.substr(gpu.uuid.size() - 12);
}

int kfd_id(std::size_t i) {
  return 20000 + 137 * static_cast<int>(i);
}

Json list_entry(const Gpu& gpu, std::size_t i) {
  return {{"gpu", i},
          {"bdf", gpu.pci.address},
          {"uuid", amd_uuid(gpu)},
          {"kfd_id", kfd_id(i)},
          {"node_id", kFirstGpuNode + static_cast<int>(i)},
          {"partition_id", 0}};
}

Json static_entry(const Hardware& hardware, const Gpu& gpu, std::size_t i) {
  const GpuModel& model = hardware.model;
  return {
      {"gpu", i},
      {"asic",
       {{"market_name", model.name},
        {"vendor_id", gpu.pci.vendor},
        {"vendor_name", "Advanced Micro Devices Inc. [AMD/ATI]"},
        {"device_id", gpu.pci.device},
        {"rev_id", "0x00"},
        {"asic_serial", fmt::format("0x{}", gpu.uuid.substr(gpu.uuid.size() - 12))},
        {"oam_id", i},
        {"num_compute_units", 304},
        {"target_graphics_version", model.compute_capability}}},
      {"bus",
       {{"bdf", gpu.pci.address},
        {"max_pcie_width", gpu.pci.max_width},
        {"max_pcie_speed", with_unit(32, "GT/s")},
        {"pcie_interface_version", "Gen 5"},
        {"slot_type", "OAM"}}},
      {"driver", {{"name", "amdgpu"}, {"version", model.driver}}},
      {"partition",
       {{"accelerator_partition", gpu.mig ? "CPX" : "SPX"},
        {"memory_partition", "NPS1"},
        {"partition_id", 0}}},
      {"numa", {{"node", gpu.pci.numa}, {"affinity", gpu.pci.numa}}},
      {"vram", {{"type", "HBM3"}, {"vendor", "N/A"}, {"size", with_unit(model.memory_mib, "MB")}}}};
}

Json metric_entry(const Hardware& hardware, const Gpu& gpu, std::size_t i) {
  int used = 283;
  for (const GpuProcess& process : gpu.processes) used += process.memory_mib;
  const bool hot = (gpu.clock_reasons & 0x40U) != 0;
  const Json block = {{"correctable_count", 0},
                      {"uncorrectable_count", gpu.ecc_uncorrected},
                      {"deferred_count", 0}};
  return {
      {"gpu", i},
      {"usage", {{"gfx_activity", with_unit(0, "%")}, {"umc_activity", with_unit(0, "%")}}},
      {"power",
       {{"socket_power", with_unit(133, "W")},
        {"throttle_status", hot ? "THROTTLED" : "UNTHROTTLED"}}},
      {"temperature",
       {{"edge", "N/A"}, {"hotspot", with_unit(hot ? 103 : 37, "C")}, {"mem", with_unit(34, "C")}}},
      {"pcie",
       {{"width", gpu.pci.width},
        {"speed", with_unit(32, "GT/s")},
        {"replay_count", 0},
        {"nak_sent_count", 0},
        {"nak_received_count", 0}}},
      {"ecc",
       {{"total_correctable_count", 0},
        {"total_uncorrectable_count", gpu.ecc_uncorrected},
        {"total_deferred_count", 0},
        {"cache_correctable_count", 0},
        {"cache_uncorrectable_count", 0}}},
      {"ecc_blocks", {{"UMC", block}}},
      {"mem_usage",
       {{"total_vram", with_unit(hardware.model.memory_mib, "MB")},
        {"used_vram", with_unit(used, "MB")},
        {"free_vram", with_unit(hardware.model.memory_mib - used, "MB")}}},
      {"throttle",
       {{"prochot_violation_status", hot ? "ACTIVE" : "NOT ACTIVE"},
        {"ppt_violation_status", "NOT ACTIVE"},
        {"socket_thermal_violation_status", hot ? "ACTIVE" : "NOT ACTIVE"},
        {"hbm_thermal_violation_status", "NOT ACTIVE"}}}};
}

Json process_entry(const Gpu& gpu, std::size_t i) {
  Json list = Json::array();
  for (const GpuProcess& process : gpu.processes) {
    list.push_back({{"process_info",
                     {{"name", process.name},
                      {"pid", process.pid},
                      {"memory_usage", {{"vram_mem", with_unit(process.memory_mib * kMib, "B")}}},
                      {"mem_usage", with_unit(process.memory_mib * kMib, "B")}}}});
  }
  if (list.empty()) list.push_back({{"process_info", "No running processes detected"}});
  return {{"gpu", i}, {"process_list", list}};
}

std::string shell_case(const char* word, const Json& answer) {
  return fmt::format("  {})\n    cat <<'END'\n{}\nEND\n    ;;\n", word, answer.dump(4));
}

void add_kfd_node(const Hardware& hardware, std::size_t i, Tree& tree) {
  const Gpu& gpu = hardware.gpus[i];
  const std::string node = fmt::format("/sys/devices/virtual/kfd/kfd/topology/nodes/{}",
                                       kFirstGpuNode + static_cast<int>(i));
  const auto bytes = hardware.model.memory_mib * kMib;
  const int bus = std::stoi(gpu.pci.address.substr(5, 2), nullptr, 16);
  tree[node + "/gpu_id"] = {.content = fmt::format("{}\n", kfd_id(i))};
  tree[node + "/name"] = {.content = "ip discovery\n"};  // name that newer kernels give to GPUs
  tree[node + "/properties"] = {
      .content = fmt::format("cpu_cores_count 0\nsimd_count 1216\nmem_banks_count 1\n"
                             "caches_count 500\nio_links_count 8\ngfx_target_version 90402\n"
                             "vendor_id 4098\ndevice_id 29857\nlocation_id {}\ndomain 0\n"
                             "drm_render_minor {}\nmax_engine_clk_fcompute 2100\nnum_xcc 8\n",
                             bus << 8, kFirstRenderMinor + i)};
  tree[node + "/mem_banks/0/properties"] = {
      .content = fmt::format("heap_type 1\nsize_in_bytes {}\nflags 0\nwidth 8192\n"
                             "mem_clk_max 1300\n",
                             bytes)};
}

void add_drm_card(const Hardware& hardware, std::size_t i, Tree& tree) {
  const Gpu& gpu = hardware.gpus[i];
  const std::string pci = "/sys/devices/" + pci_path(gpu.pci);
  const auto line = [&](const char* name, const std::string& text) {
    tree[fmt::format("{}/{}", pci, name)] = {.content = text + "\n"};
  };
  line("product_name", hardware.model.name + " OAM");
  line("unique_id", gpu.uuid.substr(gpu.uuid.size() - 12));
  line("mem_info_vram_total", fmt::format("{}", hardware.model.memory_mib * kMib));
  line("mem_info_vram_used", fmt::format("{}", 283 * kMib));
  line("current_compute_partition", gpu.mig ? "CPX" : "SPX");
  line("current_memory_partition", "NPS1");
  line("ras/umc_err_count", fmt::format("ue: {}\nce: 0", gpu.ecc_uncorrected));
  const std::string names[] = {fmt::format("card{}", i + 1),
                               fmt::format("renderD{}", kFirstRenderMinor + i)};
  for (const std::string& name : names) {
    line(fmt::format("drm/{}/dev", name).c_str(), fmt::format("226:{}", i + 1));
    tree[fmt::format("{}/drm/{}/device", pci, name)] = {.content = "../../../" + gpu.pci.address,
                                                        .is_link = true};
    tree["/sys/class/drm/" + name] = {.content = "../.." + pci.substr(4) + "/drm/" + name,
                                      .is_link = true};
  }
}

}  // namespace

std::string amd_smi_script(const Hardware& hardware) {
  Json list = Json::array(), fixed = Json::array(), metrics = Json::array(),
       processes = Json::array();
  for (std::size_t i = 0; i < hardware.gpus.size(); ++i) {
    const Gpu& gpu = hardware.gpus[i];
    if (!gpu.pci.answers) continue;  // the driver removes such a GPU
    list.push_back(list_entry(gpu, i));
    fixed.push_back(static_entry(hardware, gpu, i));
    metrics.push_back(metric_entry(hardware, gpu, i));
    processes.push_back(process_entry(gpu, i));
  }
  const Json version = {{{"tool", "AMDSMI Tool"},
                         {"version", "26.0.2"},
                         {"amdsmi_library_version", "26.0.2"},
                         {"rocm_version", hardware.model.runtime},
                         {"amdgpu_version", hardware.model.driver}}};
  std::string script =
      fmt::format("#!/bin/sh\n# Made by muster lab from the profile {}.\n", hardware.name);
  if (hardware.tool == ToolState::kHangs) script += "trap '' TERM HUP INT\nexec sleep infinity\n";
  script +=
      "case \" $* \" in\n  *' --json '*) ;;\n"
      "  *) echo \"the lab's amd-smi answers only with --json\" >&2 && exit 1 ;;\nesac\n"
      "case $1 in\n";
  script += shell_case("list", list) + shell_case("static", {{"gpu_data", fixed}}) +
            shell_case("metric", {{"gpu_data", metrics}}) + shell_case("process", processes) +
            shell_case("version", version);
  return script +
         "  *) echo \"usage: amd-smi list|static|metric|process|version --json\" >&2 && exit 1 "
         ";;\nesac\n";
}

void add_amd(const Hardware& hardware, Tree& tree) {
  const std::string topology = "/sys/devices/virtual/kfd/kfd/topology";
  tree["/sys/class/kfd/kfd"] = {.content = "../../devices/virtual/kfd/kfd", .is_link = true};
  tree[topology + "/generation_id"] = {.content = "2\n"};
  for (int node = 0; node < kFirstGpuNode; ++node) {
    tree[fmt::format("{}/nodes/{}/gpu_id", topology, node)] = {.content = "0\n"};
    tree[fmt::format("{}/nodes/{}/name", topology, node)] = {.content = "\n"};
    tree[fmt::format("{}/nodes/{}/properties", topology, node)] = {
        .content = "cpu_cores_count 96\nsimd_count 0\nmem_banks_count 1\n"};
  }
  for (std::size_t i = 0; i < hardware.gpus.size(); ++i) {
    if (!hardware.gpus[i].pci.answers) continue;
    add_kfd_node(hardware, i, tree);
    add_drm_card(hardware, i, tree);
  }
  tree["/opt/rocm/.info/version"] = {.content = hardware.model.runtime + "\n"};
}

}  // namespace muster::lab
