// How the ranks of a group are connected, as far as this process can see.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "torch/membership.hpp"
#include "torch/own_connections.hpp"

namespace muster {

// Of every two ranks, one connects to the address that the other has stored as GROUP/NETWORK/RANK.
// The addresses that the kernel reports show whether both ends belong to the job: if a relay stands
// between the ranks, its own connection has a different port. Create this object before the group
// connects, because only later connections count.
class GlooLinks : public Links {
 public:
  // Like the functions below, throws CannotCheck if the kernel or the store lacks what it needs.
  GlooLinks(const SignedStore& store, std::string group, int rank);

  void look() override;
  [[nodiscard]] std::string agreed() const override { return store_.digest(); }
  [[nodiscard]] std::string opened(std::size_t network, int other) const override;
  [[nodiscard]] bool accepted(std::size_t network, const std::string& end) const override;

 private:
  [[nodiscard]] SocketEnd address(std::size_t network, int rank) const;

  const SignedStore& store_;
  std::string group_;
  int rank_;
  std::set<Connection> earlier_;
  std::set<Connection> connections_;
  // By the peer's end: our own ends of the connections to it.
  std::map<SocketEnd, std::vector<SocketEnd>> to_;
};

}  // namespace muster
