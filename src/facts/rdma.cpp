#include "facts/rdma.hpp"

#include <algorithm>
#include <filesystem>

#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

std::vector<Gid> read_gids(const std::string& port) {
  std::vector<Gid> gids;
  for (const std::string& entry : names_in(port + "/gids")) {
    const auto index = number<int>(entry);
    if (!index) continue;
    std::string gid = first_line(port + "/gids/" + entry);
    if (gid.find_first_not_of("0:") == std::string::npos) continue;  // an unused entry
    gids.push_back({.index = *index,
                    .gid = std::move(gid),
                    .type = first_line(port + "/gid_attrs/types/" + entry),
                    .interface = first_line(port + "/gid_attrs/ndevs/" + entry)});
  }
  return gids;
}

// The name of a symbolic link's target; empty if there is no such link.
std::string linked_name(const std::string& link) {
  std::error_code failed;
  return std::filesystem::read_symlink(link, failed).filename().string();
}

// Turns "5: LinkUp" into "LinkUp".
std::string state_name(const std::string& text) {
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

// Returns the interfaces of the port's GIDs, and those interfaces of its PCI device that belong to
// the same port of the card.
std::vector<std::string> interfaces_of(const RdmaPort& port, const std::string& net) {
  std::vector<std::string> names;
  for (const Gid& gid : port.gids) {
    if (!gid.interface.empty()) names.push_back(gid.interface);
  }
  for (const std::string& name : names_in(net)) {
    const auto number_of_port = number<int>(first_line(net + "/" + name + "/dev_port"));
    if (number_of_port.value_or(0) + 1 == port.port) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

RdmaPort read_port(const std::string& folder, const std::string& device, int number_of_port) {
  const std::string port = folder + "/ports/" + std::to_string(number_of_port);
  RdmaPort result{.device = device,
                  .port = number_of_port,
                  .active = first_line(port + "/state").starts_with("4:"),
                  .link_layer = first_line(port + "/link_layer"),
                  .rate = first_line(port + "/rate"),
                  .gids = read_gids(port),
                  .physical_state = state_name(first_line(port + "/phys_state")),
                  .driver = linked_name(folder + "/device/driver"),
                  .pci_address = linked_name(folder + "/device"),
                  .numa_node = number<int>(first_line(folder + "/device/numa_node")).value_or(-1),
                  .firmware = first_line(folder + "/fw_ver"),
                  .board = first_line(folder + "/board_id")};
  result.interfaces = interfaces_of(result, folder + "/device/net");
  return result;
}

}  // namespace

std::string link_name(const RdmaPort& port) {
  return port.driver == "efa" ? "EFA" : port.link_layer;
}

std::vector<RdmaPort> read_rdma(const std::string& root) {
  std::vector<RdmaPort> ports;
  for (const std::string& device : names_in(root)) {
    const std::string folder = root + "/" + device;
    for (const std::string& name : names_in(folder + "/ports")) {
      if (const auto port = number<int>(name)) ports.push_back(read_port(folder, device, *port));
    }
  }
  return ports;
}

}  // namespace muster::facts
