#include "bench/pod_shares.hpp"

namespace muster::bench {

std::vector<PodShare> pod_shares(int pods, int ranks_per_pod) {
  std::vector<PodShare> shares;
  for (int ranks = 2; ranks < ranks_per_pod; ranks *= 2) shares.push_back({1, ranks});
  if (ranks_per_pod > 1) shares.push_back({1, ranks_per_pod});
  for (int some = 2; some < pods; some *= 2) shares.push_back({some, ranks_per_pod});
  if (pods > 1) shares.push_back({pods, ranks_per_pod});
  return shares;
}

}  // namespace muster::bench
