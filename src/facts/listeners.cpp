#include "facts/listeners.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(300);
constexpr std::size_t kMaxTableBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxListeners = 4096;

// Parses "0B0012C6": 32-bit words in the byte order of this machine.
std::string address_of(std::string_view hex) {
  std::array<std::uint32_t, 4> words_of{};
  if (hex.size() != 8 && hex.size() != 32) return {};
  for (std::size_t i = 0; i * 8 < hex.size(); ++i) {
    words_of[i] = number<std::uint32_t>(hex.substr(i * 8, 8), 16).value_or(0);
  }
  char text[INET6_ADDRSTRLEN] = {};
  (void)::inet_ntop(hex.size() == 8 ? AF_INET : AF_INET6, words_of.data(), text, sizeof text);
  return text;
}

std::optional<ListeningSocket> parse_line(std::string_view line) {
  const auto columns = words(line);
  if (columns.size() < 10 || columns[3] != "0A") return std::nullopt;
  const std::size_t colon = columns[1].find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = number<int>(columns[1].substr(colon + 1), 16);
  const auto uid = number<unsigned>(columns[7]);
  const auto inode = number<unsigned long>(columns[9]);
  if (!port || !uid || !inode) return std::nullopt;
  return ListeningSocket{.address = address_of(columns[1].substr(0, colon)),
                         .port = *port,
                         .uid = *uid,
                         .inode = *inode};
}

// The inode in "socket:[12345]"; 0 if the descriptor is not a socket.
unsigned long socket_inode(int folder, const char* name) {
  char target[64];
  const ssize_t length = ::readlinkat(folder, name, target, sizeof target);
  constexpr std::string_view kStart = "socket:[";
  if (length <= 0) return 0;
  const std::string_view text(target, static_cast<std::size_t>(length));
  if (!text.starts_with(kStart) || !text.ends_with(']')) return 0;
  return number<unsigned long>(text.substr(kStart.size(), text.size() - kStart.size() - 1))
      .value_or(0);
}

using Owners = std::map<unsigned long, int>;  // inode -> PID; 0: not found yet

// Searches the open files of one process. Returns how many owners it found.
std::size_t look_at_process(const std::string& folder, int pid, Owners& owners) {
  DIR* const open = ::opendir(folder.c_str());
  if (open == nullptr) return 0;  // we may not see it, or it has ended
  std::size_t found = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else reads this folder's stream
  while (const dirent* entry = ::readdir(open)) {
    if (entry->d_name[0] == '.') continue;
    const auto owner = owners.find(socket_inode(::dirfd(open), entry->d_name));
    if (owner == owners.end() || owner->second != 0) continue;
    owner->second = pid;
    ++found;
  }
  ::closedir(open);
  return found;
}

// Returns false if there was not enough time.
bool find_owners(const std::string& proc, Owners& owners) {
  if (owners.empty()) return true;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::size_t missing = owners.size();
  for (const std::string& name : names_in(proc)) {
    const auto pid = number<int>(name);
    if (!pid) continue;
    if (missing == 0) break;
    if (std::chrono::steady_clock::now() > end) return false;
    missing -= look_at_process(proc + "/" + name + "/fd", *pid, owners);
  }
  return true;
}

}  // namespace

std::vector<ListeningSocket> parse_listening(std::string_view text) {
  std::vector<ListeningSocket> sockets;
  const auto lines = split(text, '\n');
  for (std::size_t i = 1; i < lines.size() && sockets.size() < kMaxListeners; ++i) {
    auto socket = parse_line(lines[i]);
    if (!socket) break;
    sockets.push_back(*std::move(socket));
  }
  return sockets;
}

Result<Listeners> read_listeners(const Users& users, const std::string& proc) {
  const auto table = read_start(proc + "/net/tcp", kMaxTableBytes);
  if (!table)
    return unexpected(system_error("cannot read the table of open ports", proc + "/net/tcp"));
  std::vector<ListeningSocket> sockets = parse_listening(*table);
  // This file does not exist without IPv6.
  for (auto& socket :
       parse_listening(read_start(proc + "/net/tcp6", kMaxTableBytes).value_or(""))) {
    sockets.push_back(std::move(socket));
  }
  Owners owners;
  for (const ListeningSocket& socket : sockets) owners[socket.inode] = 0;
  Listeners listeners;
  if (!find_owners(proc, owners))
    listeners.not_seen = "there are too many open files to examine in time";
  for (ListeningSocket& socket : sockets) {
    const int pid = owners[socket.inode];
    listeners.list.push_back(
        {.port = socket.port,
         .address = std::move(socket.address),
         .pid = pid,
         .user = name_of(users, socket.uid),
         .command = pid == 0 ? "" : first_line(proc + "/" + std::to_string(pid) + "/comm")});
  }
  return listeners;
}

}  // namespace muster::facts
