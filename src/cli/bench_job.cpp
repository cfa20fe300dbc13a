#include "cli/bench_job.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <deque>

#include <fmt/format.h>

#include "checks/rules.hpp"
#include "cli/attempt.hpp"
#include "cli/reach.hpp"
#include "cli/run_command.hpp"
#include "hosts/fold.hpp"
#include "layout/rails.hpp"
#include "run/folder.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

constexpr const char* kBenchProgram = "muster-bench";
// How many lines without measurements are kept.
constexpr std::size_t kKeptLines = 40;

std::string duration_text(double seconds) {
  if (seconds < 0) return "";
  if (seconds < 90) return fmt::format(", about {:.0f} s left", seconds);
  return fmt::format(", about {:.0f} min left", seconds / 60);
}

// Returns "mlx5_0, 100 Gb/sec (4X EDR)". For several rails, returns the total speed of those that
// the ranks can use, assuming that one rank fills one rail. Without rails, returns the first active
// port, which the job does not use.
std::string rdma_text(const facts::Facts& facts, const layout::Placement& placement) {
  const std::vector<layout::Rail>& rails = placement.rails;
  if (rails.size() == 1) return fmt::format("{}, {}", rails[0].device, rails[0].rate);
  if (rails.size() > 1) {
    std::vector<std::string> names;
    for (const layout::Rail& rail : rails) names.push_back(rail.device);
    const std::size_t used = std::min(rails.size(), static_cast<std::size_t>(placement.ranks));
    return fmt::format("{}, {} Gb/sec ({} of {} rails)", hosts::fold(names),
                       static_cast<double>(used) * layout::gbit_of(rails[0].rate), used,
                       rails.size());
  }
  for (const facts::RdmaPort& port : facts.rdma) {
    if (port.active) return fmt::format("{}, {}", port.device, port.rate);
  }
  return "";
}

bench::HostFacts host_facts(const facts::Facts& facts, const layout::Placement& placement) {
  bench::HostFacts host{.name = placement.host,
                        .os = facts.os,
                        .kernel = facts.kernel,
                        .cpu = facts.cpu.model,
                        .cores = facts.cpu.usable,
                        .memory_bytes = facts.memory_bytes,
                        .ranks = placement.ranks,
                        .interface = placement.interface,
                        .address = placement.address,
                        .rdma = rdma_text(facts, placement)};
  for (const facts::Interface& interface : facts.interfaces) {
    if (interface.name != placement.interface) continue;
    host.mtu = interface.mtu;
    host.speed_mbit = interface.speed_mbit;
  }
  return host;
}

std::string pod_name(int pod) {
  return fmt::format("pod {}", pod);
}

// Describes the hosts. Of several starts, the one with the most ranks counts.
void describe(const Surveyed& all, bench::Results& results) {
  if (all.layout.ranks < results.ranks) return;
  results.ranks = all.layout.ranks;
  results.network = all.layout.subnet;
  results.engine = engine_name(all.layout.engine);
  results.hosts.clear();
  for (const layout::Placement& placement : all.layout.placements) {
    bench::HostFacts host{.name = placement.host, .ranks = placement.ranks};
    for (const facts::Survey& survey : all.surveys) {
      if (survey.host == placement.host && survey.facts) {
        host = host_facts(*survey.facts, placement);
      }
    }
    results.hosts.push_back(std::move(host));
  }
  for (int pod = 0; pod < all.job.pods; ++pod) {  // nothing else is known about other pods
    if (pod == all.job.pod) continue;
    results.hosts.push_back({.name = pod_name(pod), .ranks = all.layout.placements.front().ranks});
  }
}

// The host of each rank. A pod does not know the names of other pods, so these are numbered.
std::vector<std::string> hosts_by_rank(const Surveyed& all) {
  const std::vector<layout::Placement>& placements = all.layout.placements;
  std::vector<std::string> hosts;
  const auto add = [&](const std::string& host, int ranks) {
    hosts.insert(hosts.end(), static_cast<std::size_t>(ranks), host);
  };
  for (int pod = 0; pod < all.job.pods; ++pod) {
    const layout::Placement& own = placements.front();
    add(pod == all.job.pod ? own.host : pod_name(pod), own.ranks);
  }
  if (all.job.pods > 0) return hosts;
  for (const layout::Placement& placement : placements) add(placement.host, placement.ranks);
  return hosts;
}

// Keeps output that contains no measurements. It is shown only if the bench fails.
class OtherLines {
 public:
  void keep(int rank, std::string_view text) {
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    lines_.push_back(rank < 0 ? std::string(text) : fmt::format("[{}] {}", rank, text));
    if (lines_.size() <= kKeptLines) return;
    lines_.pop_front();
    ++dropped_;
  }
  void print(const std::string& run_id) const {
    if (dropped_ > 0) {
      sys::print_err("({} more lines; to see them: muster logs {})\n", dropped_, run_id);
    }
    for (const std::string& line : lines_) sys::print_err("{}\n", line);
  }

 private:
  std::deque<std::string> lines_;
  std::size_t dropped_ = 0;
};

