#include "cli/run_ending.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "explain/brief.hpp"
#include "report/wrap.hpp"

namespace muster::cli {
namespace {

using Lines = std::vector<std::string>;

// Each part of the hint begins a new line, so that users can paste its command.
Lines hint_lines(const std::string& hint) {
  Lines lines;
  for (std::size_t begin = 0; begin < hint.size();) {
    const std::size_t end = std::min(hint.find("; ", begin), hint.size());
    const std::string part = hint.substr(begin, end - begin);
    for (const std::string& line : report::wrap(part, run::kEndingWidth - 8)) {
      lines.push_back((lines.empty() ? "  hint: " : "        ") + line);
    }
    begin = std::min(end + 2, hint.size());
  }
  return lines;
}

void append(Lines& to, Lines from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// The last lines, each shortened to fit into one line of the terminal.
Lines last_of(const Lines& lines, std::size_t most, const std::string& label) {
  Lines last;
  for (std::size_t i = lines.size() - std::min(lines.size(), most); i < lines.size(); ++i) {
    last.push_back(report::cut_line(label + lines[i], run::kEndingWidth));
  }
  return last;
}

// The lines that say what the user can look at next.
Lines next_lines(const run::Verdict& verdict, const std::string& run_id,
                 const ExplainedRun& explained) {
  Lines lines;
  if (!explained.left_out.empty()) {
    append(lines, last_of({explained.left_out}, 1, "  not read   "));
  }
  lines.push_back("  more       muster explain " + run_id);
  lines.push_back(verdict.first_failed_rank < 0
                      ? fmt::format("  output     muster logs {}", run_id)
                      : fmt::format("  output     muster logs {} --rank {}", run_id,
                                    verdict.first_failed_rank));
  return lines;
}

Lines unexplained_lines(const run::Verdict& verdict, const std::string& look, std::size_t most) {
  constexpr std::size_t kMostOfEngine = 3;
  const Lines hint = hint_lines(verdict.hint + (verdict.hint.empty() ? "" : "; ") + look);
  const std::size_t room = most - std::min(most, hint.size());
  Lines lines;
  if (!verdict.quoted_above) lines = last_of(verdict.quoted, room, "  | ");
  const std::size_t left = std::min(room - lines.size(), kMostOfEngine);
  append(lines, hint);
  append(lines, last_of(verdict.engine_said, left, "[engine] "));
  lines.resize(std::min(lines.size(), most));
  return lines;
}

}  // namespace

std::vector<std::string> ending_lines(const run::Verdict& verdict, const std::string& run_id,
                                      const std::optional<ExplainedRun>& explained,
                                      std::size_t most) {
  if (!explained || !is_confident(explained->explanation)) {
    const std::string look = "to look for the cause: muster explain " + run_id;
    return unexplained_lines(verdict, explained ? look : "", most);
  }
  Lines next = next_lines(verdict, run_id, *explained);
  const std::size_t room = most - std::min(most, next.size());
  Lines cause = explain::brief_lines(explained->explanation, room, run::kEndingWidth);
  Lines lines;
  const bool is_sure = explained->explanation.confidence == explain::Confidence::kHigh;
  if (!is_sure && !verdict.quoted_above) {
    lines = last_of(verdict.quoted, room - cause.size(), "  | ");
  }
  append(lines, std::move(cause));
  append(lines, std::move(next));
  return lines;
}

}  // namespace muster::cli
