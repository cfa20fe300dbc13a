#include "run/keeper.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "agent/processes.hpp"
#include "agent/protocol.hpp"
#include "agent/record.hpp"

namespace muster::run {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFirstDescriptor = 3;
constexpr double kKeeperGraceSeconds = 1;
constexpr std::chrono::seconds kEndsWithin{5};
constexpr std::chrono::seconds kEngineShows{1};  // at most, from its fork to its own command line

// What muster says on our standard input: "engine PID START"s and, at an orderly end, "quit".
struct Told {
  std::vector<agent::ProcessId> engines = {};
  bool quit = false;
};

Told listen_to_muster() {
  Told told;
  char line[256];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    unsigned long long start = 0;
    int pid = 0;
    if (std::string_view(line) == "quit\n") told.quit = true;
    if (std::sscanf(line, "engine %d %llu", &pid, &start) == 2)
      told.engines.push_back({pid, start});
  }
  return told;
}

void send(int descriptor, std::string_view bytes) {
  const auto deadline = Clock::now() + std::chrono::seconds(1);
  while (!bytes.empty() && Clock::now() < deadline) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd writable = {descriptor, POLLOUT, 0};
      (void)::poll(&writable, 1, 100);
    } else {
      return;
    }
  }
}

// Until every session has ended or the time is over; what they say is of no interest.
void wait_for_sessions(int pairs, Clock::time_point until) {
  std::vector<pollfd> open;
  for (int i = 0; i < pairs; ++i) open.push_back({kFirstDescriptor + 2 * i + 1, POLLIN, 0});
  while (!open.empty() && Clock::now() < until) {
    (void)::poll(open.data(), open.size(), 50);
    std::erase_if(open, [](const pollfd& one) {
      char bytes[4096];
      if (one.revents == 0) return false;
      const ssize_t count = ::read(one.fd, bytes, sizeof bytes);
      return count == 0 || (count < 0 && errno != EAGAIN);
    });
  }
}

// muster may have been killed between the engine's start and its word of it to us.
agent::ProcessId find_engine(const std::string& run_id) {
  const auto until = Clock::now() + kEngineShows;
  do {
    if (const auto engine = agent::engine_of(run_id)) return *engine;
    (void)::poll(nullptr, 0, 20);
  } while (Clock::now() < until);
  return {};
}

void end_run(const std::string& run_id, const Told& told, int pairs) {
  const std::string orders =
      to_line(agent::Order{.kind = agent::Order::Kind::kEnd, .grace_s = kKeeperGraceSeconds}) +
      to_line(agent::Order{.kind = agent::Order::Kind::kBye, .keep = true});
  const auto until = Clock::now() + kEndsWithin;
  std::vector<agent::ProcessId> engines = told.engines;
  for (const agent::ProcessId& engine : engines) agent::send_signal(engine, SIGTERM);
  for (int i = 0; i < pairs; ++i) send(kFirstDescriptor + 2 * i, orders);
  if (engines.empty()) {
    engines = {find_engine(run_id)};
    agent::send_signal(engines.front(), SIGTERM);
  }
  wait_for_sessions(pairs, until);
  for (const agent::ProcessId& engine : engines) agent::send_signal(engine, SIGKILL);
}

}  // namespace

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
  const Told told = listen_to_muster();
  if (!told.quit) end_run(argv[2], told, std::atoi(argv[3]));
  return 0;
}

}  // namespace muster::run
