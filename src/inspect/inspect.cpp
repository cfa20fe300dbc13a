#include "inspect/inspect.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "facts/pseudo_file.hpp"
#include "inspect/connections.hpp"
#include "inspect/crew.hpp"
#include "inspect/host_look.hpp"
#include "inspect/process_texts.hpp"
#include "inspect/rank_watch.hpp"
#include "sys/clock.hpp"

namespace muster::inspect {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Watches = std::vector<std::shared_ptr<RankWatch>>;

// Time to kill a tool, to resume what it stopped, and to send the answer.
constexpr auto kReserve = Milliseconds(250);
constexpr int kMostPlaces = 4;
constexpr auto kAfterWindow = Milliseconds(500);
// Time for the steps between the second look and the native stacks.
constexpr auto kPatienceAfterWindow = Milliseconds(1500);
constexpr auto kPatienceWithNccl = Milliseconds(2500);

struct SocketsSeen {
  std::vector<std::vector<Connection>> of_ranks;
  std::set<int> listening;
  bool first_look_done = false;
  std::string not_seen = {};  // what is unknown about the sockets, and why; "" if nothing
};

struct HostSeen {
  std::vector<std::string> addresses;
  double load = 0;
  std::vector<Counter> counters;
};

std::string network_namespace(const std::string& process) {
  return link_target("/proc/" + process + "/ns/net");
}

// Whether the processes are in a network namespace other than ours, as they may be in a container.
bool has_other_network(std::span<const pid_t> pids) {
  const std::string ours = network_namespace("self");
  for (const pid_t pid : pids) {
    const std::string its = network_namespace(std::to_string(pid));
    if (!its.empty()) return its != ours;
  }
  return false;
}

// Returns the sockets in the network namespace of a rank's processes. `all` are those in our own.
SocketLooks sockets_for(const Result<SocketLooks>& all, const std::vector<pid_t>& pids) {
  if (all && !has_other_network(pids)) return *all;
  SocketLooks looks;
  for (const pid_t pid : pids) {
    looks = look_at_sockets_of(pid);
    if (!looks.empty()) break;
  }
  return looks;
}

std::vector<SocketLooks> sockets_of_ranks(const std::vector<RankProcesses>& ranks,
                                          std::string& not_seen) {
  const auto all = look_at_sockets();
  if (!all) not_seen = "retransmissions: " + all.error().what;
  std::vector<SocketLooks> looks;
  for (const RankProcesses& rank : ranks) {
    const auto inodes = socket_inodes(rank.pids);
    SocketLooks own = sockets_for(all, rank.pids);
    std::erase_if(own, [&](const auto& one) { return !inodes.contains(one.first); });
    looks.push_back(std::move(own));
  }
  return looks;
}

std::set<int> listening_ports(const std::vector<SocketLooks>& looks) {
  std::set<int> ports;
  for (const SocketLooks& rank : looks) {
    for (const auto& [inode, look] : rank) {
      if (look.listens) ports.insert(look.connection.local_port);
    }
  }
  return ports;
}

void watch_sockets(const std::vector<RankProcesses>& ranks, Deadline second_look,
                   Shared<SocketsSeen>& seen) {
  const auto begin = Clock::now();
  std::string not_seen;
  const std::vector<SocketLooks> before = sockets_of_ranks(ranks, not_seen);
  seen.change([&](SocketsSeen& all) {
    all.listening = listening_ports(before);
    all.first_look_done = true;
  });
  std::this_thread::sleep_until(second_look);
  const std::vector<SocketLooks> after = sockets_of_ranks(ranks, not_seen);
  const double window_s = std::chrono::duration<double>(Clock::now() - begin).count();
  std::vector<std::vector<Connection>> connections;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::set<std::uint64_t> inodes;
    for (const auto& [inode, look] : after[i]) inodes.insert(inode);
    connections.push_back(compare_sockets(inodes, before[i], after[i], window_s));
  }
  seen.change([&](SocketsSeen& all) {
    all.of_ranks = connections;
    all.not_seen = not_seen;
    all.listening.merge(listening_ports(after));
  });
}

