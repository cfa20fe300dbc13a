#include "torch/links.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

namespace muster {

GlooLinks::GlooLinks(const SignedStore& store, std::string group, int rank)
    : store_(store), group_(std::move(group)), rank_(rank), earlier_(own_connections()) {}

void GlooLinks::look() {
  connections_ = own_connections();
  std::erase_if(connections_, [this](const Connection& one) { return earlier_.contains(one); });
}

std::string GlooLinks::address(std::size_t network, int rank) const {
  const std::string name = group_ + "/" + std::to_string(network) + "/" + std::to_string(rank);
  const std::string value = store_.known(name);
  if (!value.empty()) return value;
  throw std::runtime_error("this PyTorch stores Gloo's addresses elsewhere than in " + name +
                           "\n  hint: libmuster cannot check who takes part in this job; unset "
                           "MUSTER_JOB_KEY for all ranks to do without that");
}

// Networks may have the same address. Then each of them stands for another connection, whichever:
// the other rank has to accept all of them.
std::string GlooLinks::opened(std::size_t network, int other) const {
  const std::string theirs = address(network, other);
  std::vector<Connection> all;
  std::copy_if(connections_.begin(), connections_.end(), std::back_inserter(all),
               [&](const Connection& one) { return theirs.find(one.peer) != std::string::npos; });
  if (all.empty()) return "";
  std::size_t earlier = 0;
  for (std::size_t i = 0; i < network; ++i) {
    if (address(i, other).find(all.front().peer) != std::string::npos) ++earlier;
  }
  return earlier < all.size() ? all[earlier].local : "";
}

bool GlooLinks::accepted(std::size_t network, const std::string& end) const {
  const std::string ours = address(network, rank_);
  const auto is_it = [&](const Connection& one) {
    std::string peer = one.peer;
    peer.resize(kEndBytes, '\0');
    return peer == end && ours.find(one.local) != std::string::npos;
  };
  return std::any_of(connections_.begin(), connections_.end(), is_it);
}

}  // namespace muster
