#include "inspect/connections.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "facts/netlink.hpp"
#include "facts/pseudo_file.hpp"
#include "inspect/process_texts.hpp"
#include "sys/file.hpp"

namespace muster::inspect {
namespace {

constexpr std::size_t kMostSocketBytes = std::size_t{32} << 20;
constexpr std::size_t kMostTableBytes = std::size_t{8} << 20;
constexpr std::size_t kMostFiles = 65536;
constexpr std::size_t kMostLooks = 262144;
constexpr std::uint64_t kMostMoved = std::uint64_t{1} << 50;

// In the order of the kernel's net/tcp_states.h, whose first state has the number 1.
constexpr const char* kStates[] = {"established", "syn-sent",  "syn-received", "fin-wait-1",
                                   "fin-wait-2",  "time-wait", "closed",       "close-wait",
                                   "last-ack",    "listening", "closing",      "syn-received"};
constexpr unsigned kEstablished = 1;
constexpr unsigned kTimeWait = 6;
constexpr unsigned kListening = 10;

std::string state_name(unsigned number) {
  return number >= 1 && number <= std::size(kStates) ? kStates[number - 1] : "unknown";
}

// The text of an address. An IPv4 address inside an IPv6 one is shown in IPv4 notation.
std::string address_text(int family, std::string_view bytes) {
  std::string text = facts::ip_text(family, bytes);
  constexpr std::string_view kMapped = "::ffff:";
  if (text.starts_with(kMapped) && text.find('.') != std::string::npos) {
    text.erase(0, kMapped.size());
  }
  return text;
}

std::string_view address_bytes(int family, const __be32 (&words)[4]) {
  const std::size_t size = family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr);
  return {reinterpret_cast<const char*>(&words[0]), size};
}

void take_tcp_info(std::string_view bytes, SocketLook& look) {
  if (bytes.empty()) return;
  const auto info = facts::value_of<tcp_info>(bytes);
  look.connection.retransmits = info.tcpi_retransmits;
  look.connection.since_ack_s = info.tcpi_last_ack_recv / 1e3;
  look.connection.round_trip_s = info.tcpi_rtt / 1e6;
  look.retransmitted = info.tcpi_total_retrans;
  look.moved = info.tcpi_bytes_acked + info.tcpi_bytes_received;
  look.busy_us = static_cast<std::int64_t>(
      std::min<std::uint64_t>(info.tcpi_busy_time, static_cast<std::uint64_t>(INT64_MAX)));
}

void add_look(SocketLook look, SocketLooks& looks) {
  if (look.inode != 0 && looks.size() < kMostLooks) looks.insert_or_assign(look.inode, look);
}

SocketLook look_in(const facts::Message& message) {
  const auto fixed = facts::value_of<inet_diag_msg>(message.fixed);
  const int family = fixed.idiag_family;
  SocketLook look{.inode = fixed.idiag_inode, .listens = fixed.idiag_state == kListening};
  look.connection = {.local = address_text(family, address_bytes(family, fixed.id.idiag_src)),
                     .local_port = ntohs(fixed.id.idiag_sport),
                     .peer = address_text(family, address_bytes(family, fixed.id.idiag_dst)),
                     .peer_port = ntohs(fixed.id.idiag_dport),
                     .state = state_name(fixed.idiag_state),
                     .unsent = fixed.idiag_wqueue,
                     .unread = fixed.idiag_rqueue};
  take_tcp_info(facts::bytes_of(message.attributes, INET_DIAG_INFO), look);
  return look;
}

struct AddressAndPort {
  std::string address;
  int port = 0;
};

// Parses "0100007F:1F90": 32-bit words in the byte order of this machine, and a port.
std::optional<AddressAndPort> parse_end(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon != 8 && colon != 32) return std::nullopt;
  std::array<std::uint32_t, 4> address_words{};
  for (std::size_t i = 0; i * 8 < colon; ++i) {
    const auto word = facts::number<std::uint32_t>(text.substr(i * 8, 8), 16);
    if (!word) return std::nullopt;
    address_words[i] = *word;
  }
  const auto port = facts::number<std::uint16_t>(text.substr(colon + 1), 16);
  if (!port) return std::nullopt;
  const std::string_view bytes(reinterpret_cast<const char*>(address_words.data()), colon / 2);
  return AddressAndPort{address_text(colon == 8 ? AF_INET : AF_INET6, bytes), *port};
}

