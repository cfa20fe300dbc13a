#include "agent/reach_caller.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "agent/reach_listener.hpp"

namespace muster::agent {
namespace {

using facts::Reached;
using std::chrono::milliseconds;

// Attempts to connect begin after 0, 0.2, 0.6 and 1.4 s. Each sends a fresh packet, and the kernel
// repeats the packet of the last one, so that packet loss is not mistaken for a firewall.
constexpr milliseconds kFirstPause{200};
constexpr milliseconds kToConnect{3000};
// How long an established connection may go without an acknowledgement. The kernel sends a lost
// packet four times in that time.
constexpr milliseconds kToProgress{3000};
constexpr milliseconds kAll{15000};
constexpr milliseconds kLook{20};  // how often to look at the progress of a call
constexpr std::size_t kMostAtOnce = 256;

// A call ends after this many rejections. A single one may be due to a route that is changing.
constexpr int kRejections = 2;

bool is_by_network(int error) {
  return error == EHOSTUNREACH || error == ENETUNREACH || error == EACCES || error == EPERM;
}

// The result of a call that never connected, from its last error; 0 means that no reply came.
Reached verdict_on(int error) {
  if (error == 0 || error == ETIMEDOUT) return Reached::kTimedOut;
  // Other errors mean that this host lacks a resource.
  return is_by_network(error) ? Reached::kNoRoute : Reached::kUntried;
}

int pending_error(const sys::Fd& socket) {
  int error = 0;
  socklen_t bytes = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

}  // namespace

ReachCaller::ReachCaller(std::vector<Target> targets, Clock::time_point now)
    : targets_(std::move(targets)),
      reached_(targets_.size(), Reached::kUntried),
      at_once_(affordable_descriptors(4, kMostAtOnce)),
      end_(now + kAll) {
  start_calls(now);
}

ReachCaller::~ReachCaller() {
  give_up();
}

void ReachCaller::give_up() {
  for (Call& call : calls_) close_at_once(std::move(call.socket));
  calls_.clear();
  next_ = targets_.size();
}

void ReachCaller::start_calls(Clock::time_point now) {
  while (next_ < targets_.size() && calls_.size() < at_once_) {
    const Target& target = targets_[next_];
    Call call{.target = next_++,
              .address = sys::parse_socket_address(target.at.address,
                                                   static_cast<std::uint16_t>(target.at.port)),
              .pause = kFirstPause,
              .deadline = now + kToConnect};
    if (!call.address) continue;
    dial(call, now);
    calls_.push_back(std::move(call));
  }
}

void ReachCaller::dial(Call& call, Clock::time_point now) {
  close_at_once(std::move(call.socket));
  call.socket =
      sys::Fd(::socket(call.address->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int done = ::connect(call.socket.get(), call.address->pointer(), call.address->length);
  if (done != 0 && errno != EINPROGRESS) take_error(call, errno);
  call.retry = now + call.pause;
  call.pause *= 2;
}

// Closes the socket until the next try, because poll would otherwise return at once, again and
// again.
void ReachCaller::take_error(Call& call, int error) {
  call.error = error;
  if (is_by_network(error)) ++call.rejections;
  close_at_once(std::move(call.socket));
}

void ReachCaller::watch(std::vector<pollfd>& polled) const {
  for (const Call& call : calls_) {
    const bool writes = !call.connected || call.sent < kSentBytes;
    polled.push_back({.fd = call.socket.get(),
                      .events = static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN),
                      .revents = 0});
  }
}

milliseconds ReachCaller::patience(Clock::time_point now) const {
  Clock::time_point next = end_;
  for (const Call& call : calls_) {
    next = std::min(next, call.connected ? now + kLook : std::min(call.retry, call.deadline));
  }
  return std::max(std::chrono::ceil<milliseconds>(next - now), milliseconds(0));
}

void ReachCaller::take(const pollfd* polled, Clock::time_point now) {
  for (Call& call : calls_) {
    const bool is_ready = (polled++)->revents != 0;
    if (is_ready && !call.connected) take_connection(call, now);
    if (call.connected) talk(call, now);
    if (call.target < targets_.size()) check_time(call, now);
  }
  std::erase_if(calls_, [this](const Call& call) { return call.target == targets_.size(); });
  if (now >= end_) give_up();
  start_calls(now);
}

void ReachCaller::take_connection(Call& call, Clock::time_point now) {
  const int error = pending_error(call.socket);
  if (error == ECONNREFUSED) return end(call, Reached::kRefused);
  if (error != 0) return take_error(call, error);
  call.connected = true;
  call.deadline = now + kToProgress;
  const int on = 1;
  (void)::setsockopt(call.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void ReachCaller::talk(Call& call, Clock::time_point now) {
  send_rest(call);
  if (call.target < targets_.size()) read_answer(call);
  if (call.target < targets_.size()) look_at_progress(call, now);
}

// Sends the token in a packet of its own first. If only this packet arrives, large packets are
// lost.
void ReachCaller::send_rest(Call& call) {
  static const std::string filler(kBurstBytes, 'm');
  const std::string& token = targets_[call.target].token;
  std::string first = token;
  first.resize(kTokenBytes, '-');
  while (call.sent < kSentBytes) {
    const std::string_view rest = call.sent < kTokenBytes
                                      ? std::string_view(first).substr(call.sent)
                                      : std::string_view(filler).substr(call.sent - kTokenBytes);
    const ssize_t count = ::send(call.socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return end(call, errno == ETIMEDOUT ? Reached::kLargeLost : Reached::kCutOff);
    call.sent += static_cast<std::size_t>(count);
  }
}

void ReachCaller::read_answer(Call& call) {
  char bytes[kTokenBytes];
  const ssize_t count = ::recv(call.socket.get(), bytes, sizeof bytes, 0);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) {
    return end(call, count < 0 && errno == ETIMEDOUT ? Reached::kLargeLost : Reached::kCutOff);
  }
  call.answer.append(bytes, static_cast<std::size_t>(count));
  const std::string& token = targets_[call.target].token;
  if (call.answer == token) return end(call, Reached::kYes);
  // Another program is listening there.
  if (!token.starts_with(call.answer)) end(call, Reached::kCutOff);
}

void ReachCaller::look_at_progress(Call& call, Clock::time_point now) {
  int unacknowledged = 0;
  if (::ioctl(call.socket.get(), SIOCOUTQ, &unacknowledged) != 0) return;
  const std::size_t acknowledged = call.sent - static_cast<std::size_t>(unacknowledged);
  if (acknowledged > call.acknowledged) call.deadline = now + kToProgress;
  call.acknowledged = acknowledged;
  const bool is_silent = targets_[call.target].token.empty();
  if (is_silent && acknowledged > kTokenBytes) end(call, Reached::kYes);
}

void ReachCaller::check_time(Call& call, Clock::time_point now) {
  if (call.connected) {
    if (now < call.deadline || call.acknowledged > kTokenBytes) return;
    return end(call, call.acknowledged < kTokenBytes ? Reached::kTimedOut : Reached::kLargeLost);
  }
  if (now >= call.retry && now < call.deadline) dial(call, now);
  const bool is_over = now >= call.deadline || call.rejections >= kRejections;
  if (is_over) end(call, verdict_on(call.error));
}

// Marks the call as finished by an index past the last target.
void ReachCaller::end(Call& call, Reached how) {
  reached_[call.target] = how;
  call.target = targets_.size();
  close_at_once(std::move(call.socket));
}

}  // namespace muster::agent
