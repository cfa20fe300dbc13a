// Simulates a run with many hosts: the real code of the launcher, fake hosts, and a clock that
// jumps from one event to the next. The costs of ssh and of the engine are parameters, which
// campaigns/core measures. Prints one line of JSON. Ends with 1 if a rank stays unknown, a lost
// host is not named, or a host that was only slow counts as lost.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "checks/finding.hpp"
#include "layout/world.hpp"
#include "processors.hpp"
#include "run/reach_test.hpp"
#include "run/scene.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"

namespace muster::scale {
namespace {

using run::FakeHost;
using run::FakeHosts;

constexpr double kRoundTripsOfALogin =
    8;  // TCP, versions, two of keys, service, two of the user's key, session
constexpr double kRoundTripsOfASession = 2;  // over a connection that is open
constexpr double kCalmSeconds = 10;          // from the start of all ranks to the first fault
constexpr double kFaultsSeconds = 60;        // in which all faults happen
constexpr double kAfterwards = 60;           // in which muster must have named the last lost host
constexpr double kLookEvery = 0.05;

struct Costs {
  double cpu_s = 0;
  double peak_mb = 0;
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// The peak is not getrusage's, which also counts the process that started this one.
double peak_mb() {
  const auto status = sys::read_file("/proc/self/status", std::size_t{1} << 16);
  constexpr std::string_view kPeak = "VmHWM:";
  const std::size_t at = status ? status->find(kPeak) : std::string::npos;
  return at == std::string::npos ? 0 : std::atof(status->c_str() + at + kPeak.size()) / 1024;
}

// Of this process, so with the fake hosts.
Costs costs_so_far() {
  rusage usage{};
  (void)::getrusage(RUSAGE_SELF, &usage);
  return {.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime), .peak_mb = peak_mb()};
}

// What can be set as NAME=VALUE, with its default.
using Settings = std::map<std::string, double>;
const Settings kDefaults = {
    {"hosts", 10},
    {"ranks", 8},            // per host
    {"processors", 1},       // of the launcher
    {"login_s", 0.02},       // CPU time on the launcher for a login by ssh
    {"session_s", 0.01},     // CPU time on the launcher for a session over an open connection
    {"engine_s", 0.02},      // CPU time on the launcher for the engine to reach a host
    {"host_login_s", 0.05},  // the host's part of a login
    {"facts_s", 0.5},        // for a host to gather its facts
    {"delay_s", 0.001},      // of the network, in one direction
    {"lost", 1},             // hosts that disappear while the ranks run
    {"slow", 1},  // hosts that answer everything late, and are silent for some seconds once
    {"seed", 1},
};

class Simulation {
 public:
  Simulation(Settings settings, const facts::Facts& facts)
      : set_(std::move(settings)),
        scene_(static_cast<int>(set_.at("hosts")), static_cast<int>(set_.at("ranks"))),
        processors_(scene_.loop, static_cast<int>(set_.at("processors"))),
        random_(static_cast<unsigned>(set_.at("seed"))) {
    const layout::World world = layout::good_world(1);
    job_.program = {"train"};
    job_.engine = world.surveys[0].facts->mpi[0].kind;
    job_.ranks_per_host = static_cast<int>(set_.at("ranks"));
    for (const std::string& name : scene_.hosts.names()) cluster_.hosts.push_back({.name = name});
    launcher_ = world.launcher;
    launcher_.interfaces[1].addresses = {{"198.18.255.250", 16}};
    prepare_hosts(facts, *world.surveys[0].facts);
    scene_.patience.min_hosts = 1;  // the job continues when a host is lost
    scene_.decide = [this](run::Crew& crew, const auto& surveys) { decide(crew, surveys); };
    scene_.engine.reaches_hosts = [this](std::function<void()> then) { start_engine(then); };
    before_ = costs_so_far();
  }

