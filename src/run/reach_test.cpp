#include "run/reach_test.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <unordered_map>
#include <utility>

#include "run/reach_rounds.hpp"
#include "sys/random.hpp"
#include "sys/tcp.hpp"

namespace muster::run {
namespace {

using facts::Reached;
using facts::Trial;

constexpr std::chrono::seconds kToListen{5};    // after that the host is not tested
constexpr std::chrono::seconds kToConnect{20};  // longer than the agents' own deadline
constexpr std::chrono::seconds kToClose{5};
constexpr int kSamplePorts = 2;
constexpr std::size_t kTokenRandom = 16;
constexpr int kLowestPort = 1024;  // the lowest port that a kernel chooses by itself
constexpr int kHighestPort = 65535;
// The launcher never accepts connections, so they stay in the kernel's queue, which holds only 129
// before Linux 5.4.
constexpr std::size_t kCallersPerPort = 100;

class ReachTest {
 public:
  ReachTest(sys::Loop& loop, Crew& crew, const ReachPlan& plan)
      : loop_(loop), crew_(crew), plan_(plan), sites_(plan.stations.size()) {
    for (std::size_t i = 0; i < plan.stations.size(); ++i) {
      by_member_.emplace(plan.stations[i].member, i);
      sites_[i].token = sys::random_hex(kTokenRandom);
    }
  }

  std::vector<Trial> run() {
    crew_.listen([this](std::size_t member, const agent::Report& report) { take(member, report); },
                 [this](std::size_t member, const std::string& /*why*/) { lose(member); });
    listen();
    await(kToListen);
    connect();
    await(kToConnect);
    close();
    await(kToClose);
    crew_.listen(nullptr, nullptr);
    return trials();
  }

 private:
  // A station and what is known about it.
  struct Site {
    std::string token = {};
    std::vector<agent::Endpoint> endpoints = {};  // where it listens
    bool listens = false;
    bool lost = false;
    bool pending = false;           // waiting for its answer
    std::vector<Trial> calls = {};  // with their results, once it has reported them
  };

  void listen() {
    awaited_ = agent::Report::Kind::kListening;
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      Site& site = sites_[i];
      site.endpoints.assign(kSamplePorts, {.address = plan_.stations[i].address});
      if (i == 0 && plan_.master.port != 0) site.endpoints.push_back(plan_.master);
      ask(i,
          {.kind = agent::Order::Kind::kListen, .endpoints = site.endpoints, .token = site.token});
    }
    if (plan_.launcher.empty()) return;
    for (std::size_t callers = 0; callers < sites_.size(); callers += kCallersPerPort) {
      // No process accepts; the kernel completes connections.
      auto here = sys::listen_tcp(plan_.launcher, 0);
      here_.push_back(here ? *std::move(here) : sys::Fd());
    }
  }

  void connect() {
    awaited_ = agent::Report::Kind::kConnected;
    const auto peers = peers_in_rounds(sites_.size());
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      if (!sites_[i].listens || sites_[i].lost) continue;
      agent::Order order{.kind = agent::Order::Kind::kConnect};
      for (const std::size_t peer : peers[i]) add_calls(i, peer, order.targets);
      if (!here_.empty() && plan_.stations[i].calls_launcher) add_launcher(i, order.targets);
      if (!order.targets.empty()) ask(i, order);
    }
  }

  void add_launcher(std::size_t from, std::vector<agent::Target>& targets) {
    const int port = sys::port_of(here_[from / kCallersPerPort]);
    if (port == 0) return;
    targets.push_back({.at = {.address = plan_.launcher, .port = port}});
    sites_[from].calls.push_back(
        {.from = plan_.stations[from].member, .to = facts::kLauncher, .port = port});
  }

  void add_calls(std::size_t from, std::size_t to, std::vector<agent::Target>& targets) {
    const Site& site = sites_[to];
    if (!site.listens || site.lost) return;
    for (const agent::Endpoint& endpoint : site.endpoints) {
      if (endpoint.port == 0) continue;
      targets.push_back({.at = endpoint, .token = site.token});
      sites_[from].calls.push_back({.from = plan_.stations[from].member,
                                    .to = plan_.stations[to].member,
                                    .port = endpoint.port});
    }
  }

