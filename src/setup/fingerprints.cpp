#include "setup/fingerprints.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "setup/prompt.hpp"
#include "sys/file.hpp"
#include "sys/process.hpp"

namespace muster::setup {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  return words;
}

bool is_number(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The host name in "[n1]:2222" or "root@n1".
std::string bare_name(std::string name) {
  if (const std::size_t at = name.rfind('@'); at != std::string::npos) name.erase(0, at + 1);
  if (name.empty() || name.front() != '[') return name;
  return name.substr(1, name.find(']') - 1);
}

void add(Fingerprints& known, const std::string& names, const std::string& fingerprint) {
  std::istringstream stream(names);
  for (std::string name; std::getline(stream, name, ',');) {
    known[bare_name(name)].push_back(fingerprint);
  }
}

Error bad_line(const std::string& file, int line, std::string what) {
  return {.code = ErrorCode::kUsage,
          .what = std::move(what),
          .where = {.file = file, .line = line},
          .hint =
              "each line has the form: host SHA256:...; to print the fingerprint, run on the host: "
              "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub"};
}

// The host name comes before the fingerprint, or after it in ssh-keygen's format.
Result<void> add_line(Fingerprints& known, const std::vector<std::string>& words,
                      const std::string& file, int line) {
  const bool keygen = words.size() >= 3 && is_number(words[0]);
  if (words.size() < 2)
    return unexpected(bad_line(file, line, "a line needs a host and a fingerprint"));
  if (!is_fingerprint(words[1])) {
    return unexpected(bad_line(
        file, line, fmt::format("'{}' is not a SHA256 fingerprint", printable_lines(words[1]))));
  }
  const std::string& names = keygen ? words[2] : words[0];
  if (names.rfind("|1|", 0) == 0) {
    return unexpected(
        bad_line(file, line, "the host's name is hashed, so muster cannot tell which host it is"));
  }
  add(known, names, words[1]);
  return {};
}

}  // namespace

Result<Fingerprints> parse_fingerprints(std::string_view text, const std::string& file) {
  Fingerprints known;
  std::istringstream stream{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    if (words.empty() || words[0].front() == '#') continue;
    MUSTER_CHECK(add_line(known, words, file, number));
  }
  return known;
}

SplitLines split_known_hosts(std::string_view text) {
  SplitLines split;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) {
    const std::vector<std::string> words = words_of(line);
    const bool is_key = words.size() >= 3 && words[2].rfind("AAAA", 0) == 0;
    if (is_key) split.known_hosts += line + "\n";
    split.others += is_key ? "\n" : line + "\n";
  }
  return split;
}

Result<Fingerprints> read_fingerprints(const std::string& file) {
  MUSTER_TRY(const std::string text, sys::read_file(file, kMaxBytes));
  const SplitLines split = split_known_hosts(text);
  MUSTER_TRY(Fingerprints known, parse_fingerprints(split.others, file));
  if (split.known_hosts.empty()) return known;
  MUSTER_TRY(const sys::Ended ended,
             sys::run({.argv = {"ssh-keygen", "-lf", "-"},
                       .input = std::make_shared<const std::string>(split.known_hosts)}));
  if (!ended.ok()) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = "ssh-keygen cannot read the host keys: " + printable_lines(ended.err),
              .where = {.file = file}});
  }
  MUSTER_TRY(const Fingerprints more, parse_fingerprints(ended.out, file));
  for (const auto& [name, prints] : more) {
    auto& mine = known[name];
    mine.insert(mine.end(), prints.begin(), prints.end());
  }
  return known;
}

}  // namespace muster::setup
