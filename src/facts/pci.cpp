#include "facts/pci.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/lower_case.hpp"
#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

bool is_hex(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}

std::string last_part_of_link(const std::string& path) {
  std::error_code failed;
  return std::filesystem::read_symlink(path, failed).filename();
}

// Turns "32.0 GT/s PCIe" into generation 5.
int pcie_generation(std::string_view speed) {
  constexpr std::pair<std::string_view, int> kSpeeds[] = {{"2.5", 1}, {"5", 2},  {"8", 3},
                                                          {"16", 4},  {"32", 5}, {"64", 6}};
  std::string_view rate = speed.substr(0, speed.find(' '));
  if (rate.ends_with(".0")) rate.remove_suffix(2);
  for (const auto& [text, generation] : kSpeeds) {
    if (rate == text) return generation;
  }
  return 0;
}

// 0 if unknown. Virtual machines report impossible widths.
int lanes(const std::string& file) {
  const int width = number<int>(first_line(file)).value_or(0);
  return width >= 1 && width <= 32 ? width : 0;
}

// The most lanes that card and slot support together.
int most_lanes(const std::string& folder) {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(folder, failed);
  const int own = lanes(folder + "/max_link_width");
  const int port = failed ? 0 : lanes((real.parent_path() / "max_link_width").string());
  return port == 0 ? own : std::min(own, port);
}

}  // namespace

std::string pci_address(std::string_view text) {
  constexpr std::size_t kTail = 8;  // length of ":18:00.0"
  for (std::size_t colon = text.find(':'); colon != std::string_view::npos;
       colon = text.find(':', colon + 1)) {
    const std::string_view tail = text.substr(colon, kTail);
    if (colon < 4 || tail.size() < kTail || tail[3] != ':' || tail[6] != '.') continue;
    if (!is_hex(tail[1]) || !is_hex(tail[2]) || !is_hex(tail[4]) || !is_hex(tail[5])) continue;
    if (!is_hex(tail[7])) continue;
    std::size_t begin = colon;
    while (begin > 0 && colon - begin < 8 && is_hex(text[begin - 1])) --begin;
    std::string_view domain = text.substr(begin, colon - begin);
    while (domain.size() > 4 && domain.front() == '0') domain.remove_prefix(1);
    if (domain.size() < 4) continue;
    return lower_case(std::string(domain) + std::string(tail));
  }
  return {};
}

std::vector<PciDevice> pci_devices(const std::string& root, std::string_view vendor) {
  std::vector<PciDevice> devices;
  for (const std::string& name : names_in(root)) {
    const std::string folder = root + "/" + name;
    if (first_line(folder + "/vendor") != vendor) continue;
    devices.push_back({.address = name,
                       .vendor = std::string(vendor),
                       .device_class = first_line(folder + "/class"),
                       .driver = last_part_of_link(folder + "/driver")});
  }
  return devices;
}

void read_pci(const std::string& root, Gpu& gpu) {
  const std::string folder = root + "/" + gpu.pci;
  gpu.numa_node = number<int>(first_line(folder + "/numa_node")).value_or(-1);
  if (gpu.numa_node >= 0) gpu.cpus = first_line(folder + "/local_cpulist");
  gpu.pcie_width = lanes(folder + "/current_link_width");
  gpu.pcie_width_max = most_lanes(folder);
  gpu.pcie_gen_max = pcie_generation(first_line(folder + "/max_link_speed"));
}

}  // namespace muster::facts
