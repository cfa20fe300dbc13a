#include "facts/netlink.hpp"

#include <algorithm>
#include <cerrno>

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "sys/file.hpp"

namespace muster::facts {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{8} << 20;
constexpr int kMostErrno = 4096;  // same value as in the kernel

std::size_t aligned(std::size_t bytes) {
  return (bytes + 3) & ~std::size_t{3};
}

Result<sys::Fd> send_question(std::uint16_t type, std::uint8_t family) {
  sys::Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!fd.valid()) return unexpected(system_error("cannot open a routing socket"));
  const timeval patience{.tv_sec = 2, .tv_usec = 0};
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  struct {
    nlmsghdr header;
    // This struct suits every type of query. With a longer one, the kernel would log a complaint.
    rtgenmsg body;
    char padding[3];
  } question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = type;
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.body.rtgen_family = family;
  if (::send(fd.get(), &question, sizeof question, 0) < 0) {
    return unexpected(system_error("cannot ask the kernel for its network"));
  }
  return fd;
}

}  // namespace

std::string_view bytes_of(const Attributes& attributes, std::uint16_t type) {
  const auto found = attributes.find(type);
  return found == attributes.end() ? std::string_view() : found->second;
}

std::string ip_text(int family, std::string_view bytes) {
  if (family != AF_INET && family != AF_INET6) return {};
  if (bytes.size() != (family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr))) return {};
  char text[INET6_ADDRSTRLEN] = {};
  return ::inet_ntop(family, bytes.data(), text, sizeof text) == nullptr ? "" : text;
}

Attributes parse_attributes(std::string_view bytes) {
  Attributes attributes;
  while (bytes.size() >= sizeof(rtattr)) {
    const auto attribute = value_of<rtattr>(bytes);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > bytes.size()) break;
    const auto type = static_cast<std::uint16_t>(attribute.rta_type & NLA_TYPE_MASK);
    attributes[type] = bytes.substr(sizeof attribute, attribute.rta_len - sizeof attribute);
    bytes.remove_prefix(std::min(bytes.size(), aligned(attribute.rta_len)));
  }
  return attributes;
}

Result<bool> take_messages(std::string_view bytes, std::size_t fixed_bytes, Answers& answers) {
  while (bytes.size() >= sizeof(nlmsghdr)) {
    const auto header = value_of<nlmsghdr>(bytes);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > bytes.size()) break;
    if (header.nlmsg_type == NLMSG_DONE) return true;
    std::string_view body = bytes.substr(sizeof header, header.nlmsg_len - sizeof header);
    if (header.nlmsg_type == NLMSG_ERROR) {
      // Negating the smallest int would overflow.
      const auto code = -static_cast<std::int64_t>(value_of<int>(body));
      errno = code > 0 && code < kMostErrno ? static_cast<int>(code) : EIO;
      return unexpected(system_error("the kernel does not report its network"));
    }
    if (body.size() >= fixed_bytes) {
      answers.messages.push_back({.type = header.nlmsg_type,
                                  .fixed = body.substr(0, fixed_bytes),
                                  .attributes = parse_attributes(body.substr(fixed_bytes))});
    }
    bytes.remove_prefix(std::min(bytes.size(), aligned(header.nlmsg_len)));
  }
  return false;
}

Result<Answers> ask_kernel(std::uint16_t type, std::uint8_t family, std::size_t fixed_bytes) {
  MUSTER_TRY(const sys::Fd fd, send_question(type, family));
  Answers answers;
  std::size_t total = 0;
  while (true) {
    // On the heap, so that it does not move: the messages point into it.
    std::string buffer(65536, '\0');
    const ssize_t got = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return unexpected(system_error("the kernel does not report its network"));
    total += static_cast<std::size_t>(got);
    if (total > kMaxBytes) return unexpected(Error{.what = "the kernel's table is too long"});
    answers.buffers.push_back(std::move(buffer));
    const std::string_view bytes(answers.buffers.back().data(), static_cast<std::size_t>(got));
    MUSTER_TRY(const bool is_done, take_messages(bytes, fixed_bytes, answers));
    if (is_done) return answers;
  }
}

}  // namespace muster::facts
