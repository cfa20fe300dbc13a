#include "lab/hardware_tree.hpp"

#include <algorithm>
#include <array>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace muster::lab {
namespace {

constexpr std::string_view kDevices = "/sys/devices/";
constexpr int kShownGids = 16;  // a real card has 256 entries, most of them empty
constexpr std::string_view kNoGid = "0000:0000:0000:0000:0000:0000:0000:0000";

constexpr std::array kPortCounters = {"VL15_dropped",
                                      "excessive_buffer_overrun_errors",
                                      "link_downed",
                                      "link_error_recovery",
                                      "local_link_integrity_errors",
                                      "multicast_rcv_packets",
                                      "multicast_xmit_packets",
                                      "port_rcv_constraint_errors",
                                      "port_rcv_data",
                                      "port_rcv_errors",
                                      "port_rcv_packets",
                                      "port_rcv_remote_physical_errors",
                                      "port_rcv_switch_relay_errors",
                                      "port_xmit_constraint_errors",
                                      "port_xmit_data",
                                      "port_xmit_discards",
                                      "port_xmit_packets",
                                      "port_xmit_wait",
                                      "symbol_error",
                                      "unicast_rcv_packets",
                                      "unicast_xmit_packets"};
constexpr std::array kMlx5Counters = {
    "duplicate_request", "implied_nak_seq_err", "lifespan",         "local_ack_timeout_err",
    "out_of_buffer",     "out_of_sequence",     "packet_seq_err",   "rnr_nak_retry_err",
    "rx_read_requests",  "rx_write_requests",   "np_cnp_sent",      "np_ecn_marked_roce_packets",
    "rp_cnp_handled",    "rp_cnp_ignored",      "roce_adp_retrans", "roce_adp_retrans_to",
    "roce_slow_restart", "req_cqe_error",       "resp_cqe_error",   "rx_icrc_encapsulated"};
constexpr std::array kEfaCounters = {
    "lifespan",         "tx_bytes",       "tx_pkts",          "rx_bytes",
    "rx_pkts",          "rx_drops",       "send_bytes",       "send_wrs",
    "recv_bytes",       "recv_wrs",       "rdma_read_wrs",    "rdma_read_bytes",
    "rdma_read_wr_err", "rdma_write_wrs", "rdma_write_bytes", "rdma_write_wr_err"};
constexpr std::array kBnxtCounters = {"active_pds",
                                      "active_qps",
                                      "lifespan",
                                      "rx_bytes",
                                      "rx_pkts",
                                      "tx_bytes",
                                      "tx_pkts",
                                      "recoverable_errors",
                                      "to_retransmits",
                                      "seq_err_naks_rcvd",
                                      "max_retry_exceeded",
                                      "rnr_naks_rcvd",
                                      "res_exceed_max",
                                      "oos_drop_count"};

void put_line(Tree& tree, const std::string& path, std::string_view text) {
  tree[path] = {.content = fmt::format("{}\n", text)};
}

// Adds a relative link, as sysfs has. Both paths must be absolute.
void put_link(Tree& tree, const std::string& path, const std::string& target) {
  std::string up;
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    if (at > std::string_view("/sys").size()) up += "../";
  }
  tree[path] = {.content = up + target.substr(std::string_view("/sys/").size()), .is_link = true};
}

std::string cpu_mask(int numa, int numa_nodes, int cpus) {
  std::uint64_t mask = 0;
  const int each = (cpus + numa_nodes - 1) / numa_nodes;
  for (int cpu = numa * each; cpu < std::min(cpus, (numa + 1) * each) && cpu < 64; ++cpu) {
    mask |= std::uint64_t{1} << cpu;
  }
  return fmt::format("{:x}", mask);
}

unsigned hex_number(std::string_view text) {
  return static_cast<unsigned>(std::stoul(std::string(text), nullptr, 16));
}

// The first 64 bytes of the configuration space, which lspci and hwloc read.
std::string pci_config(const PciDevice& device) {
  std::string config(64, device.answers ? '\0' : '\xff');
  if (!device.answers) return config;
  const auto word = [&](std::size_t at, unsigned value) {
    config[at] = static_cast<char>(value & 255U);
    config[at + 1] = static_cast<char>(value >> 8U & 255U);
  };
  word(0, hex_number(device.vendor));
  word(2, hex_number(device.device));
  word(9, hex_number(device.pci_class));
  word(10, hex_number(device.pci_class) >> 8U);
  return config;
}

struct Cpus {
  int numa_nodes = 1;
  int count = 1;
};

