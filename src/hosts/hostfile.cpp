#include "hosts/hostfile.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "hosts/expression.hpp"
#include "hosts/fold.hpp"
#include "hosts/nearest.hpp"

namespace muster::hosts {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

std::string_view style_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::kBare:
      return "bare names";
    case Dialect::kOpenMpi:
      return "'slots=' as for Open MPI and DeepSpeed";
    case Dialect::kHydra:
      return "'host:n' as for hydra (MPICH, Intel MPI)";
    case Dialect::kSlurm:
      return "ranges or lists as for Slurm";
  }
  return "";
}

// The part [begin, end) of a source's text.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class HostfileReader {
 public:
  explicit HostfileReader(const Source& source) : source_(source) {}

  Result<Hostfile> read();

 private:
  Result<void> read_line(Span line);
  Result<void> read_hosts(Span word, std::vector<Item>& items);
  Result<void> read_setting(Span& rest, Item& host);
  Result<void> read_value(std::string_view key, std::size_t key_at, Span value, Item& host);
  Result<void> note(Dialect dialect, std::size_t at);

  // skip() and find() search only within `span`, because searching to the end of the file on every
  // line would take quadratic time.
  [[nodiscard]] std::size_t skip(std::string_view set, Span span) const {
    const std::string_view text = source_.text.substr(span.begin, span.end - span.begin);
    return span.begin + std::min(text.find_first_not_of(set), text.size());
  }
  [[nodiscard]] std::size_t find(std::string_view set, Span span) const {
    const std::string_view text = source_.text.substr(span.begin, span.end - span.begin);
    return span.begin + std::min(text.find_first_of(set), text.size());
  }

  const Source& source_;
  HostCollector collected_;
  int line_ = 0;
  int max_slots_ = 0;  // of the current line
  Dialect dialect_ = Dialect::kBare;
  int dialect_line_ = 0;  // the line where dialect_ was first seen
};

Result<void> HostfileReader::note(Dialect dialect, std::size_t at) {
  if (dialect_ == Dialect::kBare) {
    dialect_ = dialect;
    dialect_line_ = line_;
  }
  if (dialect_ == dialect) return {};
  return unexpected(
      source_.refuse(at,
                     fmt::format("the file mixes formats: here {}, in line {} {}",
                                 style_of(dialect), dialect_line_, style_of(dialect_)),
                     "write all lines in one format"));
}

Result<void> HostfileReader::read_hosts(Span word, std::vector<Item>& items) {
  MUSTER_TRY(items, parse_items(source_, word.begin, word.end));
  for (const Item& item : items) {
    if (item.bracket != Item::kNo) MUSTER_CHECK(note(Dialect::kSlurm, item.bracket));
  }
  if (items.size() > 1) MUSTER_CHECK(note(Dialect::kSlurm, items[1].offset));
  // A count after ranges or in a list is muster's own syntax and not hydra's.
  const bool ranges = items.size() > 1 || items.front().bracket != Item::kNo;
  if (!ranges && items.front().colon != Item::kNo) {
    MUSTER_CHECK(note(Dialect::kHydra, items.front().colon));
  }
  return {};
}

Result<void> HostfileReader::read_value(std::string_view key, std::size_t key_at, Span value,
                                        Item& host) {
  const bool is_max = key == "max_slots" || key == "max-slots";
  if (is_max || key == "slots") {
    MUSTER_CHECK(note(Dialect::kOpenMpi, key_at));
    MUSTER_TRY(const int count,
               parse_count(source_, value.begin, value.end, kMaxSlots, "slot count"));
    int& target = is_max ? max_slots_ : host.slots;
    if (target != 0) return unexpected(source_.refuse(key_at, fmt::format("{} twice", key)));
    target = count;
    return {};
  }
  if (key == "user" || key == "username") {
    return unexpected(source_.refuse(key_at, "a host file cannot set the user",
                                     "pass --user, or set the user of one host in ~/.ssh/config"));
  }
  if (key == "binding") {
    return unexpected(source_.refuse(key_at, "a host file cannot set the binding",
                                     "remove binding=; to pin ranks, pass --bind-to"));
  }
  return unexpected(source_.refuse(key_at, fmt::format("there is no key {}", excerpt(key)),
                                   did_you_mean(key, {"slots", "max_slots"})));
}

