#include <nlohmann/json.hpp>

#include "layout/layout.hpp"

namespace muster::layout {
namespace {

using nlohmann::json;

json to_value(const Placement& placement) {
  json value = {{"host", placement.host},       {"first_rank", placement.first_rank},
                {"ranks", placement.ranks},     {"interface", placement.interface},
                {"address", placement.address}, {"here", placement.here}};
  if (placement.rdma) {
    value["rdma"] = {{"device", placement.rdma->device},
                     {"port", placement.rdma->port},
                     {"gid_index", placement.rdma->gid_index},
                     {"active_ports", placement.rdma->active_ports}};
  }
  return value;
}

}  // namespace

std::string to_json(const Layout& layout) {
  json placements = json::array();
  for (const Placement& placement : layout.placements) placements.push_back(to_value(placement));
  const json value = {{"engine",
                       {{"kind", layout.engine.kind},
                        {"version", layout.engine.version},
                        {"major", layout.engine.major},
                        {"launcher", layout.engine.launcher},
                        {"mpi", layout.engine.mpi},
                        {"pmi", layout.engine.pmi}}},
                      {"placements", std::move(placements)},
                      {"ranks", layout.ranks},
                      {"subnet", layout.subnet},
                      {"launcher_subnet", layout.launcher_subnet},
                      {"launcher_interface", layout.launcher_interface},
                      {"launcher_address", layout.launcher_address},
                      {"master_address", layout.master_address},
                      {"master_port", layout.master_port},
                      {"threads", layout.threads},
                      {"bind_to", layout.bind_to},
                      {"map_by", layout.map_by},
                      {"rdma_given_up", layout.rdma_given_up},
                      {"oversubscribed", layout.oversubscribed},
                      {"why", layout.why}};
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace muster::layout
