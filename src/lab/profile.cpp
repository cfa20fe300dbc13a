// Profiles are files of this project that are embedded in the binary. Only a mistake of ours can
// make one faulty, and tests read all of them.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "lab/hardware.hpp"
#include "lab/spec.hpp"

namespace muster::lab {
namespace {

// A row of a list. Values that it lacks are taken from the map `all` next to the list.
class Row {
 public:
  Row(YAML::Node row, YAML::Node all) : row_(std::move(row)), all_(std::move(all)) {}

  [[nodiscard]] YAML::Node node(const char* key) const {
    if (row_[key]) return row_[key];
    return all_ ? all_[key] : YAML::Node(YAML::NodeType::Undefined);
  }
  [[nodiscard]] std::string text(const char* key, const std::string& otherwise = {}) const {
    const YAML::Node found = node(key);
    return found ? found.as<std::string>() : otherwise;
  }
  [[nodiscard]] std::string needed(const char* key) const {
    const YAML::Node found = node(key);
    if (!found) throw YAML::Exception(row_.Mark(), fmt::format("this lacks '{}'", key));
    return found.as<std::string>();
  }
  [[nodiscard]] int number(const char* key, int otherwise = 0) const {
    const YAML::Node found = node(key);
    return found ? found.as<int>() : otherwise;
  }
  [[nodiscard]] bool yes(const char* key, bool otherwise) const {
    const YAML::Node found = node(key);
    return found ? found.as<bool>() : otherwise;
  }
  [[nodiscard]] std::vector<std::string> texts(const char* key) const {
    const YAML::Node found = node(key);
    return found ? found.as<std::vector<std::string>>() : std::vector<std::string>{};
  }

 private:
  YAML::Node row_;
  YAML::Node all_;
};

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

int hexadecimal(std::string_view digits) {
  int value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

// Assigns bridges to devices. Below a PCIe switch, which profiles write as "root port/upstream
// port", each device gets its own downstream port.
class Bridges {
 public:
  std::vector<std::string> above(const std::string& upstream) {
    std::vector<std::string> bridges = split_at(upstream, '/');
    if (bridges.size() < 2) return bridges;
    const std::string& port = bridges.back();  // such as 0000:16:00.0
    const int bus = hexadecimal(std::string_view(port).substr(5, 2)) + 1;
    bridges.push_back(fmt::format("{}{:02x}:{:02x}.0", port.substr(0, 5), bus, used_[upstream]++));
    return bridges;
  }

 private:
  std::map<std::string, int> used_;
};

PciDevice pci_device(const Row& row, Bridges& bridges) {
  PciDevice device{.address = row.needed("pci"),
                   .vendor = row.needed("vendor"),
                   .device = row.needed("device"),
                   .pci_class = row.needed("class"),
                   .driver = row.text("driver"),
                   .bridges = bridges.above(row.text("upstream")),
                   .numa = row.number("numa"),
                   .width = row.number("width", 16),
                   .speed = row.text("speed", "32.0 GT/s PCIe")};
  device.max_width = row.number("max_width", device.width);
  device.max_speed = row.text("max_speed", device.speed);
  return device;
}

GpuModel gpu_model(const YAML::Node& all) {
  const Row row(all, {});
  return {.vendor = row.needed("kind"),
          .name = row.needed("name"),
          .driver = row.needed("driver_version"),
          .runtime = row.needed("runtime"),
          .kernel_platform = row.text("kernel_platform", "x86_64"),
          .compute_capability = row.text("compute_capability"),
          .vbios = row.text("vbios"),
          .memory_mib = row.number("memory_mib"),
          .power_limit_watts = row.number("power_limit_watts"),
          .links = row.number("nvlinks"),
          .link_speed = row.text("nvlink_speed"),
          .ecc = row.yes("ecc", true),
          .mig = row.yes("mig", true),
          .fabric = row.yes("fabric_manager", false)};
}

// Parses "3 ipv4 v2".
Gid gid_row(const std::string& text) {
  const std::vector<std::string> words = split_at(text, ' ');
  if (words.size() != 3) throw YAML::Exception({}, fmt::format("'{}' is not a GID", text));
  return {.index = std::stoi(words[0]), .ipv4 = words[1] == "ipv4", .v2 = words[2] == "v2"};
}

RdmaDevice rdma_device(const Row& row, Bridges& bridges) {
  RdmaDevice device{.name = row.needed("name"),
                    .use = row.text("use", "rail"),
                    .pci = pci_device(row, bridges),
                    .link_layer = row.needed("link_layer"),
                    .rate = row.needed("rate"),
                    .firmware = row.text("firmware"),
                    .board = row.text("board"),
                    .type = row.text("type"),
                    .interface = row.text("interface"),
                    .mtu = row.number("mtu", 1500)};
  if (row.text("cable", "connected") == "none") {
    device.state = "1: DOWN";
    device.phys_state = "3: Disabled";
  }
  for (const std::string& gid : row.texts("gids")) device.gids.push_back(gid_row(gid));
  for (const std::string& shift : row.texts("gid_shifts")) {
    device.gid_shifts.push_back(std::stoi(shift));
  }
  return device;
}

void read_cards(const YAML::Node& file, Hardware& hardware) {
  Bridges bridges;
  for (const YAML::Node& row : file["rdma"]["devices"]) {
    hardware.rdma.push_back(rdma_device(Row(row, file["rdma"]["all"]), bridges));
  }
  if (file["gpus"]) {
    hardware.model = gpu_model(file["gpus"]["all"]);
    for (const YAML::Node& row : file["gpus"]["devices"]) {
      hardware.gpus.push_back({.pci = pci_device(Row(row, file["gpus"]["all"]), bridges)});
    }
  }
  for (const YAML::Node& row : file["others"]) {
    hardware.others.push_back(pci_device(Row(row, {}), bridges));
  }
  const Row management(file["management"], {});
  hardware.management = management.needed("interface");
  if (management.node("pci")) hardware.management_card = pci_device(management, bridges);
}

// 12 hexadecimal digits that are different for each host and card.
std::string card_digits(int host, std::size_t card, int kind) {
  return fmt::format("0c42a1{:02x}{:02x}{:02x}", host & 255, kind, card);
}

std::string mac_of(const std::string& digits) {
  std::string mac;
  for (std::size_t i = 0; i < digits.size(); i += 2) mac += ":" + digits.substr(i, 2);
  return mac.substr(1);
}

void number_rdma(RdmaDevice& device, const std::string& digits, const std::string& own_address) {
  device.guid = digits.substr(0, 6) + "0300" + digits.substr(6);
  device.mac = mac_of(digits);
  const bool speaks_ip =
      device.link_layer == "Ethernet" && device.state.starts_with("4") && !device.interface.empty();
  if (speaks_ip) device.address = own_address;
}

}  // namespace

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const EmbeddedText& profile : profile_texts()) names.emplace_back(profile.name);
  return names;
}