Result<void> refuse_if_bad(const Surveyed& all, bool force, bool first) {
  const bool refused = checks::has_errors(all.findings) && !force;
  if (first || refused)
    sys::write_err(checks::to_text(all.findings, sys::shows_colours(STDERR_FILENO)));
  if (!refused) return {};
  const bool missing = std::any_of(
      all.findings.begin(), all.findings.end(),
      [](const checks::Finding& finding) { return finding.id == checks::kProgramMissing; });
  return unexpected(
      Error{.code = ErrorCode::kFindings,
            .what = "not started; see above",
            .hint = missing ? fmt::format("install {} at the same path on all hosts, or name its "
                                          "path there with --bench-program PATH",
                                          kBenchProgram)
                            : "--force starts it anyway"});
}

Result<void> check_place(const JobOptions& job) {
  if (!needs_allocation(job.job)) return {};
  MUSTER_TRY(const bool there, in_allocation());
  if (there) return {};
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = "with --engine slurm, muster bench must run inside an allocation",
                          .hint = "for example: salloc -N 2 muster bench all-reduce"});
}

// The signal, such as that of Ctrl-C, that arrived while the hosts were being surveyed. muster does
// not end at once, because earlier measurements would be lost.
volatile std::sig_atomic_t came = 0;

class Interrupts {
 public:
  Interrupts() {
    came = 0;
    struct sigaction noted{};
    noted.sa_handler = [](int signal) { came = signal; };
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      (void)::sigaction(kSignals[i], &noted, &before_[i]);
    }
  }
  ~Interrupts() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      (void)::sigaction(kSignals[i], &before_[i], nullptr);
    }
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

Program bench_program(const BenchOptions& options) {
  return {options.program.empty() ? own_program(kBenchProgram) : options.program};
}

Result<std::unique_ptr<Surveyed>> look_at_hosts(const BenchOptions& options,
                                                const BenchStart& start, const Turn& turn) {
  const Interrupts interrupts;
  MUSTER_TRY(auto all, survey(start.job, bench_program(options), {.run_id = turn.id()}));
  if (came != 0) return std::unique_ptr<Surveyed>();
  return all;
}

}  // namespace

Result<PodLook> look_at_pod(const BenchOptions& options) {
  MUSTER_TRY(const auto all, survey(options.job, bench_program(options), {}));
  PodLook look{.ranks = all->layout.placements.front().ranks};
  for (const facts::Survey& survey : all->surveys) {
    if (!survey.facts) return unexpected(survey.facts.error());
    look.has_rdma = !rdma_text(*survey.facts, all->layout.placements.front()).empty();
  }
  all->close();
  return look;
}

Result<BenchEnd> start_bench(const BenchOptions& options, const BenchStart& start,
                             bench::Results& results, sys::LiveLine& line) {
  MUSTER_CHECK(check_place(start.job));
  const Turn turn{.base = run::new_run_id()};
  line.show(fmt::format("bench: {}: checking the hosts", start.what));
  MUSTER_TRY(const auto all, look_at_hosts(options, start, turn));
  line.clear();
  if (all == nullptr) {
    results.cut_short = "interrupted";
    return BenchEnd{.code = 128 + came, .interrupted = true};
  }
  MUSTER_CHECK(refuse_if_bad(*all, options.force, results.hosts.empty()));
  if (options.job.verbose) {
    for (const std::string& why : all->layout.why) sys::print_err("muster: {}\n", why);
  }
  MUSTER_TRY(const std::vector<std::string> more, start.words(*all));
  all->job.program.insert(all->job.program.end(), more.begin(), more.end());
  describe(*all, results);
  MUSTER_TRY(const std::string folder, run::make_run_folder(turn.id()));
  MUSTER_CHECK(run::write_owner(folder));
  MUSTER_TRY(const launch::Plan plan, prepare(*all, turn, folder));
  tell_placements(*all, plan);
  line.show(fmt::format("bench: {}: starting {} ranks", start.what, all->layout.ranks));
  BenchEnd end{.folder = folder, .hosts = hosts_by_rank(*all)};
  bench::Lines lines(results, end.hosts);
  OtherLines others;
  const auto watch = [&](sys::Stream stream, const run::Line& said) {
    if (stream != sys::Stream::kOut || said.rank != 0 || !lines.take(said.text)) {
      return others.keep(said.rank, said.text);
    }
    const bench::Activity& now = lines.progress();
    line.show(fmt::format("bench: {}: {} ({} of {}{})", start.what, now.what, now.done + 1, now.of,
                          duration_text(now.left_s)));
  };
  const auto decide = [&](const run::Record& record, const run::Verdict&) {
    end.interrupted = record.reason == run::Reason::kInterrupted;
    return run::Decision{};
  };
  MUSTER_TRY(const AttemptEnd ended,
             supervise(*all, start.patience, plan, turn, folder, decide,
                       {.watch = watch, .engine = run::Audience::Engine::kNever}));
  line.clear();
  all->close();
  // Rank 0 alone reports measurements, and only to the pod in which it runs.
  const bool measured =
      all->job.pod > 0 ? ended.verdict.code == 0 : lines.ended() && lines.wrong().empty();
  const bool whole = measured && !end.interrupted;
  end.code = whole ? 0 : ended.verdict.code;
  if (whole) return end;
  results.cut_short = !lines.wrong().empty() ? lines.wrong() : ended.verdict.text;
  if (results.cut_short.empty())
    results.cut_short = "muster-bench ended before everything was measured";
  if (end.code == 0) end.code = exit_code(ErrorCode::kSystem);
  if (!end.interrupted) {
    others.print(turn.id());
    sys::print_err("muster: {}\n", results.cut_short);
    for (const std::string& said : ended.ending) sys::print_err("{}\n", said);
  }
  return end;
}

}  // namespace muster::cli