// Parses "sl local remote st tx:rx tr:when retransmits uid timeout inode".
std::optional<SocketLook> parse_tcp_line(std::string_view line) {
  const auto columns = facts::words(line);
  if (columns.size() < 10) return std::nullopt;
  const auto local = parse_end(columns[1]);
  const auto peer = parse_end(columns[2]);
  const auto state = facts::number<unsigned>(columns[3], 16);
  const auto queues = facts::split(columns[4], ':');
  const auto inode = facts::number<std::uint64_t>(columns[9]);
  if (!local || !peer || !state || queues.size() != 2 || !inode) return std::nullopt;
  SocketLook look{.inode = *inode, .listens = *state == kListening};
  look.connection = {
      .local = local->address,
      .local_port = local->port,
      .peer = peer->address,
      .peer_port = peer->port,
      .state = state_name(*state),
      .unsent = facts::number<std::uint32_t>(queues[0], 16).value_or(0),
      .unread = facts::number<std::uint32_t>(queues[1], 16).value_or(0),
      .retransmits = facts::number<std::uint8_t>(columns[6], 16).value_or(std::uint8_t{0})};
  return look;
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

// Returns how informative a connection is; 0 means not at all.
int interest(const Connection& one) {
  if (one.state != state_name(kEstablished)) return 3;
  if (one.retransmits > 0 || one.retransmitted > 0) return 3;
  if (one.unsent > 0) return 2;
  if (one.moved > 0) return 1;
  return one.unread > 0 ? 1 : 0;
}

Result<sys::Fd> ask_for_sockets(std::uint8_t family) {
  sys::Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd.valid()) return unexpected(system_error("cannot open a socket monitor"));
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  struct {
    nlmsghdr header;
    inet_diag_req_v2 body;
  } question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.body.sdiag_family = family;
  question.body.sdiag_protocol = IPPROTO_TCP;
  question.body.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  question.body.idiag_states = ~(1U << kTimeWait);  // sockets in this state belong to no process
  if (::send(fd.get(), &question, sizeof question, 0) < 0) {
    return unexpected(system_error("cannot ask the kernel for its sockets"));
  }
  return fd;
}

Result<void> look_at_family(std::uint8_t family, SocketLooks& looks) {
  MUSTER_TRY(const sys::Fd fd, ask_for_sockets(family));
  std::string buffer(65536, '\0');
  std::size_t total = 0;
  while (total < kMostSocketBytes) {
    const ssize_t got = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return unexpected(system_error("the kernel does not report its sockets"));
    total += static_cast<std::size_t>(got);
    MUSTER_TRY(const bool is_done,
               take_sockets({buffer.data(), static_cast<std::size_t>(got)}, looks));
    if (is_done) return {};
  }
  return unexpected(Error{.what = "the kernel's table of sockets is too long"});
}

}  // namespace

Result<bool> take_sockets(std::string_view bytes, SocketLooks& looks) {
  facts::Answers answers;
  MUSTER_TRY(const bool is_done, facts::take_messages(bytes, sizeof(inet_diag_msg), answers));
  for (const facts::Message& message : answers.messages) {
    if (message.type == SOCK_DIAG_BY_FAMILY) add_look(look_in(message), looks);
  }
  return is_done;
}

void take_tcp_table(std::string_view text, SocketLooks& looks) {
  for (const std::string_view line : facts::split(text, '\n')) {
    if (auto look = parse_tcp_line(line)) add_look(*std::move(look), looks);
  }
}

std::vector<Connection> compare_sockets(const std::set<std::uint64_t>& inodes,
                                        const SocketLooks& before, const SocketLooks& after,
                                        double window_s) {
  std::vector<Connection> connections;
  for (const std::uint64_t inode : inodes) {
    const auto now = after.find(inode);
    if (now == after.end() || now->second.listens) continue;
    Connection one = now->second.connection;
    const auto earlier = before.find(inode);
    if (earlier != before.end()) {
      one.retransmitted =
          std::max<std::int64_t>(0, now->second.retransmitted - earlier->second.retransmitted);
      one.moved = static_cast<std::int64_t>(std::min(
          now->second.moved - std::min(now->second.moved, earlier->second.moved), kMostMoved));
      const auto busy_s = static_cast<double>(now->second.busy_us - earlier->second.busy_us) / 1e6;
      one.busy = window_s > 0 ? std::clamp(busy_s / window_s, 0.0, 1.0) : 0;
    }
    const bool is_inside = is_loopback(one.local) && is_loopback(one.peer);
    if (!is_inside || interest(one) > 0) connections.push_back(std::move(one));
  }
  std::ranges::stable_sort(connections, std::greater(), interest);
  if (connections.size() > kMostConnections) connections.resize(kMostConnections);
  return connections;
}

Result<SocketLooks> look_at_sockets() {
  SocketLooks looks;
  MUSTER_CHECK(look_at_family(AF_INET, looks));
  // An error is ignored, because a kernel may lack IPv6.
  (void)look_at_family(AF_INET6, looks);
  return looks;
}

SocketLooks look_at_sockets_of(pid_t pid) {
  SocketLooks looks;
  for (const char* name : {"tcp", "tcp6"}) {
    const auto text = facts::read_start(fmt::format("/proc/{}/net/{}", pid, name), kMostTableBytes);
    take_tcp_table(text.value_or(""), looks);
  }
  return looks;
}

std::set<std::uint64_t> socket_inodes(std::span<const pid_t> pids) {
  std::set<std::uint64_t> inodes;
  for (const pid_t pid : pids) {
    const std::string folder = fmt::format("/proc/{}/fd", pid);
    std::vector<std::string> names = facts::names_in(folder);
    if (names.size() > kMostFiles) names.resize(kMostFiles);
    for (const std::string& name : names) {
      const std::uint64_t inode = socket_inode_of(link_target(folder + "/" + name));
      if (inode != 0) inodes.insert(inode);
    }
  }
  return inodes;
}

}  // namespace muster::inspect
