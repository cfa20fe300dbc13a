#include "agent/reach_listener.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "sys/tcp.hpp"

namespace muster::agent {
namespace {

constexpr int kHighestPort = 65535;
// How long a visitor may take to send the token while others wait to be accepted. Hosts of the job
// send it as soon as they can; strangers who send nothing must not keep them out.
constexpr std::chrono::seconds kToSpeak{5};

}  // namespace

std::size_t affordable_descriptors(std::size_t share, std::size_t most) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 1;
  return std::clamp<std::size_t>(files.rlim_cur / share, 1, most);
}

void close_at_once(sys::Fd socket) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

ReachListener::ReachListener(const std::vector<Endpoint>& endpoints, std::string token)
    : token_(std::move(token)) {
  for (const Endpoint& endpoint : endpoints) {
    const int port = std::clamp(endpoint.port, 0, kHighestPort);
    auto socket = sys::listen_tcp(endpoint.address, static_cast<std::uint16_t>(port));
    listening_.push_back(socket ? *std::move(socket) : sys::Fd());
  }
}

ReachListener::~ReachListener() {
  for (Visitor& visitor : visitors_) close_at_once(std::move(visitor.socket));
}

std::vector<int> ReachListener::ports() const {
  std::vector<int> ports;
  for (const sys::Fd& socket : listening_) {
    ports.push_back(socket.valid() ? sys::port_of(socket) : 0);
  }
  return ports;
}

void ReachListener::watch(std::vector<pollfd>& polled) const {
  for (const sys::Fd& socket : listening_) {
    polled.push_back({.fd = is_full() ? -1 : socket.get(), .events = POLLIN, .revents = 0});
  }
  for (const Visitor& visitor : visitors_) {
    polled.push_back({.fd = visitor.socket.get(), .events = POLLIN, .revents = 0});
  }
}

void ReachListener::take(const pollfd* polled, Clock::time_point now) {
  const auto silent_since = is_full() ? now - kToSpeak : Clock::time_point::min();
  const pollfd* of_visitor = polled + listening_.size();
  for (Visitor& visitor : visitors_) {
    const bool is_silent = visitor.bytes < kTokenBytes && visitor.since <= silent_since;
    if ((of_visitor++)->revents != 0) {
      read_from(visitor);
    } else {
      visitor.over = is_silent;
    }
    if (visitor.over) close_at_once(std::move(visitor.socket));
  }
  std::erase_if(visitors_, [](const Visitor& visitor) { return visitor.over; });
  for (const sys::Fd& socket : listening_) {
    if ((polled++)->revents != 0) accept_from(socket, now);
  }
}

void ReachListener::accept_from(const sys::Fd& listening, Clock::time_point now) {
  while (!is_full()) {
    sys::Fd socket(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) return;
    visitors_.push_back({.socket = std::move(socket), .since = now});
  }
}

// Answers only once, after all bytes have arrived.
void ReachListener::read_from(Visitor& visitor) {
  const ssize_t count = ::recv(visitor.socket.get(), buffer_.data(), buffer_.size(), 0);
  if (count < 0 && errno == EAGAIN) return;
  visitor.over = count <= 0;
  if (visitor.over) return;
  const std::string_view arrived(buffer_.data(), static_cast<std::size_t>(count));
  visitor.token += arrived.substr(0, kTokenBytes - std::min(kTokenBytes, visitor.bytes));
  visitor.bytes += arrived.size();
  visitor.over = visitor.bytes > kSentBytes || !token_.starts_with(visitor.token);
  if (visitor.over || visitor.bytes < kSentBytes) return;
  const ssize_t sent = ::send(visitor.socket.get(), token_.data(), token_.size(), MSG_NOSIGNAL);
  visitor.over = sent != static_cast<ssize_t>(token_.size());
}

}  // namespace muster::agent
