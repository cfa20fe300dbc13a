#include "run/keeper.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "agent/host_system.hpp"
#include "agent/processes.hpp"
#include "agent/protocol.hpp"
#include "agent/record.hpp"

namespace muster::run {
namespace {

using agent::HostSystem;
using std::chrono::milliseconds;

constexpr int kFirstDescriptor = 3;
constexpr double kKeeperGraceSeconds = 1;
constexpr std::chrono::seconds kEndsWithin{5};
constexpr std::chrono::seconds kOrdersTake{1};  // the most time to write the orders
// The most time from the engine's fork until its own command line is visible.
constexpr std::chrono::seconds kEngineShows{1};

// What muster tells the keeper: "engine PID START" for each engine process and, at an orderly end,
// "quit".
struct Told {
  std::vector<agent::ProcessId> engines = {};
  bool quit = false;
};

Told listen_to(std::FILE* muster) {
  Told told;
  char line[256];
  while (std::fgets(line, sizeof line, muster) != nullptr) {
    unsigned long long start = 0;
    int pid = 0;
    if (std::string_view(line) == "quit\n") told.quit = true;
    if (std::sscanf(line, "engine %d %llu", &pid, &start) == 2)
      told.engines.push_back({pid, start});
  }
  return told;
}

// Bytes that still have to be written to a session.
struct Unsent {
  int descriptor;
  std::string_view bytes;
};

// Returns true if nothing is left to write or the reader is gone.
bool write_some(Unsent& unsent) {
  const ssize_t count = ::write(unsent.descriptor, unsent.bytes.data(), unsent.bytes.size());
  if (count < 0) return errno != EAGAIN;
  unsent.bytes.remove_prefix(static_cast<std::size_t>(count));
  return unsent.bytes.empty();
}

// Writes to all sessions in parallel, so that a blocked session does not delay the others.
void send_to_all(HostSystem& system, std::span<const SessionEnds> sessions, std::string_view bytes,
                 HostSystem::Clock::time_point until) {
  std::vector<Unsent> unsent;
  for (const SessionEnds& one : sessions) unsent.push_back({one.input, bytes});
  while (true) {
    std::erase_if(unsent, write_some);
    if (unsent.empty() || system.now() >= until) return;
    std::vector<pollfd> writable;
    for (const Unsent& one : unsent) writable.push_back({one.descriptor, POLLOUT, 0});
    system.wait(writable, milliseconds(100));
  }
}

// Waits until every session has ended or the time is over. Ignores what they send.
void wait_for_sessions(HostSystem& system, std::span<const SessionEnds> sessions,
                       HostSystem::Clock::time_point until) {
  std::vector<pollfd> open;
  for (const SessionEnds& one : sessions) open.push_back({one.output, POLLIN, 0});
  while (!open.empty() && system.now() < until) {
    system.wait(open, milliseconds(50));
    std::erase_if(open, [](const pollfd& one) {
      char bytes[4096];
      if (one.revents == 0) return false;
      const ssize_t count = ::read(one.fd, bytes, sizeof bytes);
      return count == 0 || (count < 0 && errno != EAGAIN);
    });
  }
}

// Finds the engine itself, because muster may have been killed between starting the engine and
// telling the keeper.
agent::ProcessId find_engine(HostSystem& system, const std::string& run_id) {
  const auto until = system.now() + kEngineShows;
  do {
    if (const auto engine = system.engine_of(run_id)) return *engine;
    system.wait({}, milliseconds(20));
  } while (system.now() < until);
  return {};
}

void end_run(HostSystem& system, const std::string& run_id, std::vector<agent::ProcessId> engines,
             std::span<const SessionEnds> sessions) {
  const std::string orders =
      to_line(agent::Order{.kind = agent::Order::Kind::kEnd, .grace_s = kKeeperGraceSeconds}) +
      to_line(agent::Order{.kind = agent::Order::Kind::kBye, .keep = true});
  const auto until = system.now() + kEndsWithin;
  for (const agent::ProcessId& engine : engines) system.send_signal(engine, SIGTERM);
  send_to_all(system, sessions, orders, system.now() + kOrdersTake);
  if (engines.empty()) {
    engines = {find_engine(system, run_id)};
    system.send_signal(engines.front(), SIGTERM);
  }
  wait_for_sessions(system, sessions, until);
  for (const agent::ProcessId& engine : engines) system.send_signal(engine, SIGKILL);
}

}  // namespace

void keep(agent::HostSystem& system, const std::string& run_id, std::FILE* muster,
          std::span<const SessionEnds> sessions) {
  Told told = listen_to(muster);
  if (!told.quit) end_run(system, run_id, std::move(told.engines), sessions);
}

Result<void> Keeper::start(sys::Loop& loop, const std::string& run_id,
                           const std::vector<int>& descriptors) {
  auto process = loop.start(
      {.argv = {"/proc/self/exe", "keeper", run_id, std::to_string(descriptors.size() / 2)},
       .input = sys::Input::kPipe,
       .descriptors = descriptors,
       .own_session = true});
  if (!process)
    return unexpected(because(process.error(),
                              "cannot start the process that ends the ranks if muster is killed"));
  process_ = *std::move(process);
  return {};
}

void Keeper::tell_engine(pid_t engine) {
  const auto id = agent::identify(engine);
  if (!process_ || !id) return;
  process_->write(
      std::make_shared<const std::string>(fmt::format("engine {} {}\n", id->pid, id->start)));
}

void Keeper::dismiss() {
  if (!process_) return;
  process_->write(std::make_shared<const std::string>("quit\n"));
  process_->close_input();
  process_ = nullptr;
}

bool is_being_ended(const std::string& run_id) {
  return agent::keeper_of(run_id) || agent::engine_of(run_id);
}

std::optional<int> keeper_main(int argc, char** argv) {
  if (argc != 4 || std::string_view(argv[1]) != "keeper") return std::nullopt;
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) (void)std::signal(signal, SIG_IGN);
  std::vector<SessionEnds> sessions;
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    sessions.push_back({kFirstDescriptor + 2 * i, kFirstDescriptor + 2 * i + 1});
  }
  HostSystem system;
  keep(system, argv[2], stdin, sessions);
  return 0;
}

}  // namespace muster::run
