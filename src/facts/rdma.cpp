#include "facts/rdma.hpp"

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

}  // namespace

std::vector<RdmaPort> read_rdma(const std::string& root) {
  std::vector<RdmaPort> ports;
  for (const std::string& device : names_in(root)) {
    const std::string folder = root + "/" + device + "/ports";
    for (const std::string& name : names_in(folder)) {
      const auto number_of_port = number<int>(name);
      if (!number_of_port) continue;
      const std::string port = folder + "/" + name;
      ports.push_back({.device = device,
                       .port = *number_of_port,
                       .active = first_line(port + "/state").starts_with("4:"),
                       .link_layer = first_line(port + "/link_layer"),
                       .rate = first_line(port + "/rate"),
                       .gids = read_gids(port)});
    }
  }
  return ports;
}

}  // namespace muster::facts