void watch_host(Deadline second_look, Shared<HostSeen>& seen) {
  const std::vector<Counter> before = read_counters();
  seen.change([&](HostSeen& host) {
    host.addresses = host_addresses();
    host.load = parse_load(facts::first_line("/proc/loadavg"));
  });
  std::this_thread::sleep_until(second_look);
  std::vector<Counter> after = read_counters();
  for (Counter& one : read_dead_interfaces()) after.push_back(std::move(one));
  seen.change([&](HostSeen& host) { host.counters = compare_counters(before, after); });
}

// Asks NCCL as soon as the first look at the sockets shows that a rank listens on NCCL's port.
void watch_nccl(const std::shared_ptr<Shared<SocketsSeen>>& sockets, Deadline end,
                Shared<std::string>& nccl) {
  while (!sockets->copy().first_look_done) {
    if (time_left(end).count() == 0) return;
    std::this_thread::sleep_for(Milliseconds(5));
  }
  if (!sockets->copy().listening.contains(kNcclPort)) return;
  const std::string answer = ask_nccl(kNcclPort, within(kPatienceWithNccl, end));
  nccl.change([&](std::string& text) { text = answer; });
}

std::vector<pid_t> all_pids(const Request& request) {
  std::vector<pid_t> pids;
  for (const RankProcesses& rank : request.ranks) {
    pids.insert(pids.end(), rank.pids.begin(), rank.pids.end());
  }
  return pids;
}

int processors() {
  return std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

// Starts threads, at most one per CPU, that call `work` for each watch in the given order.
void start_for_all(Crew& crew, const std::shared_ptr<const Watches>& watches,
                   void (RankWatch::*work)()) {
  auto next = std::make_shared<std::atomic<std::size_t>>(0);
  const int workers = std::min<int>(processors(), static_cast<int>(watches->size()));
  for (int i = 0; i < workers; ++i) {
    crew.start([watches, next, work] {
      for (std::size_t at = (*next)++; at < watches->size(); at = (*next)++) {
        ((*watches)[at].get()->*work)();
      }
    });
  }
}

// Begins with the ranks for which there is no Python stack, because there may not be enough time
// for all ranks.
void read_native_stacks(const Watches& watches, Deadline end) {
  auto order = std::make_shared<Watches>(watches);
  std::ranges::stable_sort(*order, {},
                           [](const auto& watch) { return watch->view().stacks.size(); });
  Crew crew;
  start_for_all(crew, order, &RankWatch::read_native_stack);
  if (crew.wait(end + kReserve)) return;
  for (const auto& watch : *order) {
    const RankView view = watch->view();
    const bool has_one =
        std::ranges::any_of(view.stacks, [](const Stack& stack) { return !stack.python; });
    const bool says_why = std::ranges::any_of(
        view.not_seen, [](const std::string& text) { return text.starts_with("no native stack"); });
    if (view.pid != 0 && !has_one && !says_why) {
      watch->note("no native stack: no time was left for it");
    }
  }
}

// What the threads that examine the host have found so far.
struct HostWatch {
  std::shared_ptr<Shared<SocketsSeen>> sockets = std::make_shared<Shared<SocketsSeen>>();
  std::shared_ptr<Shared<HostSeen>> host = std::make_shared<Shared<HostSeen>>();
  std::shared_ptr<Shared<std::string>> nccl = std::make_shared<Shared<std::string>>();
  std::shared_ptr<Shared<std::optional<std::vector<std::string>>>> disks =
      std::make_shared<Shared<std::optional<std::vector<std::string>>>>();
  Crew crew;
};

void start_host_watch(const Request& request, const Schedule& schedule, HostWatch& watch) {
  watch.crew.start([ranks = request.ranks, schedule, seen = watch.sockets] {
    watch_sockets(ranks, schedule.second_look, *seen);
  });
  watch.crew.start([schedule, seen = watch.host] { watch_host(schedule.second_look, *seen); });
  if (request.ask_nccl) {
    watch.crew.start([schedule, sockets = watch.sockets, seen = watch.nccl] {
      watch_nccl(sockets, schedule.end, *seen);
    });
  }
  watch.crew.start([pids = all_pids(request), seen = watch.disks] {
    const std::vector<std::string> full = full_disks(pids);
    seen->change([&](auto& disks) { disks = full; });
  });
}

void take_host_watch(const HostWatch& watch, HostView& view) {
  const SocketsSeen sockets = watch.sockets->copy();
  for (std::size_t i = 0; i < std::min(view.ranks.size(), sockets.of_ranks.size()); ++i) {
    view.ranks[i].connections = sockets.of_ranks[i];
  }
  if (sockets.of_ranks.size() < view.ranks.size()) {
    view.not_seen.emplace_back("no connections: the host did not list them in time");
  }
  if (!sockets.not_seen.empty()) view.not_seen.push_back(sockets.not_seen);
  view.listening.assign(sockets.listening.begin(), sockets.listening.end());
  const HostSeen host = watch.host->copy();
  view.addresses = host.addresses;
  view.load = host.load;
  view.counters = host.counters;
  view.nccl = watch.nccl->copy();
  const auto disks = watch.disks->copy();
  view.full_disks = disks.value_or(std::vector<std::string>());
  if (!disks) {
    view.not_seen.emplace_back(
        "free space: a file system that the ranks use does not answer, or was too slow");
  }
}

void leave_counts(HostView& view) {
  for (RankView& rank : view.ranks) {
    for (Group& group : rank.groups) {
      group.operations.clear();
      group.ranks.clear();
    }
  }
}

Schedule schedule_of(const Request& request, Clock::time_point begin) {
  const auto without = [&](Milliseconds reserve) {
    return std::max(request.deadline - reserve, request.deadline / 2);
  };
  const int ranks = std::max(1, static_cast<int>(request.ranks.size()));
  return {.second_look = begin + std::min(request.window, without(kAfterWindow)),
          .tools_end = begin + without(2 * kReserve),
          .end = begin + without(kReserve),
          .places = std::clamp(2 * processors() / ranks, 1, kMostPlaces),
          .sample_every = request.sample_every,
          .stacks = request.stacks,
          .patience = request.patience};
}

}  // namespace

