#include "agent/time_out.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace muster::agent {
namespace {

constexpr std::size_t kTail = std::size_t{16} << 10;  // a Python traceback fits

constexpr std::array kTimeOuts = {
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

constexpr std::array kCutOff = {
    std::string_view("Connection closed by peer"),         // Gloo
    std::string_view("Connection reset by peer"),          // Gloo, Open MPI, libfabric
    std::string_view("Connection closed by remote peer"),  // NCCL
    std::string_view("remote process exited or there was a network error"),  // NCCL
    std::string_view("Connection was likely closed"),                        // c10d's store
};

bool has_any(std::string_view text, std::span<const std::string_view> phrases) {
  return std::any_of(phrases.begin(), phrases.end(), [text](std::string_view phrase) {
    return text.find(phrase) != std::string_view::npos;
  });
}

}  // namespace

bool says_cut_off(std::string_view errors) {
  return has_any(errors, kCutOff);
}

void ErrorTail::add(std::string_view bytes) {
  tail_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kTail)));
  if (tail_.size() > 2 * kTail) tail_.erase(0, tail_.size() - kTail);
}

bool ErrorTail::mentions_time_out() const {
  return has_any(tail_, kTimeOuts);
}

bool ErrorTail::mentions_cut_off() const {
  return says_cut_off(tail_);
}

}  // namespace muster::agent