void add_pci(const PciDevice& device, const Cpus& cpus, Tree& tree) {
  const std::string folder = std::string(kDevices) + pci_path(device);
  const auto line = [&](const char* name, const std::string& text) {
    put_line(tree, fmt::format("{}/{}", folder, name), text);
  };
  line("vendor", device.vendor);
  line("device", device.device);
  line("class", device.pci_class);
  line("subsystem_vendor", device.vendor);
  line("subsystem_device", device.device);
  line("revision", "0x00");
  line("irq", "18");
  line("enable", "1");
  line("numa_node", fmt::format("{}", device.numa));
  line("local_cpulist", cpu_list(device.numa, cpus.numa_nodes, cpus.count));
  line("local_cpus", cpu_mask(device.numa, cpus.numa_nodes, cpus.count));
  line("current_link_width", device.answers ? fmt::format("{}", device.width) : "63");
  line("max_link_width", device.answers ? fmt::format("{}", device.max_width) : "255");
  line("current_link_speed", device.answers ? device.speed : "Unknown");
  line("max_link_speed", device.answers ? device.max_speed : "Unknown");
  line("uevent", fmt::format("DRIVER={}\nPCI_SLOT_NAME={}", device.driver, device.address));
  std::string resource;
  for (int i = 0; i < 13; ++i)
    resource += "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
  tree[folder + "/resource"] = {.content = resource};
  tree[folder + "/config"] = {.content = pci_config(device)};
  put_link(tree, "/sys/bus/pci/devices/" + device.address, folder);
  put_link(tree, folder + "/subsystem", "/sys/bus/pci");
  if (device.driver.empty()) return;
  const std::string driver = "/sys/bus/pci/drivers/" + device.driver;
  put_link(tree, folder + "/driver", driver);
  put_link(tree, driver + "/" + device.address, folder);
  put_link(tree, driver + "/module", "/sys/module/" + device.driver);
}

void add_bridges(const PciDevice& device, const Cpus& cpus, Tree& tree) {
  for (std::size_t i = 0; i < device.bridges.size(); ++i) {
    PciDevice bridge{.address = device.bridges[i],
                     .vendor = i == 0 ? "0x8086" : "0x1000",
                     .device = i == 0 ? "0x352a" : "0xc030",
                     .pci_class = "0x060400",
                     .driver = "pcieport",
                     .numa = device.numa,
                     .speed = device.max_speed,
                     .max_speed = device.max_speed};
    bridge.bridges.assign(device.bridges.begin(),
                          device.bridges.begin() + static_cast<std::ptrdiff_t>(i));
    add_pci(bridge, cpus, tree);
  }
}

std::string colons(const std::string& digits) {
  return fmt::format("{}:{}:{}:{}", digits.substr(0, 4), digits.substr(4, 4), digits.substr(8, 4),
                     digits.substr(12, 4));
}

// InfiniBand uses the card's GUID, while Ethernet derives an id from the interface's MAC address.
std::string interface_id(const RdmaDevice& device) {
  if (device.link_layer == "InfiniBand") return device.guid;
  std::string digits = device.mac;
  std::erase(digits, ':');
  const unsigned first = hex_number(digits.substr(0, 2)) ^ 2U;
  return fmt::format("{:02x}{}fffe{}", first, digits.substr(2, 4), digits.substr(6));
}

std::string gid_text(const RdmaDevice& device, const Gid& gid) {
  in_addr number{};
  if (!gid.ipv4 || ::inet_pton(AF_INET, device.address.c_str(), &number) != 1) {
    return "fe80:0000:0000:0000:" + colons(interface_id(device));
  }
  const std::uint32_t bits = ::ntohl(number.s_addr);
  return fmt::format("0000:0000:0000:0000:0000:ffff:{:04x}:{:04x}", bits >> 16U, bits & 0xffffU);
}

void add_gids(const RdmaDevice& device, const std::string& port, Tree& tree) {
  for (int i = 0; i < kShownGids; ++i) put_line(tree, fmt::format("{}/gids/{}", port, i), kNoGid);
  for (const Gid& gid : device.gids) {
    if (gid.ipv4 && device.address.empty()) continue;
    put_line(tree, fmt::format("{}/gids/{}", port, gid.index), gid_text(device, gid));
    put_line(tree, fmt::format("{}/gid_attrs/types/{}", port, gid.index),
             gid.v2 ? "RoCE v2" : "IB/RoCE v1");
    if (device.interface.empty()) continue;
    put_line(tree, fmt::format("{}/gid_attrs/ndevs/{}", port, gid.index), device.interface);
  }
}