  int play() {
    const run::SceneEnd end = scene_.play();
    const Costs all = costs_so_far();
    std::vector<double> named_after;
    for (const auto& [host, at_s] : vanished_) {
      if (const auto named = named_.find(host); named != named_.end())
        named_after.push_back(named->second - at_s);
    }
    std::sort(named_after.begin(), named_after.end());
    const auto wrongly = std::count_if(named_.begin(), named_.end(), [&](const auto& one) {
      return !vanished_.contains(one.first);
    });
    const auto named = [&](double part) {
      if (named_after.empty()) return 0.0;
      return named_after[static_cast<std::size_t>(part *
                                                  static_cast<double>(named_after.size() - 1))];
    };
    const double own_s = known_.cpu_s - before_.cpu_s;
    const bool all_known = end.started && known_at_s_ > 0;
    sys::print_out(
        "{{\"hosts\": {}, \"ranks\": {}, \"processors\": {}, \"survey_s\": {:.2f}, \"clock_s\": "
        "{:.2f}, \"known_s\": {:.2f}, "
        "\"ssh_cpu_s\": {:.2f}, \"survey_cpu_s\": {:.2f}, \"decide_cpu_s\": {:.2f}, "
        "\"reach_cpu_s\": {:.2f}, \"start_cpu_s\": {:.2f}, "
        "\"own_cpu_s\": {:.4f}, \"watch_cpu\": {:.6f}, \"own_mb\": {:.1f}, \"fakes_mb\": {:.1f}, "
        "\"lost\": {}, \"named\": {}, \"named_least_s\": {:.1f}, \"named_median_s\": {:.1f}, "
        "\"named_most_s\": {:.1f}, "
        "\"slow\": {}, \"wrongly_lost\": {}, \"findings\": {}}}\n",
        scene_.hosts.size(), end.record.ranks.size(), set_.at("processors"), end.survey_s,
        known_at_s_, known_at_s_ + own_s, processors_.used_s(), survey_.cpu_s - before_.cpu_s,
        decided_.cpu_s - survey_.cpu_s - reach_s_, reach_s_, known_.cpu_s - decided_.cpu_s, own_s,
        (calm_.cpu_s - known_.cpu_s) / kCalmSeconds, all.peak_mb, before_.peak_mb, vanished_.size(),
        named_after.size(), named(0), named(0.5), named(1), set_.at("slow"), wrongly, findings_);
    if (!all_known) sys::print_err("simulate: not all ranks became known: {}\n", end.verdict.text);
    return all_known && well_modelled_ && named_after.size() == vanished_.size() && wrongly == 0
               ? 0
               : 1;
  }

 private:
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  void prepare_hosts(facts::Facts facts, const facts::Facts& in_the_network) {
    facts.interfaces = in_the_network.interfaces;
    facts.interfaces[1].addresses = {{FakeHosts::kAddressGoesHere, 16}};
    facts.own_name_resolves_to = {FakeHosts::kAddressGoesHere};
    facts.routes = in_the_network.routes;
    scene_.hosts.tell(std::move(facts));
    const double all_s = kCalmSeconds + kFaultsSeconds + kAfterwards;
    scene_.let_ranks_live(all_s);
    for (std::size_t i = 0; i < scene_.hosts.size(); ++i) {
      run::Behaviour& host = scene_.hosts[i].behaviour;
      host.answers_after_s = 2 * set_.at("delay_s");
      host.facts_take_s = set_.at("facts_s") * between(1, 1.5);
      host.answer = answer;
    }
    choose_hosts();
    scene_.hosts.on_open = [this](bool /*fresh*/, std::function<void()> then) {
      const double away_s = set_.at("host_login_s") +
                            (kRoundTripsOfALogin + kRoundTripsOfASession) * 2 * set_.at("delay_s");
      processors_.work(set_.at("login_s") + set_.at("session_s"),
                       [this, away_s, then = std::move(then)] { scene_.loop.after(away_s, then); });
    };
  }

  // The first hosts of a random order are lost, the next ones are slow.
  void choose_hosts() {
    std::vector<std::size_t> order(scene_.hosts.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    const auto lost = std::min(order.size(), static_cast<std::size_t>(set_.at("lost")));
    const auto slow = std::min(order.size() - lost, static_cast<std::size_t>(set_.at("slow")));
    lost_.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(lost));
    slow_.assign(order.begin() + static_cast<std::ptrdiff_t>(lost),
                 order.begin() + static_cast<std::ptrdiff_t>(lost + slow));
    for (const std::size_t i : slow_) scene_.hosts[i].behaviour.answers_after_s = between(1, 5);
  }

  static std::optional<agent::Report> answer(const agent::Order& order) {
    agent::Report report{.kind = agent::Report::Kind::kConnected,
                         .reached = std::vector(order.targets.size(), facts::Reached::kYes)};
    if (order.kind != agent::Order::Kind::kListen) return report;
    report.kind = agent::Report::Kind::kListening;
    for (const agent::Endpoint& endpoint : order.endpoints) {
      constexpr int kSomePort = 40001;
      report.ports.push_back(
          endpoint.port != 0 ? endpoint.port : kSomePort + static_cast<int>(report.ports.size()));
    }
    return report;
  }

