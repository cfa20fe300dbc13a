#include "agent/time_out.hpp"

#include <algorithm>
#include <array>

namespace muster::agent {
namespace {

constexpr std::size_t kTail = std::size_t{16} << 10;  // a Python traceback fits

constexpr std::array kPhrases = {
    // c10d: its store, its rendezvous, and monitored_barrier
    std::string_view("wait timeout after "),
    std::string_view("seconds waiting for clients"),
    std::string_view("Timed out initializing process group"),
    std::string_view("client socket has timed out after"),
    std::string_view("RuntimeError: Socket Timeout"),
    std::string_view("timed out in monitoredBarrier"),
    std::string_view("failed to pass monitoredBarrier"),
    // Gloo
    std::string_view("ms for send operation to complete"),
    std::string_view("ms for recv operation to complete"),
    std::string_view("Application timeout caused pair closure"),
    std::string_view("Connect timeout ["),
    // c10d's watchdog of NCCL
    std::string_view("Watchdog caught collective operation timeout"),
    std::string_view("Heartbeat monitor timed out"),
    // muster's MPI backend
    std::string_view("did not end within "),
    std::string_view("did not all create their group within "),
};

}  // namespace

void ErrorTail::add(std::string_view bytes) {
  tail_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kTail)));
  if (tail_.size() > 2 * kTail) tail_.erase(0, tail_.size() - kTail);
}

bool ErrorTail::mentions_time_out() const {
  return std::any_of(kPhrases.begin(), kPhrases.end(), [this](std::string_view phrase) {
    return tail_.find(phrase) != std::string::npos;
  });
}

}  // namespace muster::agent
