#include <array>
#include <utility>

#include "base/json_fields.hpp"
#include "layout/layout.hpp"

namespace muster::layout {

inline auto texts_of(Fabric) {
  return std::array{std::pair(Fabric::kNone, ""), std::pair(Fabric::kEfa, "efa"),
                    std::pair(Fabric::kInfiniband, "infiniband"),
                    std::pair(Fabric::kRoceIpv4, "roce-ipv4"),
                    std::pair(Fabric::kRoceIpv6, "roce-ipv6")};
}

template <class V>
void fields(V& v, Rail& r) {
  v("device", r.device), v("port", r.port), v("rate", r.rate), v("interface", r.interface);
  v("gid_index", r.gid_index), v("address", r.address), v("network", r.network);
}

template <class V>
void fields(V& v, Placement& p) {
  v("host", p.host), v("first_rank", p.first_rank), v("ranks", p.ranks);
  v("interface", p.interface), v("address", p.address), v("here", p.here);
  v("rails", p.rails), v("variables", p.variables);
}

template <class V>
void fields(V& v, Engine& e) {
  v("kind", e.kind), v("version", e.version), v("major", e.major), v("launcher", e.launcher);
  v("mpi", e.mpi), v("pmi", e.pmi);
}

template <class V>
void fields(V& v, Layout& l) {
  v("engine", l.engine), v("placements", l.placements), v("ranks", l.ranks);
  v("subnet", l.subnet), v("launcher_subnet", l.launcher_subnet);
  v("launcher_interface", l.launcher_interface), v("launcher_address", l.launcher_address);
  v("master_address", l.master_address), v("master_port", l.master_port);
  v("threads", l.threads), v("bind_to", l.bind_to), v("map_by", l.map_by);
  v("fabric", l.fabric), v("rdma_given_up", l.rdma_given_up);
  v("oversubscribed", l.oversubscribed), v("why", l.why);
}

std::string to_json(const Layout& layout) {
  return sorted_json_of_fields(layout);
}

Result<Layout> parse_layout(const std::string& json) {
  return parse_fields<Layout>(json, "this is not the layout of a run", kOwnFile);
}

}  // namespace muster::layout