  void ask(std::size_t site, const agent::Order& order) {
    if (sites_[site].lost || !crew_.connected(plan_.stations[site].member)) return;
    sites_[site].pending = true;
    ++pending_;
    crew_.send(plan_.stations[site].member, order);
  }

  void await(std::chrono::seconds at_most) {
    bool is_late = false;
    const auto deadline = loop_.timer(at_most, {}, [&] {
      is_late = true;
      loop_.stop();
    });
    while (pending_ > 0 && !is_late) loop_.run();
    pending_ = 0;
    for (Site& site : sites_) site.pending = false;
  }

  void take(std::size_t member, const agent::Report& report) {
    const auto found = by_member_.find(member);
    if (found == by_member_.end() || !sites_[found->second].pending) return;
    Site& site = sites_[found->second];
    if (report.kind != awaited_) return;
    if (awaited_ == agent::Report::Kind::kListening) take_ports(site, report.ports);
    if (awaited_ == agent::Report::Kind::kConnected) take_ends(site, report.reached);
    settle(site);
  }

  // A host may report another port only where it was free to choose one.
  static bool may_listen(const agent::Endpoint& asked, int port) {
    const bool is_chosen = port >= kLowestPort && port <= kHighestPort;
    return port == 0 || port == asked.port || (asked.port == 0 && is_chosen);
  }

  static void take_ports(Site& site, const std::vector<int>& ports) {
    if (!std::equal(site.endpoints.begin(), site.endpoints.end(), ports.begin(), ports.end(),
                    may_listen)) {
      return;
    }
    for (std::size_t i = 0; i < ports.size(); ++i) site.endpoints[i].port = ports[i];
    site.listens = true;
  }

  static void take_ends(Site& site, const std::vector<Reached>& reached) {
    if (reached.size() != site.calls.size()) return;
    for (std::size_t i = 0; i < reached.size(); ++i) site.calls[i].how = reached[i];
  }

  void settle(Site& site) {
    if (!std::exchange(site.pending, false)) return;
    if (--pending_ == 0) loop_.stop();
  }

  // A host whose session has ended no longer listens, so failed calls to it mean nothing.
  void lose(std::size_t member) {
    const auto found = by_member_.find(member);
    if (found == by_member_.end()) return;
    sites_[found->second].lost = true;
    settle(sites_[found->second]);
  }

  // Closes all ports, because the job or the next check may need them. A host that answers the beat
  // has closed its ports.
  void close() {
    awaited_ = agent::Report::Kind::kBeat;
    here_.clear();
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      crew_.send(plan_.stations[i].member, {.kind = agent::Order::Kind::kClose});
      if (sites_[i].listens) ask(i, {.kind = agent::Order::Kind::kBeat});
    }
  }

  [[nodiscard]] std::vector<Trial> trials() const {
    std::vector<Trial> all;
    for (const Site& site : sites_) {
      for (const Trial& call : site.calls) {
        const auto to = by_member_.find(call.to);
        const bool lost = site.lost || (to != by_member_.end() && sites_[to->second].lost);
        if (!lost && call.how != Reached::kUntried) all.push_back(call);
      }
    }
    return all;
  }

  sys::Loop& loop_;
  Crew& crew_;
  const ReachPlan& plan_;
  std::vector<Site> sites_;
  std::unordered_map<std::size_t, std::size_t> by_member_;
  agent::Report::Kind awaited_ = agent::Report::Kind::kListening;
  std::size_t pending_ = 0;    // sites whose answer is awaited
  std::vector<sys::Fd> here_;  // the launcher's listening sockets
};

}  // namespace

std::vector<Trial> test_reach(sys::Loop& loop, Crew& crew, const ReachPlan& plan) {
  if (plan.stations.empty()) return {};
  return ReachTest(loop, crew, plan).run();
}

}  // namespace muster::run
