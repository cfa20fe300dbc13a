#include "setup/client_config.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <sstream>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "remote/ssh.hpp"
#include "sys/file.hpp"

namespace muster::setup {
namespace {

constexpr int kMaxPort = 65535;

bool is_name_character(unsigned char c) {
  return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == ':';
}

Error usage(std::string what, std::string hint = {}) {
  return {.code = ErrorCode::kUsage, .what = std::move(what), .hint = std::move(hint)};
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string unless_dash(const std::string& text) {
  return text == "-" ? std::string() : text;
}

Result<Entry> parse_entry(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> fields;
  for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
  if (fields.size() != 4) return unexpected(usage("a line must have name, user, port and key"));
  Entry entry{fields[0], unless_dash(fields[1]), 0, unless_dash(fields[3])};
  const std::string port = fields[2] == "-" ? "0" : fields[2];
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), entry.port);
  if (error != std::errc() || end != port.data() + port.size() || entry.port > kMaxPort) {
    return unexpected(usage("the port is not a number"));
  }
  MUSTER_CHECK(check_entry(entry));
  return entry;
}

// Escapes %, which starts a token in ssh's configuration. check_entry rejects paths with a quote.
std::string config_path(const std::string& path) {
  std::string text = "\"";
  for (const char c : path) text += c == '%' ? "%%" : std::string(1, c);
  return text + "\"";
}

constexpr std::string_view kSettings =
    "  IdentitiesOnly yes\n"
    "  UserKnownHostsFile ~/.ssh/muster/known_hosts.d/%n\n"
    // Only the pinned key counts: no system-wide source may vouch for another one.
    "  GlobalKnownHostsFile /dev/null\n"
    "  KnownHostsCommand none\n"
    "  VerifyHostKeyDNS no\n"
    "  StrictHostKeyChecking yes\n"
    "  CheckHostIP no\n"
    "  UpdateHostKeys no\n"
    "  ServerAliveInterval 5\n"
    "  ServerAliveCountMax 3\n";

// Lets plain ssh share muster's own connections if their sockets are below the home folder. A
// folder elsewhere must be checked before each use, which muster does but plain ssh does not.
std::string control_settings() {
  const std::string folder = remote::control_folder();
  const std::string home = sys::home_folder() + "/";
  if (folder.rfind(home, 0) != 0) return {};
  return fmt::format("  ControlMaster auto\n  ControlPersist 600\n  ControlPath ~/{}/%C\n",
                     folder.substr(home.size()));
}

}  // namespace

Result<void> check_name(const std::string& name) {
  if (!name.empty() && name.front() != '-' && name.front() != '.' &&
      std::all_of(name.begin(), name.end(), is_name_character)) {
    return {};
  }
  return unexpected(
      usage(fmt::format("muster setup cannot use the host name '{}'", printable_lines(name)),
            "a host name may contain only letters, digits, '.', '_', '-' and ':'; for other names "
            "add an alias to ~/.ssh/config"));
}

Result<void> check_entry(const Entry& entry) {
  MUSTER_CHECK(check_name(entry.name));
  const auto plain = [](unsigned char c) { return c > ' ' && c <= '~' && c != '"' && c != '#'; };
  if (!std::all_of(entry.user.begin(), entry.user.end(), plain) || entry.user.rfind('-', 0) == 0) {
    return unexpected(usage(fmt::format("'{}' is not a user name", printable_lines(entry.user))));
  }
  const auto odd = [](unsigned char c) { return c < ' ' || c == '"' || c == '\\'; };
  if (std::any_of(entry.key.begin(), entry.key.end(), odd)) {
    return unexpected(usage(fmt::format("the key file's path '{}' has a quote or control character",
                                        printable_lines(entry.key))));
  }
  if (entry.port < 0 || entry.port > kMaxPort) return unexpected(usage("the port is out of range"));
  return {};
}

Result<std::vector<Entry>> parse_entries(std::string_view text, const std::string& file) {
  std::vector<Entry> entries;
  std::istringstream stream{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    Result<Entry> entry = parse_entry(line);
    if (!entry) {
      Error error = std::move(entry).error();
      error.where = {.file = file, .line = number};
      error.hint =
          "muster wrote this file, and somebody has changed this line of it: correct or delete the "
          "line";
      return unexpected(std::move(error));
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

std::string entries_text(std::span<const Entry> entries) {
  std::string text;
  for (const Entry& entry : entries) {
    text += fmt::format("{}\t{}\t{}\t{}\n", entry.name, or_dash(entry.user),
                        entry.port == 0 ? "-" : std::to_string(entry.port), or_dash(entry.key));
  }
  return text;
}

std::vector<Entry> merge(std::vector<Entry> old, std::span<const Entry> wanted) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < old.size(); ++i) places.emplace(old[i].name, i);
  for (const Entry& entry : wanted) {
    const auto [place, is_new] = places.emplace(entry.name, old.size());
    if (is_new) {
      old.push_back(entry);
      continue;
    }
    Entry& mine = old[place->second];
    if (!entry.user.empty()) mine.user = entry.user;
    if (entry.port != 0) mine.port = entry.port;
    if (!entry.key.empty()) mine.key = entry.key;
  }
  return old;
}

std::string config_text(std::span<const Entry> entries) {
  // Maps settings to the names in their Host line.
  std::map<std::tuple<std::string, int, std::string>, std::string> blocks;
  for (const Entry& entry : entries) {
    blocks[{entry.user, entry.port, entry.key}] += " " + entry.name;
  }
  std::string text =
      "# Written by `muster setup`, and anew each time; `muster setup --undo` takes it away.\n"
      "# Your own settings for these hosts belong into ~/.ssh/config.\n";
  for (const auto& [how, names] : blocks) {
    const auto& [user, port, key] = how;
    text += fmt::format("\nHost{}\n", names);
    if (!user.empty()) text += fmt::format("  User {}\n", user);
    if (port != 0) text += fmt::format("  Port {}\n", port);
    text += fmt::format("  IdentityFile {}\n",
                        key.empty() ? "~/.ssh/muster/id_ed25519" : config_path(key));
    text += kSettings;
    text += control_settings();
  }
  return text;
}

}  // namespace muster::setup
