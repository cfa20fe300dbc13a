// `muster bench`: measures how fast the network is, and whether it is as fast as it should be.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/exit_code.hpp"
#include "bench/judge.hpp"
#include "bench/page.hpp"
#include "bench/pod_shares.hpp"
#include "bench/rounds.hpp"
#include "bench/saved_rates.hpp"
#include "bench/suspects.hpp"
#include "bench/table.hpp"
#include "cli/bench_job.hpp"
#include "cli/bench_states.hpp"
#include "cli/command.hpp"
#include "cli/config_file.hpp"
#include "cli/first_pod.hpp"
#include "cli/flag_words.hpp"
#include "cli/reach.hpp"
#include "cli/stored_bench.hpp"
#include "cli/without_rdma.hpp"
#include "engines/kind.hpp"
#include "run/folder.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"
#include "sys/quote.hpp"

namespace muster::cli {
namespace {

constexpr const char* kAllOperations =
    "all-reduce,all-gather,reduce-scatter,broadcast,all-to-all,send-recv,barrier";
constexpr int kHostsInFull = 64;  // with more hosts, only a sample of the pairs is measured
constexpr int kSampledRounds = 16;
constexpr int kLastPort = 65535;

// The command as it was typed, without the values of variables, which may be secret.
std::string command_text(Words words) {
  words.insert(words.begin(), "muster");
  return sys::quote(without_secrets(words));
}

std::string utc_now() {
  const auto now = static_cast<std::time_t>(sys::unix_time());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  (void)std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

bool all_have_gpus(const Surveyed& all) {
  return std::all_of(all.surveys.begin(), all.surveys.end(), [](const facts::Survey& survey) {
    return survey.facts && !survey.facts->gpus.empty();
  });
}

bool ranks_are_mpis(const Surveyed& all) {
  return engines::find(all.layout.engine.kind).is_mpi || !all.layout.engine.mpi.empty();
}

// The backends that the engine's ranks can use. Plain MPI comes first, for comparison with the
// others.
Words backends_for(const BenchOptions& options, const Surveyed& all) {
  if (!options.backends.empty()) return options.backends;
  Words backends;
  if (ranks_are_mpis(all)) backends = {"bare", "mpi"};
  backends.emplace_back("gloo");
  if (all_have_gpus(all)) backends.emplace_back("nccl");
  return backends;
}

Words collective_words(const BenchOptions& options, const std::string& operations,
                       const Surveyed& all) {
  Words words = {"collectives",
                 "--operations",
                 operations,
                 "--backends",
                 fmt::format("{}", fmt::join(backends_for(options, all), ",")),
                 "--min",
                 std::to_string(options.min_bytes),
                 "--max",
                 std::to_string(options.max_bytes),
                 "--factor",
                 std::to_string(options.factor)};
  // Skip backends that are not available.
  if (options.backends.empty()) words.emplace_back("--optional");
  const auto add = [&](const char* flag, const std::string& value) {
    words.insert(words.end(), {flag, value});
  };
  if (options.iterations > 0) add("--iterations", std::to_string(options.iterations));
  if (options.warmup >= 0) add("--warmup", std::to_string(options.warmup));
  if (options.seconds > 0) add("--seconds", fmt::format("{}", options.seconds));
  return words;
}

Words training_words(const BenchOptions& options, const Surveyed& all) {
  const std::string device = options.device != "auto" ? options.device
                             : all_have_gpus(all)     ? "cuda"
                                                      : "cpu";
  std::string backend = device == "cuda" ? "nccl" : ranks_are_mpis(all) ? "mpi" : "gloo";
  if (!options.backends.empty()) backend = options.backends.front();
  Words words = {"ddp",       "--model", options.model,
                 "--backend", backend,   "--device",
                 device,      "--hosts", std::to_string(all.layout.placements.size())};
  const auto add = [&](const char* flag, int value) {
    if (value > 0) words.insert(words.end(), {flag, std::to_string(value)});
  };
  add("--steps", options.steps);
  add("--batch", options.batch);
  add("--image-size", options.image_size);
  return words;
}

std::map<std::string, std::string> hostnames(const Surveyed& all) {
  std::map<std::string, std::string> names;
  for (const layout::Placement& placement : all.layout.placements) names[placement.host] = "";
  for (const facts::Survey& survey : all.surveys) {
    const auto found = names.find(survey.host);
    if (found != names.end() && survey.facts) found->second = survey.facts->hostname;
  }
  return names;
}

// Leaves out small messages, because the table shows only the bandwidth of large ones.
BenchOptions with_large_messages(BenchOptions options) {
  constexpr std::int64_t kLargeEnough = std::int64_t{16} << 20;
  if (options.max_bytes > kLargeEnough) {
    options.min_bytes = std::max(options.min_bytes, kLargeEnough);
  }
  return options;
}

Error not_in_pods() {
  return {.code = ErrorCode::kUsage,
          .what =
              "muster bench pairs and ddp must reach all hosts from one machine, but in a pod "
              "muster sees only that pod",
          .hint = "in pods, measure a collective operation: muster bench all-reduce --table"};
}

class Bench {
 public:
  Bench(const BenchOptions& options, std::string command, double expected)
      : options_(options), expected_(expected) {
    results_.muster = MUSTER_VERSION;
    results_.when = utc_now();
    results_.command = std::move(command);
  }

  Result<int> run();

 private:
  using MakeWords = std::function<Result<Words>(const Surveyed&)>;

  Result<void> collectives();
  Result<void> by_rank_count();
  Result<void> rank_counts(const std::string& how);
  Result<void> by_pod_count();
  Result<void> pod_counts(const PodLook& look, int first_port, const std::string& how);
  Result<void> pairs();
  Result<void> measure_pairs(const std::vector<bench::Round>& rounds);
  Result<void> trainings();
  Result<void> start(const std::string& what, const JobOptions& job, MakeWords words);
  Result<int> finish();
  [[nodiscard]] bool goes_on() const { return end_.code == 0 && !end_.interrupted; }
  [[nodiscard]] bool has_something() const {
    return !results_.measurements.empty() || !results_.pairs.empty() || !results_.trainings.empty();
  }

  const BenchOptions& options_;
  double expected_;
  std::optional<hosts::Pod> pod_;  // the pod in which muster runs
  bench::Results results_;
  BenchEnd end_;
  std::vector<std::string> folders_;  // run folders of all starts
  PairStates states_;
  sys::LiveLine line_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// Fails only if nothing has been measured yet. A later failure is stored in results_.cut_short.
Result<void> Bench::start(const std::string& what, const JobOptions& job, MakeWords words) {
  run::Patience patience = options_.patience;
  patience.spent_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  auto ended = start_bench(
      options_, {.what = what, .job = job, .patience = patience, .words = std::move(words)},
      results_, line_);
  if (ended) {
    end_ = *std::move(ended);
    folders_.push_back(end_.folder);
    return {};
  }
  if (!has_something()) return unexpected(ended.error());
  results_.cut_short = to_text(ended.error());
  end_.code = exit_code(ended.error().code);
  return {};
}

Result<void> Bench::collectives() {
  results_.kind = "collectives";
  const std::string operations = options_.what == "all" ? kAllOperations : options_.what;
  return start(options_.what, options_.job, [&](const Surveyed& all) -> Result<Words> {
    return collective_words(options_, operations, all);
  });
}

// Measures with 2, 4, 8, ... ranks, filling one host after the other, which is the usual form of
// such tables.
Result<void> Bench::rank_counts(const std::string& how) {
  const BenchOptions options = with_large_messages(options_);
  int most = 2;
  for (int ranks = 2; ranks <= most && goes_on(); ranks *= 2) {
    JobOptions job = options.job;
    job.job.ranks = ranks;
    MUSTER_CHECK(start(fmt::format("{} ranks{}", ranks, how), job, [&](const Surveyed& all) {
      most = 0;
      for (const hosts::Host& host : all.cluster.hosts) {
        most += job.job.ranks_per_host > 0 ? job.job.ranks_per_host : std::max(host.slots, 1);
      }
      return Result<Words>(collective_words(options, "all-reduce", all));
    }));
  }
  return {};
}

// If there is RDMA, also measures without it. The traffic of that part is dropped, because using
// TCP is intended there.
Result<void> Bench::by_rank_count() {
  results_.kind = "collectives";
  MUSTER_CHECK(rank_counts(""));
  const bool rdma = std::any_of(results_.hosts.begin(), results_.hosts.end(),
                                [](const bench::HostFacts& host) { return !host.rdma.empty(); });
  if (!rdma || !goes_on()) return {};
  const std::size_t counted = results_.traffic.size();
  const WithoutRdma off;
  auto done = rank_counts(", no RDMA");
  results_.traffic.resize(std::min(counted, results_.traffic.size()));
  return done;
}

// Every pod runs this at the same time. Each start uses a different port, so that a pod that is
// ahead of the others cannot connect to their previous start.
Result<void> Bench::pod_counts(const PodLook& look, int first_port, const std::string& how) {
  int port = first_port;
  for (const bench::PodShare& share : bench::pod_shares(pod_->count, look.ranks)) {
    JobOptions job = options_.job;
    job.job.ranks_per_host = 0;
    job.pod = pod_;
    job.pod->count = share.pods;
    job.pod->ranks_per_pod = share.ranks_per_pod;
    job.pod->master_port = port++;
    if (pod_->rank >= share.pods) continue;
    if (!goes_on()) break;
    const int ranks = share.pods * share.ranks_per_pod;
    MUSTER_CHECK(start(fmt::format("{} ranks{}", ranks, how), job, [&](const Surveyed& all) {
      return Result<Words>(collective_words(with_large_messages(options_), "all-reduce", all));
    }));
  }
  return {};
}

Result<void> Bench::by_pod_count() {
  results_.kind = "collectives";
  MUSTER_TRY(const PodLook look, look_at_pod(options_));
  const auto starts = static_cast<int>(bench::pod_shares(pod_->count, look.ranks).size());
  if (starts == 0) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = "there is only one pod with one rank, so nothing can be measured",
              .hint = "start more pods, or pass --nproc-per-node 2"});
  }
  // Use the ports from the platform's port upwards, or lower ones if there are too few above it.
  const int port = std::min(pod_->master_port, kLastPort - 2 * starts);
  MUSTER_CHECK(pod_counts(look, port, ""));
  if (!look.has_rdma || !goes_on()) return {};
  const std::size_t counted = results_.traffic.size();
  const WithoutRdma off;
  auto done = pod_counts(look, port + starts, ", no RDMA");
  results_.traffic.resize(std::min(counted, results_.traffic.size()));
  return done;
}

// Without `rounds`, measures every pair of hosts, or some of the rounds if there are many hosts or
// if --rounds limits them.
Result<void> Bench::measure_pairs(const std::vector<bench::Round>& rounds) {
  JobOptions job = options_.job;
  job.job.ranks_per_host = 1;
  job.job.ranks_by.clear();
  const bool again = !rounds.empty();
  return start(
      again ? "pairs again, to be sure" : "pairs", job, [&](const Surveyed& all) -> Result<Words> {
        const auto hosts = static_cast<int>(all.layout.placements.size());
        if (hosts < 2) {
          return unexpected(
              Error{.code = ErrorCode::kUsage,
                    .what = "muster bench pairs needs at least two hosts, but there is only one",
                    .hint = "name more hosts: muster bench pairs -H n[1-4]"});
        }
        const int sample = hosts > kHostsInFull ? kSampledRounds : 0;
        const auto wanted =
            again ? rounds
                  : bench::pairs_that_fit(hosts,
                                          options_.most_rounds > 0 ? options_.most_rounds : sample);
        const std::string backend = backends_for(options_, all).front();
        states_.how = fmt::format("{} with {} in {}", backend,
                                  engines::name_of(all.layout.engine.kind), all.layout.subnet);
        states_.names = hostnames(all);
        Words words = {"pairs", "--rounds", bench::to_words(wanted), "--backend", backend};
        if (options_.seconds > 0) {
          words.insert(words.end(), {"--seconds", fmt::format("{}", options_.seconds)});
        }
        if (again) words.emplace_back("--again");
        return words;
      });
}

Result<void> Bench::pairs() {
  results_.kind = "pairs";
  MUSTER_CHECK(measure_pairs({}));
  const auto found = bench::find_suspects(results_.pairs);
  results_.suspects = found;
  read_states(states_);
  auto wanted = bench::second_look(found, results_.pairs);
  for (auto& link :
       bench::to_measure_again(bench::find_slowed(results_.pairs, states_.saved, states_.how))) {
    const auto known = std::find_if(wanted.begin(), wanted.end(), [&](const auto& one) {
      return std::minmax(one.first, one.second) == std::minmax(link.first, link.second);
    });
    if (known == wanted.end()) wanted.push_back(std::move(link));
  }
  if (goes_on() && !wanted.empty()) {
    const auto number = [&](const std::string& host) {
      return static_cast<int>(std::find(end_.hosts.begin(), end_.hosts.end(), host) -
                              end_.hosts.begin());
    };
    std::vector<bench::Round> rounds;  // one pair per round, so that no other pair interferes
    for (const auto& [one, other] : wanted) {
      rounds.push_back({std::minmax({number(one), number(other)})});
    }
    MUSTER_CHECK(measure_pairs(rounds));
  }
  results_.suspects = bench::confirm(found, results_.pairs);
  return {};
}

// Measures on 1, 2, 4, ... hosts and on all hosts.
Result<void> Bench::trainings() {
  results_.kind = "ddp";
  MUSTER_TRY(const Reach reach, find_reach(options_.job));
  const auto there = static_cast<int>(reach.cluster.hosts.size());
  const int most = options_.job.job.nodes > 0 ? std::min(options_.job.job.nodes, there) : there;
  for (int hosts = 1; hosts <= most && goes_on();
       hosts = hosts == most ? most + 1 : std::min(2 * hosts, most)) {
    JobOptions job = options_.job;
    job.job.nodes = hosts;
    MUSTER_CHECK(
        start(fmt::format("{} on {} host{}", options_.model, hosts, hosts == 1 ? "" : "s"), job,
              [&](const Surveyed& all) { return Result<Words>(training_words(options_, all)); }));
  }
  return {};
}

Result<int> Bench::finish() {
  if (pod_ && pod_->rank > 0) {
    if (end_.code == 0) sys::print_err("muster: measured; the first pod shows the results\n");
    return end_.code;
  }
  results_.verdicts = bench::judge(results_, expected_);
  judge_by_states(states_, results_);
  const std::string json = to_json(results_) + "\n";
  if (options_.json) {
    sys::write_out(json);
  } else if (options_.table) {
    sys::print_out("{}{}", bench::rank_count_table(results_), bench::verdict_text(results_));
  } else {
    sys::write_out(bench::table_text(results_));
  }
  Result<void> kept;
  if (!options_.report.empty()) {
    kept = sys::write_file(options_.report, bench::page_html(results_), 0644);
    if (kept) sys::print_err("muster: the page is {}\n", options_.report);
  }
  for (const std::string& folder : folders_) {
    auto written = sys::write_file(folder + kResultsFile, json, 0600);
    if (kept) kept = written;
  }
  MUSTER_CHECK(kept);
  if (end_.code != 0) return end_.code;
  if (!has_something()) {
    return unexpected(Error{.what = "nothing was measured"});
  }
  if (options_.save || options_.save_slow) {
    MUSTER_CHECK(save_rates(states_, results_, options_.save_slow));
  }
  const bool failed = std::any_of(
      results_.verdicts.begin(), results_.verdicts.end(),
      [](const bench::Judgement& one) { return one.outcome == bench::Judgement::Outcome::kFail; });
  return failed ? kExitTooSlow : 0;
}

Result<int> Bench::run() {
  MUSTER_TRY(pod_, find_pod(options_.job));
  if (pod_ && (options_.what == "pairs" || options_.what == "ddp"))
    return unexpected(not_in_pods());
  MUSTER_TRY(const auto signal, wait_for_first_pod(options_.job));
  if (signal) return 128 + *signal;
  if (options_.what == "pairs") {
    MUSTER_CHECK(pairs());
  } else if (options_.what == "ddp") {
    MUSTER_CHECK(trainings());
  } else if (options_.table) {
    MUSTER_CHECK(pod_ ? by_pod_count() : by_rank_count());
  } else {
    MUSTER_CHECK(collectives());
  }
  return finish();
}

Error usage(std::string what, std::string hint) {
  return {.code = ErrorCode::kUsage, .what = std::move(what), .hint = std::move(hint)};
}

// Checks what can be checked without contacting a host.
Result<void> check_options(const BenchOptions& options) {
  const layout::Job& job = options.job.job;
  const bool nccl =
      std::find(options.backends.begin(), options.backends.end(), "nccl") != options.backends.end();
  const bool bare =
      std::find(options.backends.begin(), options.backends.end(), "bare") != options.backends.end();
  if (!options.files.empty()) {
    return unexpected(
        usage(fmt::format("muster bench measures one thing at a time and cannot use '{}'",
                          options.files[0]),
              "to measure all operations: muster bench all"));
  }
  if (options.min_bytes < 1 || options.min_bytes > options.max_bytes || options.max_bytes < 4) {
    return unexpected(usage(fmt::format("there is no message size between {} and {} bytes",
                                        options.min_bytes, options.max_bytes),
                            "for example: --min 8 --max 256M"));
  }
  if (options.table && options.what != "all-reduce") {
    return unexpected(
        usage("--table works only with all-reduce", "muster bench all-reduce --table"));
  }
  if ((options.table || options.what == "pairs" || options.what == "ddp") && job.ranks > 0) {
    return unexpected(
        usage("-n cannot be used here, because this measurement chooses the number of ranks itself",
              "use --nproc-per-node for the ranks per host, and -N for the number of hosts"));
  }
  if (options.table && (job.nodes > 0 || !job.ranks_by.empty())) {
    return unexpected(
        usage("--table uses all hosts that you name; -N, and --nproc-per-node with a word instead "
              "of a number, do not work with it",
              "for example: -H n[1-4] --nproc-per-node 2"));
  }
  const bool saves = options.save || options.save_slow;
  if (saves && options.what != "pairs") {
    return unexpected(
        usage(fmt::format("{} works only with pairs", options.save ? "--save" : "--save-slow"),
              "muster bench pairs --save"));
  }
  if (saves) MUSTER_CHECK(check_may_save());
  if (options.what == "pairs" && nccl) {
    return unexpected(
        usage("muster bench pairs measures between hosts, not between GPUs, so nccl does not work "
              "with it",
              "use --backend bare, mpi or gloo"));
  }
  if (options.what == "ddp" && bare) {
    return unexpected(
        usage("the backend bare cannot train a model", "use --backend mpi, gloo or nccl"));
  }
  return {};
}

Result<int> bench_command(const BenchOptions& options, const Words& words, const Program& program) {
  if (!program.empty()) {
    return unexpected(usage("muster bench takes no program after --",
                            "muster bench runs its own program, muster-bench"));
  }
  if (options.what == "compare") return compare_two(options);
  if (options.what == "show") return show_one(options);
  MUSTER_CHECK(check_options(options));
  MUSTER_TRY(const double expected, expected_rate(options));
  return Bench(options, command_text(words), expected).run();
}

constexpr auto kBenchMore =
    "WHAT is one of: all-reduce, all-gather, reduce-scatter, broadcast, all-to-all, send-recv or "
    "barrier (collective operations); all (all of these operations); pairs (the links between "
    "every two hosts); ddp (a training with and without network); compare A B (compare two saved "
    "results); show A (print a saved result).\n\n"
    "Sizes, algbw and busbw are defined as in nccl-tests, and every result is verified. The "
    "verdict compares busbw with the speed of the hosts' links, or with --expect.\n\n"
    "Exit code: 0 if every verdict is good, 3 if one is bad, 123 if the checks found an error "
    "and nothing was started, 125 if the measurement was cut short, 130 after Ctrl-C.\n\n"
    "Examples:\n"
    "  muster bench all-reduce -H node1,node2 --max 64M --report bench.html\n"
    "  muster bench pairs -H 'node[01-16]' --timeout 10m --save";

}  // namespace

Result<Line> read_bench_line(const Words& words, const Flags& own) {
  const std::size_t arguments = leading_arguments(words);
  if (arguments == 0 && !asks_for_help(words)) {
    return unexpected(usage("what to measure must come right after 'muster bench'",
                            "muster bench all-reduce|all|pairs|ddp FLAGS"));
  }
  const std::string what = arguments == 0 ? "" : words[1];
  // `compare` and `show` only read files, so flags of other launchers make no sense here.
  if (what == "compare" || what == "show") return split_at_dashes(words);
  return in_own_words_after(arguments, words, own);
}

void add_bench(CLI::App& app, Action& action, const std::vector<std::string>& words,
               const Program& program) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "Measure the network between the hosts and judge its speed");
  command->footer(kBenchMore);
  add_bench_options(*command, *options);
  command->callback([options, command, &action, &words, &program] {
    action = [options, command, &words, &program]() -> Result<int> {
      if (options->files.empty()) MUSTER_CHECK(take_config(*command, options->job.cluster));
      return bench_command(*options, words, program);
    };
  });
}

}  // namespace muster::cli
