#include "remote/local.hpp"

#include <cstdlib>

#include <unistd.h>

#include "remote/process_session.hpp"

namespace muster::remote {
namespace {

constexpr std::size_t kAtOnce = 8;

}  // namespace

// Uses the user's own shell, as sshd does.
std::vector<std::string> shell_words(const std::string& command) {
  const char* const own = std::getenv("SHELL");  // NOLINT(concurrency-mt-unsafe)
  const bool is_there = own != nullptr && own[0] == '/' && ::access(own, X_OK) == 0;
  return {is_there ? own : "/bin/sh", "-c", command};
}

std::vector<Outcome> Local::run(std::span<const Task> tasks, std::chrono::milliseconds deadline) {
  auto results = run_processes(tasks, deadline, kAtOnce,
                               [](const Task& task) { return shell_words(task.command); });
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const bool late = results[i] && results[i]->timed_out;
    outcomes.push_back(late ? no_answer(tasks[i].host)
                            : Outcome{tasks[i].host, std::move(results[i])});
  }
  return outcomes;
}

// The process is the command itself, for example a run's warden, so abandoning the session must not
// kill it.
std::shared_ptr<Session> Local::open(sys::Loop& loop, SessionPlan plan) {
  auto words = shell_words(plan.command);
  return start_session(loop, std::move(plan),
                       SessionProcess{.argv = std::move(words), .killed_when_abandoned = false});
}

}  // namespace muster::remote