  // What `muster run` does between the survey and the start of the engine.
  void decide(run::Crew& crew, const std::vector<facts::Survey>& surveys) {
    survey_ = costs_so_far();
    const auto layout = layout::decide(job_, cluster_, surveys, launcher_);
    if (!layout) return sys::print_err("simulate: {}\n", to_text(layout.error()));
    run::ReachPlan plan = run::plan_reach(*layout, cluster_, surveys);
    plan.launcher.clear();  // the fake hosts cannot call this process
    for (run::Station& station : plan.stations) station.calls_launcher = false;
    const Costs before = costs_so_far();
    const std::vector<facts::Trial> trials = run::test_reach(scene_.loop, crew, plan);
    reach_s_ = costs_so_far().cpu_s - before.cpu_s;
    findings_ = checks::judge({.job = job_,
                               .cluster = cluster_,
                               .surveys = surveys,
                               .launcher = launcher_,
                               .layout = *layout,
                               .trials = trials})
                    .size();
    decided_ = costs_so_far();
  }

  // The engine starts the ranks when it has reached all hosts.
  void start_engine(const std::function<void()>& then) {
    look();
    for (std::size_t i = 0; i < scene_.hosts.size(); ++i) {
      processors_.work(set_.at("engine_s"), [this, then] {
        if (++reached_ < scene_.hosts.size()) return;
        scene_.loop.after(kRoundTripsOfASession * 2 * set_.at("delay_s"), then);
      });
    }
  }

  // Notices when all ranks are known, and when hosts are named as lost.
  void look() {
    const run::Record* const record = scene_.record();
    if (record == nullptr) return;
    while (first_unknown_ < record->ranks.size() && record->ranks[first_unknown_].start)
      ++first_unknown_;
    if (known_at_s_ == 0 && first_unknown_ == record->ranks.size()) all_are_known();
    for (; seen_lost_ < record->lost_hosts.size(); ++seen_lost_)
      named_[record->lost_hosts[seen_lost_]] = scene_.loop.elapsed();
    scene_.loop.after(kLookEvery, [this] { look(); });
  }

  void all_are_known() {
    known_at_s_ = scene_.loop.elapsed();
    // No more CPU time can have been used than there was.
    well_modelled_ = processors_.used_s() <= known_at_s_ * set_.at("processors") + kLookEvery;
    known_ = costs_so_far();
    scene_.loop.after(kCalmSeconds, [this] { calm_ = costs_so_far(); });
    for (const std::size_t i : lost_) {
      scene_.loop.after(kCalmSeconds + between(0, kFaultsSeconds), [this, i] {
        const bool cut = between(0, 1) < 0.5;
        scene_.hosts[i].vanish(cut ? run::Gone::kCut : run::Gone::kSilent, 0);
        vanished_[scene_.hosts[i].name()] = scene_.loop.elapsed();
      });
    }
    for (const std::size_t i : slow_) {
      scene_.loop.after(kCalmSeconds + between(0, kFaultsSeconds),
                        [this, i] { scene_.hosts[i].vanish(run::Gone::kSilent, between(2, 6)); });
    }
    scene_.loop.after(kCalmSeconds + kFaultsSeconds + kAfterwards,
                      [this] { scene_.end_engine("", 0); });
  }

  Settings set_;
  run::Scene scene_;
  Processors processors_;
  std::mt19937 random_;
  layout::Job job_;
  hosts::Cluster cluster_;
  facts::Facts launcher_;
  std::vector<std::size_t> lost_;
  std::vector<std::size_t> slow_;
  std::map<std::string, double> vanished_;  // when, by host
  std::map<std::string, double> named_;
  std::size_t reached_ = 0;  // hosts, by the engine
  std::size_t first_unknown_ = 0;
  std::size_t seen_lost_ = 0;
  std::size_t findings_ = 0;
  double known_at_s_ = 0;
  double reach_s_ = 0;
  bool well_modelled_ = false;
  // Costs so far: before the survey, after it, before the engine was started, when all ranks were
  // known, and some time later.
  Costs before_, survey_, decided_, known_, calm_;
};

int simulate(int argc, char** argv) {
  Settings settings = kDefaults;
  facts::Facts facts = layout::good_host("n1", 1);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto setting = settings.find(word.substr(0, equals));
    if (setting != settings.end()) {
      setting->second = std::atof(word.c_str() + equals + 1);
    } else if (word.starts_with("facts=")) {
      const auto text = sys::read_file(word.substr(equals + 1), std::size_t{16} << 20);
      auto parsed = text ? facts::parse_facts(*text) : unexpected(text.error());
      if (!parsed) {
        sys::print_err("simulate: {}\n", to_text(parsed.error()));
        return 2;
      }
      facts = *std::move(parsed);
    } else {
      sys::print_err("usage: simulate [facts=FILE] [NAME=VALUE ...]\n");
      return 2;
    }
  }
  Simulation simulation(std::move(settings), facts);
  return simulation.play();
}

}  // namespace
}  // namespace muster::scale

int main(int argc, char** argv) {
  return muster::scale::simulate(argc, argv);
}
