#include "agent/placement.hpp"

#include <nlohmann/json.hpp>

namespace muster::agent {

std::string to_json(const Placement& placement) {
  const nlohmann::json value = {
      {"interface", placement.interface},   {"rdma", placement.rdma},
      {"gid_index", placement.gid_index},   {"several_rdma_ports", placement.several_rdma_ports},
      {"host_rank", placement.host_rank},   {"host_count", placement.host_count},
      {"first_rank", placement.first_rank}, {"ranks", placement.ranks},
      {"all_ranks", placement.all_ranks}};
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<Placement> parse_placement(const std::string& json) {
  try {
    const auto value = nlohmann::json::parse(json);
    return Placement{.interface = value.at("interface"),
                     .rdma = value.at("rdma"),
                     .gid_index = value.at("gid_index"),
                     .several_rdma_ports = value.at("several_rdma_ports"),
                     .host_rank = value.at("host_rank"),
                     .host_count = value.at("host_count"),
                     .first_rank = value.at("first_rank"),
                     .ranks = value.at("ranks"),
                     .all_ranks = value.at("all_ranks")};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace muster::agent
