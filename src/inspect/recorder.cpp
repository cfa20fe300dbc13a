#include "inspect/recorder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/lower_case.hpp"
#include "facts/pseudo_file.hpp"
#include "inspect/flight_record.hpp"
#include "sys/local_address.hpp"
#include "sys/local_socket.hpp"

namespace muster::inspect {
namespace {

constexpr std::size_t kMostSockets = 4096;
constexpr std::size_t kMostHeaderBytes = std::size_t{16} << 10;

// Never blocks. A recorder whose queue is full would not answer anyway.
sys::Fd connect_in(int folder, const std::string& name) {
  sys::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // The path of the folder itself may be too long for a socket address.
  const auto address = sys::local_address(fmt::format("/proc/self/fd/{}/{}", folder, name));
  if (!fd.valid() || !address) return {};
  if (::connect(fd.get(), sys::as_sockaddr(*address), sizeof *address) != 0) return {};
  return fd;
}

// The PID of the listening process if it belongs to the same user, otherwise 0.
pid_t peer_of_ours(int socket) {
  const auto peer = sys::peer_of(socket);
  return peer && peer->uid == ::geteuid() ? peer->pid : 0;
}

bool send_request(int fd, std::string_view request, Deadline deadline) {
  while (!request.empty()) {
    if (!wait_for(fd, POLLOUT, deadline)) return false;
    const ssize_t sent = ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) return false;
    request.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::size_t announced_length(std::string_view headers) {
  for (const std::string_view line : facts::split(headers, '\n')) {
    const std::string name = lower_case(line.substr(0, line.find(':')));
    if (name != "content-length" || name.size() == line.size()) continue;
    return facts::number<std::size_t>(facts::trimmed(line.substr(name.size() + 1)))
        .value_or(SIZE_MAX);
  }
  return SIZE_MAX;
}

}  // namespace

std::optional<RecorderAnswer> parse_http(std::string_view text, bool has_ended) {
  constexpr std::string_view kHeadersEnd = "\r\n\r\n";
  const std::size_t end = text.find(kHeadersEnd);
  if (end == std::string_view::npos) {
    if (has_ended || text.size() > kMostHeaderBytes) return RecorderAnswer{};
    return std::nullopt;
  }
  const auto status = facts::words(text.substr(0, text.find('\r')));
  if (status.size() < 2 || !status[0].starts_with("HTTP/")) return RecorderAnswer{};
  if (status[1] != "200") return RecorderAnswer{};
  const std::string_view body = text.substr(end + kHeadersEnd.size());
  const std::size_t announced = announced_length(text.substr(0, end));
  const bool is_known = announced != SIZE_MAX;
  if (is_known && body.size() >= announced) {
    return RecorderAnswer{.answered = Answered::kYes,
                          .body = std::string(body.substr(0, announced))};
  }
  if (!has_ended) return std::nullopt;
  if (is_known) return RecorderAnswer{};  // the body was cut off
  return RecorderAnswer{.answered = Answered::kYes, .body = std::string(body)};
}

Recorders::Recorders(const std::string& folder, std::span<const pid_t> ours) {
  if (folder.empty()) return;
  folder_ = sys::Fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder_.valid()) return;
  std::vector<std::string> names = facts::names_in(folder);
  if (names.size() > kMostSockets) names.resize(kMostSockets);
  for (const std::string& name : names) {
    const sys::Fd fd = connect_in(folder_.get(), name);
    if (!fd.valid()) continue;  // the process has ended
    const pid_t pid = peer_of_ours(fd.get());
    if (std::ranges::find(ours, pid) != ours.end()) list_.push_back({.name = name, .pid = pid});
  }
}

RecorderAnswer Recorders::ask(const std::string& name, std::string_view handler,
                              Deadline deadline) const {
  const sys::Fd fd = connect_in(folder_.get(), name);
  if (!fd.valid()) return {};
  const std::string request = fmt::format(
      "POST /handler/{} HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", handler);
  if (!send_request(fd.get(), request, deadline)) return {.answered = Answered::kNotInTime};
  std::string text;
  std::array<char, 16384> buffer{};
  while (wait_for(fd.get(), POLLIN, deadline)) {
    const ssize_t got = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxRecordBytes + kMostHeaderBytes) return {};
    if (auto answer = parse_http(text, got <= 0)) return *std::move(answer);
  }
  return {.answered = Answered::kNotInTime};
}

}  // namespace muster::inspect
