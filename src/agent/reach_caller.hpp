// The connecting side of the connection test: calls all targets, many at once, and reports how each
// call ended. The result depends on what the kernels of both hosts did, so that a busy host is not
// mistaken for one behind a firewall.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include <poll.h>

#include "agent/protocol.hpp"
#include "sys/file.hpp"
#include "sys/socket_address.hpp"

namespace muster::agent {

class ReachCaller {
 public:
  using Clock = std::chrono::steady_clock;

  // Calls the targets in this order, as many at once as the limit on descriptors allows.
  ReachCaller(std::vector<Target> targets, Clock::time_point now);
  ReachCaller(const ReachCaller&) = delete;
  ReachCaller& operator=(const ReachCaller&) = delete;
  ~ReachCaller();

  // Appends what must be polled. After the poll, `take` gets the same entries.
  void watch(std::vector<pollfd>& polled) const;
  void take(const pollfd* polled, Clock::time_point now);

  // How long the poll may wait before `take` must be called.
  [[nodiscard]] std::chrono::milliseconds patience(Clock::time_point now) const;

  [[nodiscard]] bool over() const { return next_ == targets_.size() && calls_.empty(); }
  [[nodiscard]] const std::vector<facts::Reached>& reached() const { return reached_; }

 private:
  struct Call {
    std::size_t target = 0;
    std::optional<sys::SocketAddress> address = {};  // nothing if the text is not an address
    sys::Fd socket = {};
    bool connected = false;
    int error = 0;                         // of the last try to connect
    int rejections = 0;                    // tries that the network rejected
    std::chrono::milliseconds pause = {};  // before the next try
    Clock::time_point retry = {};          // when to try again, until connected
    // Until the call is connected: when it must be connected. Afterwards: when the other side must
    // have acknowledged more bytes.
    Clock::time_point deadline = {};
    std::size_t sent = 0;
    std::size_t acknowledged = 0;
    std::string answer = {};
  };

  void start_calls(Clock::time_point now);
  void give_up();
  void dial(Call& call, Clock::time_point now);
  static void take_error(Call& call, int error);
  void take_connection(Call& call, Clock::time_point now);
  void talk(Call& call, Clock::time_point now);
  void send_rest(Call& call);
  void read_answer(Call& call);
  void look_at_progress(Call& call, Clock::time_point now);
  void check_time(Call& call, Clock::time_point now);
  void end(Call& call, facts::Reached how);

  std::vector<Target> targets_;
  std::vector<facts::Reached> reached_;
  std::vector<Call> calls_;
  std::size_t next_ = 0;  // the next target to call
  std::size_t at_once_ = 0;
  Clock::time_point end_;
};

}  // namespace muster::agent
