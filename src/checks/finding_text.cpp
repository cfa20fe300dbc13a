#include <algorithm>

#include <fmt/format.h>

#include "base/colour.hpp"
#include "base/printable.hpp"
#include "checks/finding.hpp"
#include "hosts/fold.hpp"
#include "report/wrap.hpp"

namespace muster::checks {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kSeverityWidth = 9;
constexpr std::size_t kMostHostsWidth = 28;  // longer lists of hosts get their own line

const char* word_for(Severity severity) {
  if (severity == Severity::kError) return "ERROR";
  return severity == Severity::kWarning ? "warning" : "note";
}

std::string hosts_text(const Finding& finding) {
  return finding.hosts.empty() ? "all" : printable(hosts::fold(finding.hosts));
}

// Commands are not wrapped, so that users can paste them.
std::string fix_text(const std::string& fix) {
  const std::string margin(kSeverityWidth, ' ');
  std::string text;
  std::string first = margin + "fix   ";
  for (std::size_t start = 0; start <= fix.size();) {
    const std::size_t end = std::min(fix.find('\n', start), fix.size());
    const std::string line = fix.substr(start, end - start);
    if (line.starts_with("  ")) {
      text += first + line.substr(text.empty() ? 2 : 0) + '\n';
    } else {
      text += report::indented(first, line, kWidth);
    }
    first = margin + "      ";
    start = end + 1;
  }
  return text;
}

// Colours the severity, with which `text` must begin.
std::string with_colour(Severity severity, std::string text) {
  const std::string word = word_for(severity);
  if (severity == Severity::kNote) return text;
  const Colour colour = severity == Severity::kError ? Colour::kRed : Colour::kYellow;
  return text.replace(0, word.size(), painted(word, colour, true));
}

std::string head_text(const Finding& finding, std::size_t hosts_width) {
  const std::string what =
      fmt::format("{} [{}]", printable_lines(finding.what), printable(finding.id));
  const std::string hosts = hosts_text(finding);
  const std::string severity = fmt::format("{:<{}}", word_for(finding.severity), kSeverityWidth);
  if (hosts.size() <= hosts_width) {
    return report::indented(fmt::format("{}{:<{}}  ", severity, hosts, hosts_width), what, kWidth);
  }
  return severity + hosts + '\n' + report::indented(std::string(kSeverityWidth, ' '), what, kWidth);
}

std::string count_text(std::size_t count, const char* name) {
  return count == 0 ? "" : fmt::format("{} {}{}", count, name, count == 1 ? "" : "s");
}

std::string summary(std::span<const Finding> findings) {
  std::string text;
  for (const auto& [severity, name] : {std::pair{Severity::kError, "error"},
                                       {Severity::kWarning, "warning"},
                                       {Severity::kNote, "note"}}) {
    const auto count = static_cast<std::size_t>(
        std::count_if(findings.begin(), findings.end(),
                      [&](const Finding& one) { return one.severity == severity; }));
    if (count != 0 && !text.empty()) text += ", ";
    text += count_text(count, name);
  }
  return text + '\n';
}

}  // namespace

std::string to_text(std::span<const Finding> findings, bool colours) {
  if (findings.empty()) return {};
  std::size_t width = 0;
  for (const Finding& finding : findings) {
    const std::size_t own = hosts_text(finding).size();
    if (own <= kMostHostsWidth) width = std::max(width, own);
  }
  const std::string margin(kSeverityWidth, ' ');
  std::string text;
  for (const Finding& finding : findings) {
    const std::string head = head_text(finding, width);
    text += colours ? with_colour(finding.severity, head) : head;
    text += report::indented(margin + "seen  ", printable_lines(finding.evidence), kWidth);
    text += fix_text(printable_lines(finding.fix)) + '\n';
  }
  return text + summary(findings);
}

}  // namespace muster::checks
