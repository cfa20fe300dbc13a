#include "torch/links.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

namespace muster {
namespace {

// Parses the beginning of what Gloo stores for a rank: the length of its host name, the name, the
// length of its address, the address.
SocketEnd stored_address(const std::string& value) {
  std::size_t at = 0;
  const auto next = [&]() -> std::string {
    std::uint64_t size = 0;
    if (value.size() - at < sizeof size) return {};
    std::memcpy(&size, value.data() + at, sizeof size);
    at += sizeof size;
    if (size > value.size() - at) return {};
    at += size;
    return value.substr(at - size, size);
  };
  (void)next();
  return socket_end(next());
}

std::set<Connection> connections_now() try {
  return own_connections();
} catch (const std::runtime_error& error) {
  throw CannotCheck(error.what());
}

}  // namespace

GlooLinks::GlooLinks(const SignedStore& store, std::string group, int rank)
    : store_(store), group_(std::move(group)), rank_(rank), earlier_(connections_now()) {}

void GlooLinks::look() {
  connections_ = connections_now();
  std::erase_if(connections_, [this](const Connection& one) { return earlier_.contains(one); });
  to_.clear();
  for (const Connection& one : connections_) to_[one.peer].push_back(one.local);
}

SocketEnd GlooLinks::address(std::size_t network, int rank) const {
  const std::string name = group_ + "/" + std::to_string(network) + "/" + std::to_string(rank);
  SocketEnd found = stored_address(store_.known(name));
  if (found.empty()) throw CannotCheck("this PyTorch does not store Gloo's addresses in " + name);
  return found;
}

// Networks may share an address. Each of them then claims a different connection to it. Which one
// does not matter.
std::string GlooLinks::opened(std::size_t network, int other) const {
  const SocketEnd theirs = address(network, other);
  const auto found = to_.find(theirs);
  if (found == to_.end()) return "";
  std::size_t earlier = 0;
  for (std::size_t i = 0; i < network; ++i) earlier += address(i, other) == theirs ? 1U : 0U;
  return earlier < found->second.size() ? found->second[earlier] : "";
}

bool GlooLinks::accepted(std::size_t network, const std::string& end) const {
  const SocketEnd ours = address(network, rank_);
  return connections_.contains({ours, end.substr(0, ours.size())});
}

}  // namespace muster
