// evidence_text: what the verdict is based on. Equal ranks are grouped, outliers come first.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/output_line.hpp"
#include "base/printable.hpp"
#include "report/wrap.hpp"
#include "why/waits.hpp"
#include "why/words.hpp"

namespace muster::why {
namespace {

constexpr std::size_t kMostGroups = 8;   // lines, stacks or process groups shown per section
constexpr std::size_t kMostFrames = 14;  // per stack
constexpr std::size_t kInnermost = 4;    // innermost frames that are always shown
constexpr std::size_t kLongestLine = 160;
constexpr std::size_t kTextWidth = 80;

using inspect::Operation;

// Texts, each with the ranks that have it. Texts of few ranks come first.
using Folded = std::vector<std::pair<std::string, Ranks>>;

Folded folded(const std::vector<std::pair<std::string, const RankReading*>>& lines) {
  std::map<std::string, Ranks> by_text;
  for (const auto& [text, rank] : lines) by_text[text].push_back(rank);
  Folded all(by_text.begin(), by_text.end());
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    if (a.second.size() != b.second.size()) return a.second.size() < b.second.size();
    return a.second.front()->rank < b.second.front()->rank;
  });
  return all;
}

std::string more_text(std::size_t count) {
  return count > kMostGroups
             ? fmt::format("  and {} more in the evidence file\n", count - kMostGroups)
             : std::string();
}

std::string line_of(const std::string& text) {
  return report::cut_line(printable(text), kLongestLine) + "\n";
}

std::string operation_text(const Operation& operation) {
  std::string text = fmt::format("{} #{}", operation.name, operation.number);
  if (!operation.sizes.empty()) text += " " + operation.sizes;
  return text;
}

// Returns, for example, "last ended all_reduce #11 [[4]], waits in all_reduce #12 [[4]]".
std::string progress_text(const inspect::Group& group) {
  const Operation* ended = nullptr;
  std::vector<std::string> pending;
  for (const Operation& operation : group.operations) {
    if (operation.done) {
      ended = &operation;
    } else if (pending.size() < 2) {
      pending.push_back(operation_text(operation));
    }
  }
  std::string text = ended == nullptr ? fmt::format("{} collectives ended", group.done)
                                      : "last ended " + operation_text(*ended);
  if (!pending.empty()) return text + fmt::format(", waits in {}", fmt::join(pending, " and "));
  return text + ", in no collective";
}

std::string operations_section(const std::vector<RankReading>& ranks) {
  std::map<std::string, std::vector<std::pair<std::string, const RankReading*>>> groups;
  for (const RankReading& rank : ranks) {
    if (rank.view == nullptr) continue;
    for (const inspect::Group& group : rank.view->groups) {
      const std::string title = is_default(group) ? "the default group" : "group " + group.name;
      groups[title].emplace_back(progress_text(group), &rank);
    }
  }
  std::string text;
  std::size_t shown = 0;
  for (const auto& [title, lines] : groups) {
    if (++shown > kMostGroups) break;
    text += "Collectives of " + line_of(title + ":");
    const Folded all = folded(lines);
    for (std::size_t i = 0; i < std::min(all.size(), kMostGroups); ++i) {
      text += line_of(fmt::format("  {}: {}", rank_names(all[i].second), all[i].first));
    }
    text += more_text(all.size());
  }
  if (groups.size() > kMostGroups)
    text += fmt::format("and {} more groups\n", groups.size() - kMostGroups);
  return text;
}

std::string frames_text(std::size_t count) {
  return fmt::format("{} {}", count, verb(count, "frame", "frames"));
}

// Returns one line per frame. Frames without a name, as in a program without symbols, are only
// counted.
std::vector<std::string> frame_lines(const inspect::Stack& stack) {
  std::vector<std::string> lines;
  std::size_t nameless = 0;
  const auto add_nameless = [&] {
    if (nameless > 0) lines.push_back(fmt::format("({} without a name)", frames_text(nameless)));
    nameless = 0;
  };
  for (const inspect::Frame& frame : stack.frames) {
    std::string text = frame_text(frame);
    if (text == "?") {
      ++nameless;
      continue;
    }
    add_nameless();
    lines.push_back(std::move(text));
  }
  add_nameless();
  return lines;
}

std::string stacks_text(const inspect::RankView& view) {
  std::string text;
  for (const inspect::Stack& stack : view.stacks) {
    if (stack.frames.empty()) continue;
    text +=
        fmt::format("    {} ({}):\n", stack.python ? "Python" : "native", printable(stack.source));
    const std::vector<std::string> lines = frame_lines(stack);
    // Keep the outermost frames too, because they are the user's own code.
    const std::size_t left_out = lines.size() - std::min(lines.size(), kMostFrames);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i == kInnermost && left_out > 1) {
        text += fmt::format("      ({} left out)\n", frames_text(left_out));
        i += left_out;
      }
      text += line_of("      " + lines[i]);
    }
  }
  return text;
}

