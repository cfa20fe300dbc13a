// The listening side of the connection test: open sockets that answer nobody but the other hosts
// of the job, and these only with the token that they sent.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <poll.h>

#include "agent/protocol.hpp"
#include "sys/file.hpp"

namespace muster::agent {

// What a caller sends: the token, in a packet of its own, then bytes enough for full-size packets
// of any network, also of InfiniBand's 65520 bytes.
inline constexpr std::size_t kTokenBytes = 32;
inline constexpr std::size_t kBurstBytes = 65536;
inline constexpr std::size_t kSentBytes = kTokenBytes + kBurstBytes;

// At most `most` descriptors, and no more than this share of those that the process may have.
[[nodiscard]] std::size_t affordable_descriptors(std::size_t share, std::size_t most);

// Without what TCP does after a close: the job is about to use the same ports.
void close_at_once(sys::Fd socket);

class ReachListener {
 public:
  using Clock = std::chrono::steady_clock;

  ReachListener(const std::vector<Endpoint>& endpoints, std::string token);
  ReachListener(const ReachListener&) = delete;
  ReachListener& operator=(const ReachListener&) = delete;
  ~ReachListener();

  // Of each endpoint; 0: it cannot listen there.
  [[nodiscard]] std::vector<int> ports() const;

  // Adds what it waits for; `take` gets the same entries after a poll.
  void watch(std::vector<pollfd>& polled) const;
  // The poll began at `now`.
  void take(const pollfd* polled, Clock::time_point now);

 private:
  struct Visitor {
    sys::Fd socket;
    Clock::time_point since;
    std::string token = {};  // as much of it as has arrived
    std::size_t bytes = 0;
    bool over = false;
  };

  [[nodiscard]] bool is_full() const { return visitors_.size() >= most_visitors_; }
  void accept_from(const sys::Fd& listening, Clock::time_point now);
  void read_from(Visitor& visitor);

  std::string token_;
  // More wait in the kernel's queue: each costs a descriptor, and strangers can connect too.
  std::size_t most_visitors_ = affordable_descriptors(2, 400);
  std::vector<sys::Fd> listening_;
  std::vector<Visitor> visitors_;
  std::string buffer_ = std::string(kBurstBytes, '\0');  // for what arrives
};

}  // namespace muster::agent
