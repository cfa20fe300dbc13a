#include "cli/project_sync.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "remote/distribute.hpp"
#include "remote/grouped.hpp"
#include "remote/project.hpp"
#include "sys/live_line.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

constexpr std::uint64_t kMuch = 100'000'000;  // bytes
constexpr std::size_t kNamed = 3;             // how many of the files that were kept are named

std::string newer_text(const std::vector<std::string>& names) {
  const auto first = std::span(names).first(std::min(names.size(), kNamed));
  const std::string more =
      names.size() > kNamed ? fmt::format(" and {} more", names.size() - kNamed) : "";
  return fmt::format("; kept because the host's copy is newer: {}{}", fmt::join(first, ", "), more);
}

// Describes the outcome in one line. Empty if it is not worth a line.
std::string outcome_text(const remote::Outcome& outcome, bool also_unchanged) {
  if (remote::is_shared(outcome))
    return also_unchanged ? "same directory as on this machine; nothing copied" : "";
  const auto changes = remote::parse_stats(outcome.ended->out);
  const auto newer = remote::newer_there(outcome.ended->out);
  const bool changed = changes && *changes != remote::Changes{};
  if (!also_unchanged && !changed && newer.empty()) return "";
  return (changes ? to_text(*changes) : "done") + (newer.empty() ? "" : newer_text(newer));
}

void tell(std::span<const remote::Outcome> outcomes, bool also_unchanged) {
  std::vector<std::string> texts;
  std::vector<remote::Said> said;
  texts.reserve(outcomes.size());
  for (const remote::Outcome& outcome : outcomes) {
    if (!outcome.ended) continue;
    texts.push_back(outcome_text(outcome, also_unchanged));
    said.push_back({.host = outcome.host, .text = texts.back()});
  }
  for (const remote::Group& group : remote::group_equal(said)) {
    sys::print_err("muster: sync: {}: {}\n", remote::folded(group.hosts), group.text);
  }
}

Result<remote::Project> list_project(const std::string& folder, const SyncReport& report) {
  MUSTER_TRY(remote::Project project, remote::read_project(folder));
  if (project.bytes > kMuch && report.all_hosts && !report.quiet) {
    sys::print_err("muster: sync: {} has {}; list what the hosts do not need in .musterignore\n",
                   printable(folder),
                   to_text(remote::Changes{.files = project.files.size(), .bytes = project.bytes}));
  }
  return project;
}

}  // namespace

Result<HostErrors> sync_project(const std::string& folder, const hosts::Cluster& cluster,
                                remote::Transport& transport, const SyncReport& report) {
  std::vector<std::string> names;
  for (const hosts::Host& host : cluster.hosts) {
    if (!host.here) names.push_back(host.name);
  }
  HostErrors failed;
  if (names.empty()) return failed;
  sys::Progress progress;
  remote::SharedMark mark(folder);
  const remote::Distribution what{
      .options = {.from = folder, .to = folder, .shared_mark = mark.name()},
      .list_project = [&] { return list_project(folder, report); },
      .on_prepared = [&] { mark.remove(); },
      .on_progress = report.quiet ? sys::OnProgress() : progress.shown()};
  MUSTER_TRY(const auto outcomes, remote::distribute(what, transport, names));
  for (const remote::Outcome& outcome : outcomes) {
    if (!outcome.ended) failed.emplace(outcome.host, outcome.ended.error());
  }
  if (!report.quiet) tell(outcomes, report.all_hosts);
  return failed;
}

}  // namespace muster::cli