std::string stacks_section(const std::vector<RankReading>& ranks) {
  std::vector<std::pair<std::string, const RankReading*>> stacks;
  for (const RankReading& rank : ranks) {
    if (rank.view == nullptr) continue;
    std::string text = stacks_text(*rank.view);
    if (!text.empty()) stacks.emplace_back(std::move(text), &rank);
  }
  if (stacks.empty()) return {};
  const Folded all = folded(stacks);
  std::string text = "Stacks, innermost first:\n";
  for (std::size_t i = 0; i < std::min(all.size(), kMostGroups); ++i) {
    text += line_of(fmt::format("  {}:", rank_names(all[i].second))) + all[i].first;
  }
  return text + more_text(all.size());
}

std::string state_text(const RankReading& rank) {
  if (rank.main == nullptr) return whereabouts(rank);
  std::string text = "state " + rank.main->state;
  if (!rank.main->call.empty()) text += ", in " + rank.main->call;
  // Rounded, so that ranks with nearly the same usage get the same text.
  const double cpu = rank.cpu < 0.05   ? 0
                     : rank.cpu < 0.95 ? 0.1 * static_cast<int>(10 * rank.cpu + 0.5)
                                       : static_cast<int>(rank.cpu + 0.5);
  return text + fmt::format(", about {} of a processor", percent_text(cpu));
}

std::string states_section(const std::vector<RankReading>& ranks) {
  std::vector<std::pair<std::string, const RankReading*>> states;
  for (const RankReading& rank : ranks) states.emplace_back(state_text(rank), &rank);
  const Folded all = folded(states);
  std::string text = "Processes:\n";
  for (std::size_t i = 0; i < std::min(all.size(), kMostGroups); ++i) {
    text += line_of(fmt::format("  {}: {}", rank_names(all[i].second), all[i].first));
  }
  return text + more_text(all.size());
}

std::string hosts_section(const Scene& scene) {
  std::map<std::string, std::vector<std::string>> hosts;  // by the text about them
  for (const auto& [host, logs] : scene.kernel_logs) {
    for (const std::string& log : logs) hosts["kernel: " + log].push_back(host);
  }
  for (const auto& [host, view] : scene.hosts) {
    for (const std::string& disk : view.full_disks) hosts["full: " + disk].push_back(host);
    for (const inspect::Counter& c : view.counters) {
      hosts[fmt::format("{} of {}: {} ({:+})", c.name, c.device, c.value, c.change)].push_back(
          host);
    }
    if (view.processors > 0 && view.load > view.processors) {
      hosts[fmt::format("load {:.0f} on {} processors", view.load, view.processors)].push_back(
          host);
    }
    for (const std::string& line : report::cut_lines(printable_lines(view.nccl), kTextWidth, 4)) {
      hosts["NCCL: " + line].push_back(host);
    }
  }
  if (hosts.empty()) return {};
  std::string text = "Hosts:\n";
  std::size_t shown = 0;
  for (const auto& [what, who] : hosts) {
    if (++shown > 2 * kMostGroups) break;
    text += line_of(fmt::format("  {}: {}", listed(who, kMostGroups), what));
  }
  if (hosts.size() > 2 * kMostGroups) {
    text += fmt::format("  and {} more in the evidence file\n", hosts.size() - 2 * kMostGroups);
  }
  return text;
}

std::string unseen_section(const Scene& scene, const std::vector<RankReading>& ranks) {
  std::vector<std::pair<std::string, const RankReading*>> reasons;
  for (const RankReading& rank : ranks) {
    if (rank.view == nullptr) {
      if (rank.activity == Activity::kUnseen) reasons.emplace_back("nothing was seen", &rank);
      continue;
    }
    for (const std::string& reason : rank.view->not_seen) reasons.emplace_back(reason, &rank);
  }
  std::string text;
  const Folded all = folded(reasons);
  for (std::size_t i = 0; i < std::min(all.size(), kMostGroups); ++i) {
    text += line_of(fmt::format("  {}: {}", rank_names(all[i].second), all[i].first));
  }
  text += more_text(all.size());
  std::map<std::string, std::vector<std::string>> of_hosts;
  for (const auto& [host, view] : scene.hosts) {
    for (const std::string& reason : view.not_seen) of_hosts[reason].push_back(host);
  }
  for (const std::string& host : scene.silent_hosts)
    of_hosts["the host did not answer"].push_back(host);
  std::size_t shown = 0;
  for (const auto& [reason, hosts] : of_hosts) {
    if (++shown > kMostGroups) break;
    text += line_of(fmt::format("  {}: {}", listed(hosts, 6), reason));
  }
  return text.empty() ? text : "What could not be seen:\n" + text;
}

}  // namespace

std::string evidence_text(const Scene& scene) {
  const std::vector<RankReading> ranks = read_ranks(scene);
  std::string text;
  for (const std::string& section :
       {operations_section(ranks), states_section(ranks), stacks_section(ranks),
        hosts_section(scene), unseen_section(scene, ranks)}) {
    if (section.empty()) continue;
    text += (text.empty() ? "" : "\n") + section;
  }
  return text;
}

}  // namespace muster::why
