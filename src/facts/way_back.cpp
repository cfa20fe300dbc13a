#include "facts/way_back.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>

#include "sys/file.hpp"
#include "sys/socket_address.hpp"

namespace muster::facts {
namespace {

using Clock = std::chrono::steady_clock;

struct Attempt {
  std::string address;
  sys::Fd socket = {};
  int error = EINPROGRESS;  // 0: an answer
};

Attempt begin(const std::string& address, int port) {
  Attempt attempt{.address = address};
  const auto to = sys::parse_socket_address(address, static_cast<std::uint16_t>(port));
  if (!to) {
    attempt.error = EINVAL;
    return attempt;
  }
  attempt.socket = sys::Fd(::socket(to->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool done =
      attempt.socket.valid() && ::connect(attempt.socket.get(), to->pointer(), to->length) == 0;
  attempt.error = done ? 0 : errno;
  return attempt;
}

bool answered(const Attempt& attempt) {
  return attempt.error == 0 || attempt.error == ECONNREFUSED;
}

bool is_pending(const Attempt& attempt) {
  return attempt.error == EINPROGRESS;
}

void take_end(Attempt& attempt) {
  socklen_t bytes = sizeof attempt.error;
  ::getsockopt(attempt.socket.get(), SOL_SOCKET, SO_ERROR, &attempt.error, &bytes);
}

void wait_for_one(std::vector<Attempt>& attempts, std::chrono::milliseconds at_most) {
  std::vector<pollfd> polled;
  for (const Attempt& attempt : attempts) {
    polled.push_back({.fd = is_pending(attempt) ? attempt.socket.get() : -1, .events = POLLOUT});
  }
  if (::poll(polled.data(), polled.size(), static_cast<int>(at_most.count())) <= 0) return;
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents != 0) take_end(attempts[i]);
  }
}

}  // namespace

std::string why_unreachable(const std::vector<std::string>& addresses, int port,
                            std::chrono::milliseconds deadline) {
  constexpr std::size_t kMost = 16;
  std::vector<Attempt> attempts;
  for (const std::string& address : addresses) {
    if (attempts.size() < kMost) attempts.push_back(begin(address, port));
  }
  const auto end = Clock::now() + deadline;
  while (std::none_of(attempts.begin(), attempts.end(), answered) &&
         std::any_of(attempts.begin(), attempts.end(), is_pending)) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) break;
    wait_for_one(attempts, left);
  }
  std::vector<std::string> texts;
  for (const Attempt& attempt : attempts) {
    if (answered(attempt)) return {};
    texts.push_back(fmt::format("{} port {}: {}", attempt.address, port,
                                is_pending(attempt)
                                    ? fmt::format("no answer within {:g} s",
                                                  std::chrono::duration<double>(deadline).count())
                                    : ::strerror(attempt.error)));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace muster::facts
