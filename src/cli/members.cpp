#include "cli/members.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "hosts/expression.hpp"
#include "run/pause.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

constexpr double kBootSeconds = 30;  // beyond --lost-after

// Errors that concern all hosts that answer are no host's own, and no spare would be better.
std::vector<run::BadHost> find_bad(const Surveyed& all, bool force) {
  const auto answered = static_cast<std::size_t>(
      std::count_if(all.surveys.begin(), all.surveys.end(),
                    [](const facts::Survey& survey) { return survey.facts.has_value(); }));
  std::vector<run::BadHost> bad;
  const auto add = [&](const std::string& host, const std::string& why) {
    const bool known = std::any_of(bad.begin(), bad.end(),
                                   [&](const run::BadHost& one) { return one.host == host; });
    if (!known) bad.push_back({.host = host, .why = why});
  };
  for (const facts::Survey& survey : all.surveys) {
    if (!survey.facts) add(survey.host, survey.facts.error().what);
  }
  for (const checks::Finding& finding : all.findings) {
    const bool error = finding.severity == checks::Severity::kError && !force;
    if (!error || finding.hosts.size() >= answered) continue;
    for (const std::string& host : finding.hosts) add(host, finding.what);
  }
  return bad;
}

std::string first_error(const Surveyed& all) {
  for (const checks::Finding& finding : all.findings) {
    if (finding.severity == checks::Severity::kError) return "on all hosts: " + finding.what;
  }
  return {};
}

// A connection to a host that did not answer would be taken for a good one.
void drop(Gathered& gathered) {
  if (!gathered.all) return;
  for (const run::BadHost& one : gathered.missing) gathered.all->transport->forget(one.host);
  gathered.all->close();
  gathered.all = nullptr;
}

}  // namespace

Members::Members(const RunOptions& options, const Program& program)
    : options_(options), program_(program) {}

// The number of ranks on each host stays what it was at first.
JobOptions Members::job() const {
  JobOptions job = options_.job;
  if (!roster_) return job;
  job.cluster.members = roster_->members();
  job.job.ranks_per_host = 0;
  job.job.ranks_by.clear();
  job.job.ranks = 0;
  job.job.nodes = 0;
  job.job.min_nodes = 0;
  return job;
}

void Members::enlist(const Surveyed& all) {
  const bool engines_own = all.job.pods > 0 || all.layout.min_hosts > 0;
  if (roster_ || engines_own) return;
  int most = 1;
  for (const layout::Placement& placement : all.layout.placements) {
    most = std::max(most, placement.ranks);
  }
  std::set<std::string_view> known;
  for (const facts::Survey& survey : all.surveys) {
    if (survey.facts) known.insert(survey.host);
  }
  std::vector<hosts::Host> members;
  for (const layout::Placement& placement : all.layout.placements) {
    const bool guessed = !known.contains(placement.host) && !all.job.ranks_by.empty();
    members.push_back({.name = placement.host, .slots = guessed ? most : placement.ranks});
  }
  roster_.emplace(std::move(members), spares_, all.job.min_nodes);
}

Result<Gathered> Members::gather(const Turn& turn) {
  if (spares_.empty() && !options_.spares.empty()) {
    MUSTER_TRY(spares_, hosts::parse_expression({.text = options_.spares, .name = "--spares"}));
  }
  const bool first = !std::exchange(started_, true) && turn.number == 0;
  Gathered gathered;
  int waits = 0;
  for (const auto begin = std::chrono::steady_clock::now();;) {
    drop(gathered);  // before others are asked: its sessions are the same hosts'
    MUSTER_TRY(gathered.all, survey(job(), program_,
                                    {.run_id = turn.id(),
                                     .earlier = turn.earlier(),
                                     .attempt = turn.number,
                                     .quiet = options_.quiet}));
    enlist(*gathered.all);
    gathered.missing = find_bad(*gathered.all, options_.force);
    // Of all hosts, at a restart: a file server that is away, say. It is waited for as a host is.
    const bool all_bad = !first && gathered.missing.empty() && !options_.force &&
                         checks::has_errors(gathered.all->findings);
    if (!roster_ || (gathered.missing.empty() && !all_bad)) return gathered;
    if (!all_bad && roster_->replace(gathered.missing)) continue;
    const double waited =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    gathered.waited_s = waited;
    if (first || waited > options_.patience.lost_after_s + kBootSeconds) return gathered;
    if (waits++ == 0) {
      const std::string what =
          all_bad ? first_error(*gathered.all)
                  : fmt::format("{}: {}, and no spare host is left", gathered.missing.front().host,
                                gathered.missing.front().why);
      sys::print_err("muster: {}; waiting up to {:.0f} s for it to come back\n", what,
                     options_.patience.lost_after_s + kBootSeconds);
    }
    drop(gathered);
    gathered.signal = run::pause(run::back_off_s(waits));
    if (gathered.signal) return gathered;
    roster_->look_again();
  }
}

void Members::leave(std::span<const run::BadHost> bad) {
  if (!roster_) return;
  roster_->look_again();
  // All at once: it was the launcher's own network, and they may answer again.
  if (bad.size() >= roster_->members().size()) return;
  // None is left out unasked: a host that was cut off may be back.
  std::vector<run::BadHost> some(bad.begin(), bad.end());
  for (run::BadHost& one : some) one.only_for_spare = true;
  (void)roster_->replace(some);
}

std::vector<std::string> Members::take_changes() {
  return roster_ ? roster_->take_changes() : std::vector<std::string>();
}

}  // namespace muster::cli
