// How the ranks of a group are connected, as far as this process can see.
#pragma once

#include <set>
#include <string>

#include "torch/membership.hpp"
#include "torch/own_connections.hpp"

namespace muster {

// Gloo's: of two ranks, one connects to the address that the other has stored as
// GROUP/NETWORK/RANK. That both ends are ours shows only by the kernel's addresses: whoever takes
// the connection and opens another to us has another port. Made before the group connects: groups
// of a process share their addresses, and only new connections count.
class GlooLinks : public Links {
 public:
  GlooLinks(const SignedStore& store, std::string group, int rank);

  void look() override;
  [[nodiscard]] std::string agreed() const override { return store_.digest(); }
  [[nodiscard]] std::string opened(std::size_t network, int other) const override;
  [[nodiscard]] bool accepted(std::size_t network, const std::string& end) const override;

 private:
  [[nodiscard]] std::string address(std::size_t network, int rank) const;

  const SignedStore& store_;
  std::string group_;
  int rank_;
  std::set<Connection> earlier_;
  std::set<Connection> connections_;
};

}  // namespace muster
