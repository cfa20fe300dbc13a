#include "agent/rank_options.hpp"

#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/printable.hpp"

namespace muster::agent {
namespace {

constexpr const char* kUsage =
    "muster rank [--run ID] [--folder PATH] [--subnet CIDR] [--master ADDRESS:PORT] "
    "[--restarts MADE:MOST] [--quiet-label] "
    "[--only-first-reads] [--confine-store] -- program arguments...";

Error usage(std::string what) {
  return {.code = ErrorCode::kUsage, .what = std::move(what), .hint = kUsage};
}

// Parses "198.18.0.11:29500" or "[fd00::1]:29500".
Result<Master> parse_master(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::uint16_t port = 0;
  if (colon != std::string::npos && colon > 0) {
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + colon + 1, end, port);
    if (parsed.ptr != end || parsed.ec != std::errc()) port = 0;
  }
  if (port == 0) return unexpected(usage(fmt::format("'{}' is not ADDRESS:PORT", printable(text))));
  std::string address = text.substr(0, colon);
  if (address.size() > 2 && address.front() == '[' && address.back() == ']') {
    address = address.substr(1, address.size() - 2);
  }
  return Master{.address = std::move(address), .port = std::to_string(port)};
}

// Parses "1:3": restarts made, and the most that are allowed.
Result<Restarts> parse_restarts(const std::string& text) {
  Restarts restarts;
  const char* end = text.data() + text.size();
  const auto made = std::from_chars(text.data(), end, restarts.made);
  const bool colon = made.ec == std::errc() && made.ptr != end && *made.ptr == ':';
  const auto most = colon ? std::from_chars(made.ptr + 1, end, restarts.most) : made;
  const bool good = colon && most.ec == std::errc() && most.ptr == end && restarts.made >= 0 &&
                    restarts.most >= 0;
  if (!good) return unexpected(usage(fmt::format("'{}' is not MADE:MOST", printable(text))));
  return restarts;
}

// Returns the option that this flag sets; null if it is no flag or takes a value.
bool* switch_named(std::string_view word, RankOptions& options) {
  if (word == "--only-first-reads") return &options.only_first_reads;
  if (word == "--confine-store") return &options.confine_store;
  if (word == "--by-hand") return &options.by_hand;
  return nullptr;
}

}  // namespace

Result<RankOptions> parse_rank_options(const std::vector<std::string>& words) {
  RankOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      options.program.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      if (options.program.empty()) return unexpected(usage("no program after '--'"));
      return options;
    }
    if (word == "--quiet-label") {
      options.label = false;
      continue;
    }
    if (bool* const on = switch_named(word, options); on != nullptr) {
      *on = true;
      continue;
    }
    const bool takes_value = word == "--run" || word == "--folder" || word == "--subnet" ||
                             word == "--master" || word == "--restarts";
    if (!takes_value || i + 1 == words.size()) {
      return unexpected(usage(fmt::format("'{}' is not a flag of muster rank", printable(word))));
    }
    const std::string& value = words[++i];
    if (word == "--run") options.run_id = value;
    if (word == "--folder") options.folder = value;
    if (word == "--subnet") options.subnet = value;
    if (word == "--master") {
      MUSTER_TRY(options.master, parse_master(value));
    }
    if (word == "--restarts") {
      MUSTER_TRY(options.restarts, parse_restarts(value));
    }
  }
  return unexpected(usage("no '--' before the program"));
}

}  // namespace muster::agent