// Reads one "key=value". Open MPI allows blanks around '='.
Result<void> HostfileReader::read_setting(Span& rest, Item& host) {
  const std::size_t key_end = find(" \t\r\v\f=", rest);
  const std::string_view key = source_.text.substr(rest.begin, key_end - rest.begin);
  const std::size_t equals = skip(kBlanks, {key_end, rest.end});
  if (equals == rest.end || source_.text[equals] != '=' || key.empty()) {
    return unexpected(source_.refuse(
        rest.begin,
        fmt::format("expected KEY=VALUE, found {}",
                    excerpt(source_.text.substr(rest.begin, std::max<std::size_t>(key.size(), 1)))),
        "write one host per line, as in 'node1 slots=4'"));
  }
  const std::size_t value = skip(kBlanks, {equals + 1, rest.end});
  const std::size_t value_end = find(kBlanks, {value, rest.end});
  MUSTER_CHECK(read_value(key, rest.begin, {value, value_end}, host));
  rest.begin = skip(kBlanks, {value_end, rest.end});
  return {};
}

Result<void> HostfileReader::read_line(Span line) {
  line.end = find("#", line);
  line.begin = skip(kBlanks, line);
  if (line.begin == line.end) return {};
  const Span word{line.begin, find(kBlanks, line)};
  std::vector<Item> items;
  MUSTER_CHECK(read_hosts(word, items));
  Span rest{skip(kBlanks, {word.end, line.end}), line.end};
  max_slots_ = 0;
  while (rest.begin < rest.end) MUSTER_CHECK(read_setting(rest, items.front()));
  if (max_slots_ != 0 && max_slots_ < items.front().slots) {
    return unexpected(source_.refuse(line.begin, fmt::format("slots={} is more than max_slots={}",
                                                             items.front().slots, max_slots_)));
  }
  for (const Item& item : items) MUSTER_CHECK(add_to(collected_, source_, item));
  return {};
}

Result<Hostfile> HostfileReader::read() {
  const std::string_view text = source_.text;
  for (std::size_t begin = 0; begin < text.size();) {
    ++line_;
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    MUSTER_CHECK(read_line({begin, end}));
    begin = end + 1;
  }
  if (collected_.named() > 0) return Hostfile{.hosts = collected_.take(), .dialect = dialect_};
  Error error = source_.refuse(0, "the file names no host", "write one host per line");
  error.where.line = 0;
  return unexpected(std::move(error));
}

std::string line_of(const Host& host, Dialect dialect) {
  if (host.slots == 0) return host.name + '\n';
  if (dialect == Dialect::kOpenMpi) return fmt::format("{} slots={}\n", host.name, host.slots);
  const bool address = host.name.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}\n", address ? "[" : "", host.name, address ? "]" : "", host.slots);
}

Result<std::string> to_bare(const std::vector<Host>& hosts) {
  std::size_t lines = 0;
  for (const Host& host : hosts) lines += static_cast<std::size_t>(std::max(host.slots, 1));
  if (lines > kMaxHosts) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what =
            fmt::format("a host file without slot counts would need {} lines, one per slot", lines),
        .hint = "choose a format with slot counts: --to openmpi or --to hydra"});
  }
  std::string text;
  for (const Host& host : hosts) {
    for (int i = 0; i < std::max(host.slots, 1); ++i) text.append(host.name).append(1, '\n');
  }
  return text;
}

}  // namespace

Result<Hostfile> parse_hostfile(const Source& source) {
  const std::string_view start = source.text.substr(0, 2);
  if (start == "\xFF\xFE" || start == "\xFE\xFF") {
    return unexpected(source.refuse(0, "the file is UTF-16", "save it as UTF-8"));
  }
  const Source content = without_utf8_mark(source);
  return HostfileReader(content).read();
}

Result<std::string> to_hostfile(const std::vector<Host>& hosts, Dialect dialect) {
  if (dialect == Dialect::kBare) return to_bare(hosts);
  std::string text;
  if (dialect != Dialect::kSlurm) {
    for (const Host& host : hosts) text += line_of(host, dialect);
    return text;
  }
  std::vector<std::string> names;
  names.reserve(hosts.size());
  for (const Host& host : hosts) names.push_back(host.name);
  return fold(names) + '\n';
}

}  // namespace muster::hosts