Result<Hardware> parse_profile(std::string_view name, std::string_view yaml) {
  Hardware hardware{.name = std::string(name)};
  try {
    const YAML::Node file = YAML::Load(std::string(yaml));
    const Row row(file, {});
    hardware.about = row.needed("about");
    hardware.sources = row.texts("sources");
    hardware.numa_nodes = row.number("numa_nodes", 1);
    hardware.modules = row.texts("modules");
    read_cards(file, hardware);
  } catch (const std::exception& bad) {  // YAML::Exception, or an exception of std::stoi
    return unexpected(
        Error{.what = fmt::format("the profile '{}' is wrong: {}", name, bad.what())});
  }
  hardware.fabric_manager = hardware.model.fabric;
  return hardware;
}

Result<Hardware> load_profile(std::string_view name) {
  std::string known;
  for (const EmbeddedText& profile : profile_texts()) {
    if (profile.name == name) return parse_profile(name, profile.text);
    known += fmt::format(" {}", profile.name);
  }
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = fmt::format("muster lab knows no machine '{}'", name),
                          .hint = "one of:" + known});
}

std::string rail_address(int rail, int host) {
  return fmt::format("198.19.{}.{}", 128 + rail, host);
}

std::vector<RailInterface> rail_interfaces(const Hardware& hardware) {
  std::vector<RailInterface> found;
  for (std::size_t i = 0; i < hardware.rdma.size(); ++i) {
    const RdmaDevice& device = hardware.rdma[i];
    if (device.interface.empty() || device.interface == hardware.management) continue;
    found.push_back({.number = static_cast<int>(i),
                     .interface = device.interface,
                     .address = device.address,
                     .mac = device.mac,
                     .mtu = device.mtu,
                     .in_switch = !device.address.empty(),
                     .up = device.link_layer == "Ethernet"});
  }
  return found;
}

Result<Hardware> healthy_hardware(const Spec& spec, int host) {
  if (spec.like.empty() || host == 0) return Hardware{};
  MUSTER_TRY(Hardware hardware, load_profile(spec.like));
  make_own(hardware, host);
  return hardware;
}

std::vector<RailInterface> rails_of(const Spec& spec, int host) {
  const auto hardware = healthy_hardware(spec, host);
  return hardware ? rail_interfaces(*hardware) : std::vector<RailInterface>{};
}

void make_own(Hardware& hardware, int host) {
  for (std::size_t i = 0; i < hardware.gpus.size(); ++i) {
    Gpu& gpu = hardware.gpus[i];
    const std::string digits = card_digits(host, i, 1);
    gpu.uuid = fmt::format("GPU-{}-{}-4c1b-9d20-{}", digits.substr(0, 8), digits.substr(8), digits);
    gpu.serial = fmt::format("16533240{:05}", host * 100 + static_cast<int>(i));
    gpu.clock_reasons = 1;  // the bit for idle
  }
  for (std::size_t i = 0; i < hardware.rdma.size(); ++i) {
    RdmaDevice& device = hardware.rdma[i];
    const bool first_network = device.interface == hardware.management;
    number_rdma(device, card_digits(host, i, 2),
                first_network ? address(host, 0) : rail_address(static_cast<int>(i), host));
    if (first_network) device.mac = mac(host, 0);
    if (device.gid_shifts.empty()) continue;
    const std::size_t turn = static_cast<std::size_t>(host - 1) % device.gid_shifts.size();
    for (Gid& gid : device.gids) gid.index += device.gid_shifts[turn];
  }
}

}  // namespace muster::lab
