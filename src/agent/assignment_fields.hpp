// The JSON fields of an Assignment.
#pragma once

#include "agent/assignment.hpp"
#include "facts/gpu_fields.hpp"

namespace muster::agent {

template <class V>
void fields(V& v, Assignment& p) {
  v("interface", p.interface), v("variables", p.variables), v("host_rank", p.host_rank);
  v("host_count", p.host_count), v("first_rank", p.first_rank), v("ranks", p.ranks);
  v("all_ranks", p.all_ranks), v("bind_to_gpu", p.bind_to_gpu), v("gpus", p.gpus);
}

}  // namespace muster::agent
