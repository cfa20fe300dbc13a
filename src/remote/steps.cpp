#include "remote/steps.hpp"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "remote/process_session.hpp"

namespace muster::remote {
namespace {

constexpr std::size_t kFanOut = 64;
constexpr std::chrono::seconds kEndWithin{2};
constexpr std::chrono::milliseconds kLookAgain{5};

// The last line that srun itself printed.
std::string last_complaint(std::string_view err) {
  std::string last;
  while (!err.empty()) {
    const std::size_t end = std::min(err.find('\n'), err.size());
    const std::string_view line = err.substr(0, end);
    if (line.starts_with("srun: ")) last = printable(line.substr(6));
    err.remove_prefix(std::min(end + 1, err.size()));
  }
  return last;
}

std::string trial(const std::string& job, const std::string& host) {
  return fmt::format("srun --jobid {} --overlap -N1 -n1 -w {} hostname", job, host);
}

}  // namespace

std::vector<std::string> step_words(const std::string& job, const std::string& host,
                                    const std::string& command) {
  // Sets everything that the user's SLURM_* variables, inherited from salloc or sbatch, could
  // change.
  return {"srun",
          "--jobid",
          job,
          "--overlap",  // may share CPUs with the ranks, which may occupy the whole job
          "--overcommit",
          "-N1",
          "-n1",
          "--ntasks-per-node=1",
          "-w",
          host,
          "--distribution=block",
          "--cpu-bind=none",
          "--mpi=none",
          "--export=ALL",
          "--chdir=/",
          "--",
          "/bin/sh",
          "-c",
          command};
}

SessionEnd understand_step(const std::string& job, const std::string& host, sys::Ended ended) {
  const bool ran = ended.err.find(fmt::format("{}: task 0: ", host)) != std::string::npos;
  const std::string complaint = last_complaint(ended.err);
  if (ended.code == 0 || ended.signal != 0 || ran || complaint.empty()) {
    return {.ended = std::move(ended)};
  }
  return {.ended =
              unexpected(Error{.code = ErrorCode::kUnreachable,
                               .what = "Slurm could not start a step on the host",
                               .where = {.host = host},
                               .hint = "try: " + trial(job, host),
                               .cause = std::make_shared<const Error>(Error{.what = complaint})})};
}

Steps::~Steps() {
  if (loop_ == nullptr || all_ended()) return;
  const auto late = loop_->timer(kEndWithin, {}, [this] {
    for (const Step& step : steps_) step.process->kill(SIGKILL);
  });
  const auto look = loop_->timer(kLookAgain, kLookAgain, [this] {
    if (all_ended()) loop_->stop();
  });
  loop_->run();
}

bool Steps::all_ended() const {
  return std::none_of(steps_.begin(), steps_.end(),
                      [](const Step& step) { return step.process->running(); });
}

std::vector<Outcome> Steps::run(std::span<const Task> tasks, std::chrono::milliseconds deadline) {
  auto results = run_processes(tasks, deadline, kFanOut, [this](const Task& task) {
    return step_words(job_, task.host, task.command);
  });
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::string& host = tasks[i].host;
    if (!results[i]) {
      outcomes.push_back({host, std::move(results[i])});
    } else if (results[i]->timed_out) {
      outcomes.push_back(no_answer(host));
    } else {
      outcomes.push_back({host, understand_step(job_, host, *std::move(results[i])).ended});
    }
  }
  return outcomes;
}

std::shared_ptr<Session> Steps::open(sys::Loop& loop, SessionPlan plan) {
  loop_ = &loop;
  SessionProcess process{
      .argv = step_words(job_, plan.host, plan.command),
      .understand = [job = job_, host = plan.host](
                        sys::Ended ended) { return understand_step(job, host, std::move(ended)); },
      .on_started =
          [this, host = plan.host](std::shared_ptr<sys::Process> started) {
            steps_.push_back({host, std::move(started)});
          }};
  return start_session(loop, std::move(plan), std::move(process));
}

Silence Steps::silence(const std::string& host) const {
  return {.failure_id = {}, .trial = trial(job_, host)};
}

void Steps::forget(const std::string& host) {
  for (const Step& step : steps_) {
    if (step.host == host) step.process->kill(SIGKILL);
  }
}

}  // namespace muster::remote
