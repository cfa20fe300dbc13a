#include "explain/wording.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/output_line.hpp"

namespace muster::explain {
namespace {

std::string capitalized(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() -= 'a' - 'A';
  return text;
}

}  // namespace

std::string sentence(const std::string& text, const std::string& pattern) {
  const std::string_view word = std::string_view(pattern).substr(0, pattern.find_first_of(" '"));
  const bool is_name =
      word.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ{._/0123456789") != std::string_view::npos ||
      word.starts_with("ssh") || word.ends_with("run") || word == "muster";
  return is_name ? text : capitalized(text);
}

std::string who(const Cause& cause) {
  constexpr std::size_t kMostHosts = 8;
  std::vector<std::string> hosts(
      cause.hosts.begin(),
      cause.hosts.begin() + std::min(std::ssize(cause.hosts), std::ptrdiff_t{kMostHosts}));
  if (cause.hosts.size() > kMostHosts) hosts.emplace_back("...");
  const std::string where = fmt::format("{}", fmt::join(hosts, ", "));
  if (cause.ranks.empty()) return where;
  return fmt::format("rank{} {}{}{}", cause.ranks.size() == 1 ? "" : "s", ranks_text(cause.ranks),
                     where.empty() ? "" : " on ", where);
}

std::string frame_text(const Frame& frame) {
  if (frame.file.empty()) return {};
  return fmt::format("{}:{}{}{}", frame.file, frame.line, frame.function.empty() ? "" : ", in ",
                     frame.function);
}

std::string title_of(const Cause& cause) {
  if (is_parting_words(cause)) return cause.text;
  if (cause.failure == nullptr) return headline(cause.exception->exception);
  return fmt::format("{} [{}]",
                     sentence(filled(cause.failure->title, cause.values), cause.failure->title),
                     cause.failure->id);
}

std::string place_text(const Place& place) {
  return place.line == 0 ? place.file : fmt::format("{}:{}", place.file, place.line);
}

std::string evidence_of(const Cause& cause) {
  return fmt::format("{}: {}", place_text(cause.place), cause.text);
}

}  // namespace muster::explain