void add_counters(const RdmaDevice& device, const std::string& port, Tree& tree) {
  const auto counters = [&](const char* folder, const auto& names) {
    for (const char* name : names) {
      const auto found = device.error_counters.find(name);
      const long value = found == device.error_counters.end() ? 0 : found->second;
      const bool interval = std::string_view(name) == "lifespan";
      put_line(tree, fmt::format("{}/{}/{}", port, folder, name),
               fmt::format("{}", interval ? 12 : value));
    }
  };
  if (device.pci.driver == "efa") return counters("hw_counters", kEfaCounters);
  counters("counters", kPortCounters);
  if (device.pci.driver == "mlx5_core") return counters("hw_counters", kMlx5Counters);
  counters("hw_counters", kBnxtCounters);
}

void add_port(const RdmaDevice& device, const std::string& folder, Tree& tree) {
  const std::string port = folder + "/ports/1";
  const bool infiniband = device.link_layer == "InfiniBand";
  const auto line = [&](const char* name, std::string_view text) {
    put_line(tree, fmt::format("{}/{}", port, name), text);
  };
  line("state", device.state);
  line("phys_state", device.phys_state);
  line("link_layer", device.link_layer);
  line("rate", device.rate);
  line("lid", infiniband ? fmt::format("0x{:x}", hex_number(device.guid.substr(12))) : "0x0");
  line("lid_mask_count", "0");
  line("sm_lid", infiniband ? "0x1" : "0x0");
  line("sm_sl", "0");
  line("cap_mask", infiniband ? "0xa751e848" : "0x04010000");
  line("pkeys/0", "0xffff");
  add_gids(device, port, tree);
  add_counters(device, port, tree);
}

void add_interface(const std::string& name, const PciDevice& device, Tree& tree) {
  const std::string pci = std::string(kDevices) + pci_path(device);
  const std::string net = std::string(kDevices) + "virtual/net/" + name;
  put_link(tree, pci + "/net/" + name, net);
  put_link(tree, net + "/device", pci);
}

void add_rdma(const RdmaDevice& device, Tree& tree) {
  const std::string pci = std::string(kDevices) + pci_path(device.pci);
  const std::string folder = pci + "/infiniband/" + device.name;
  const auto line = [&](const char* name, std::string_view text) {
    if (!text.empty()) put_line(tree, fmt::format("{}/{}", folder, name), text);
  };
  line("node_type", device.pci.driver == "efa" ? "7: unspecified" : "1: CA");
  line("node_desc", device.name);
  line("node_guid", colons(device.guid));
  line("sys_image_guid", colons(device.guid));
  line("fw_ver", device.firmware);
  line("board_id", device.board);
  line("hca_type", device.type);
  if (!device.type.empty()) line("hw_rev", "0");
  put_link(tree, folder + "/device", pci);
  put_link(tree, folder + "/subsystem", "/sys/class/infiniband");
  put_link(tree, "/sys/class/infiniband/" + device.name, folder);
  add_port(device, folder, tree);
  if (!device.interface.empty()) add_interface(device.interface, device.pci, tree);
}

void add_numa(const Cpus& cpus, Tree& tree) {
  const std::string nodes = std::string(kDevices) + "system/node";
  const std::string all = cpus.numa_nodes == 1 ? "0" : fmt::format("0-{}", cpus.numa_nodes - 1);
  for (const char* name : {"online", "possible", "has_cpu", "has_memory", "has_normal_memory"}) {
    put_line(tree, fmt::format("{}/{}", nodes, name), all);
  }
  for (int i = 0; i < cpus.numa_nodes; ++i) {
    const std::string node = fmt::format("{}/node{}", nodes, i);
    put_line(tree, node + "/cpulist", cpu_list(i, cpus.numa_nodes, cpus.count));
    put_line(tree, node + "/cpumap", cpu_mask(i, cpus.numa_nodes, cpus.count));
    std::string distances;
    for (int j = 0; j < cpus.numa_nodes; ++j) distances += fmt::format("{} ", i == j ? 10 : 21);
    put_line(tree, node + "/distance", distances.substr(0, distances.size() - 1));
  }
}

std::string module_version(const Hardware& hardware, const std::string& name) {
  const std::string& vendor = hardware.model.vendor;
  const bool has_it = vendor == "nvidia" ? name.starts_with("nvidia") : name == "amdgpu";
  return has_it ? hardware.model.driver : "";
}

