// The listening side of the connection test: open sockets that answer only the other hosts of the
// job, and these only with the token that they sent.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <poll.h>

#include "agent/protocol.hpp"
#include "sys/file.hpp"

namespace muster::agent {

// What a caller sends: the token in a packet of its own, then enough bytes for full-size packets on
// any network, including the 65520 bytes of InfiniBand.
inline constexpr std::size_t kTokenBytes = 32;
inline constexpr std::size_t kBurstBytes = 65536;
inline constexpr std::size_t kSentBytes = kTokenBytes + kBurstBytes;

// How many descriptors a part of the program may use: one in `share` of those that this process may
// open, and at most `most`.
[[nodiscard]] std::size_t affordable_descriptors(std::size_t share, std::size_t most);

// Closes the socket with a reset, skipping TCP's TIME_WAIT, because the job is about to use the
// same ports.
void close_at_once(sys::Fd socket);

class ReachListener {
 public:
  using Clock = std::chrono::steady_clock;

  ReachListener(const std::vector<Endpoint>& endpoints, std::string token);
  ReachListener(const ReachListener&) = delete;
  ReachListener& operator=(const ReachListener&) = delete;
  ~ReachListener();

  // The port of each endpoint; 0 if this host cannot listen there.
  [[nodiscard]] std::vector<int> ports() const;

  // Appends what must be polled. After the poll, `take` gets the same entries.
  void watch(std::vector<pollfd>& polled) const;
  // Handles the polled entries. The poll began at `now`.
  void take(const pollfd* polled, Clock::time_point now);

 private:
  struct Visitor {
    sys::Fd socket;
    Clock::time_point since;
    std::string token = {};  // as much as has arrived
    std::size_t bytes = 0;
    bool over = false;
  };

  [[nodiscard]] bool is_full() const { return visitors_.size() >= most_visitors_; }
  void accept_from(const sys::Fd& listening, Clock::time_point now);
  void read_from(Visitor& visitor);

  std::string token_;
  // Further callers wait in the kernel's queue. Each visitor costs a descriptor, and strangers can
  // connect too.
  std::size_t most_visitors_ = affordable_descriptors(2, 400);
  std::vector<sys::Fd> listening_;
  std::vector<Visitor> visitors_;
  std::string buffer_ = std::string(kBurstBytes, '\0');  // receives and discards what arrives
};

}  // namespace muster::agent