HostView inspect(const Request& request) {
  const auto begin = Clock::now();
  const Schedule schedule = schedule_of(request, begin);
  HostView view{.time_s = sys::unix_time(), .processors = processors()};
  const auto recorders = std::make_shared<const Recorders>(request.recorders, all_pids(request));
  Watches watches;
  Crew crew;
  for (const RankProcesses& rank : request.ranks) {
    watches.push_back(std::make_shared<RankWatch>(rank, schedule, recorders));
    const bool started = crew.start([watch = watches.back()] { watch->watch(); });
    if (!started) watches.back()->note("nothing: no thread could be started to look at it");
  }
  if (request.stacks) {
    start_for_all(crew, std::make_shared<const Watches>(watches), &RankWatch::read_first_stack);
  }
  HostWatch host;
  if (request.stacks) start_host_watch(request, schedule, host);
  const Deadline watched =
      std::min(schedule.second_look + request.patience * kPatienceAfterWindow, schedule.end);
  if (!crew.wait(watched)) {
    view.not_seen.emplace_back("parts of some ranks: the kernel was too slow to tell them");
  }
  view.window_s = std::chrono::duration<double>(schedule.second_look - begin).count();
  if (request.stacks) read_native_stacks(watches, schedule.end);
  (void)host.crew.wait(std::min(schedule.end, Clock::now() + request.patience * kAfterWindow));
  for (const auto& watch : watches) view.ranks.push_back(watch->view());
  if (request.stacks) {
    take_host_watch(host, view);
  } else {
    leave_counts(view);
  }
  return view;
}

}  // namespace muster::inspect