void add_modules(const Hardware& hardware, Tree& tree) {
  for (const std::string& name : hardware.modules) {
    put_line(tree, "/sys/module/" + name + "/initstate", "live");
    put_line(tree, "/sys/module/" + name + "/refcnt", "0");
    const std::string version = module_version(hardware, name);
    if (!version.empty()) put_line(tree, "/sys/module/" + name + "/version", version);
  }
}

// Adds the kernel's log in two forms: that of the kernel's ring buffer, and that of a syslog
// daemon.
void add_kernel_log(const Hardware& hardware, Tree& tree) {
  std::string records, lines;
  for (std::size_t i = 0; i < hardware.kernel_log.size(); ++i) {
    records += fmt::format("4,{},{},-;{}\n", 2000 + i, hardware.uptime_us, hardware.kernel_log[i]);
    lines += fmt::format("kernel: [{:.6f}] {}\n", static_cast<double>(hardware.uptime_us) / 1e6,
                         hardware.kernel_log[i]);
  }
  if (records.empty()) return;
  tree["/dev/kmsg"] = {.content = records, .mode = 0644};
  tree["/var/log/kern.log"] = {.content = lines, .mode = 0644};
}

// Programs check whether these files exist and can be opened. All of them are links to /dev/null.
void add_device_files(const Hardware& hardware, Tree& tree) {
  const auto add = [&](const std::string& path, const char* target) {
    tree["/dev/" + path] = {.content = target, .is_link = true};
  };
  const bool nvidia = hardware.model.vendor == "nvidia";
  for (const char* name : {"nvidiactl", "nvidia-uvm"}) {
    if (nvidia) add(name, "null");
  }
  if (!nvidia) add("kfd", "null");
  for (std::size_t i = 0; i < hardware.gpus.size(); ++i) {
    if (nvidia) add(fmt::format("nvidia{}", i), "null");
    if (!nvidia) add(fmt::format("dri/renderD{}", 128 + i), "../null");
  }
  for (std::size_t i = 0; i < hardware.rdma.size(); ++i) {
    if (hardware.rdma[i].present) add(fmt::format("infiniband/uverbs{}", i), "../null");
  }
}

}  // namespace

std::string cpu_list(int numa, int numa_nodes, int cpus) {
  const int each = (cpus + numa_nodes - 1) / numa_nodes;
  const int first = numa * each;
  const int last = std::min(cpus, first + each) - 1;
  if (last < first) return "";
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

std::string pci_path(const PciDevice& device) {
  const std::string& top = device.bridges.empty() ? device.address : device.bridges.front();
  std::string path = "pci" + top.substr(0, 7);
  for (const std::string& bridge : device.bridges) path += "/" + bridge;
  return path + "/" + device.address;
}

std::vector<std::string> hidden_folders() {
  return {"/sys/bus/pci/devices", "/sys/class/drm", "/sys/class/infiniband", "/sys/class/kfd"};
}

Tree hardware_tree(const Hardware& hardware, int cpus) {
  Tree tree;
  const Cpus dealt{hardware.numa_nodes, cpus};
  const auto add_card = [&](const PciDevice& device) {
    add_bridges(device, dealt, tree);
    add_pci(device, dealt, tree);
  };
  for (const Gpu& gpu : hardware.gpus) add_card(gpu.pci);
  for (const PciDevice& other : hardware.others) add_card(other);
  for (const RdmaDevice& device : hardware.rdma) {
    if (!device.present) continue;
    add_card(device.pci);
    add_rdma(device, tree);
  }
  if (!hardware.management_card.address.empty()) {
    add_card(hardware.management_card);
    add_interface(hardware.management, hardware.management_card, tree);
  }
  add_numa(dealt, tree);
  add_modules(hardware, tree);
  add_kernel_log(hardware, tree);
  add_device_files(hardware, tree);
  if (hardware.model.fabric) {
    tree[std::string(kFabricManager)] = {.content = "sleep", .is_link = true};
  }
  if (hardware.model.vendor == "nvidia") {
    add_nvidia(hardware, tree);
    if (hardware.tool != ToolState::kMissing) {
      tree["/usr/bin/nvidia-smi"] = {.content = nvidia_smi_script(hardware, cpus), .mode = 0755};
    }
  }
  if (hardware.model.vendor == "amd") {
    add_amd(hardware, tree);
    if (hardware.tool != ToolState::kMissing) {
      tree["/usr/bin/amd-smi"] = {.content = amd_smi_script(hardware), .mode = 0755};
    }
  }
  return tree;
}

}  // namespace muster::lab
