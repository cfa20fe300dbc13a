#include "remote/process_session.hpp"

#include <csignal>
#include <utility>

namespace muster::remote {
namespace {

class ProcessSession : public Session {
 public:
  explicit ProcessSession(SessionPlan plan) : state_(std::make_shared<State>()) {
    state_->plan = std::move(plan);
  }
  ProcessSession(const ProcessSession&) = delete;
  ProcessSession& operator=(const ProcessSession&) = delete;
  ~ProcessSession() override {
    state_->listen_no_more();
    close_input();
  }

  void start(sys::Loop& loop, SessionProcess process) {
    const auto state = state_;
    state_->understand = std::move(process.understand);
    killed_when_abandoned_ = process.killed_when_abandoned;
    auto started =
        loop.start({.argv = std::move(process.argv),
                    .env = std::move(process.env),
                    .input = sys::Input::kPipe,
                    // Ctrl-C must not reach the process: muster itself ends its sessions in order.
                    .own_session = true,
                    .on_output = [state](sys::Stream stream,
                                         std::string_view chunk) { state->take(stream, chunk); },
                    .on_end = [state](int code, int signal) { state->end(code, signal); }});
    if (!started) return fail_soon(loop, started.error());
    process_ = *started;
    if (process.on_started) process.on_started(process_);
  }

  void fail_soon(sys::Loop& loop, Error error) {
    const auto state = state_;
    state_->failure = loop.timer({}, {}, [state, error = std::move(error)] {
      if (state->plan.on_end) state->plan.on_end({.ended = unexpected(error)});
      state->failure = nullptr;
    });
  }

  void write(std::string bytes) override {
    if (process_) process_->write(std::make_shared<const std::string>(std::move(bytes)));
  }
  void close_input() override {
    if (process_) process_->close_input();
  }
  void abandon() override {
    if (!process_) return;
    if (killed_when_abandoned_) return process_->kill(SIGKILL);
    state_->listen_no_more();
    close_input();
  }
  [[nodiscard]] int input_descriptor() const override {
    return process_ ? process_->input_descriptor() : -1;
  }
  [[nodiscard]] int output_descriptor() const override {
    return process_ ? process_->output_descriptor() : -1;
  }

 private:
  struct State {
    SessionPlan plan;
    std::function<SessionEnd(sys::Ended)> understand;
    std::string err;
    std::shared_ptr<sys::Timer> failure;

    void listen_no_more() {
      plan.on_output = nullptr;
      plan.on_end = nullptr;
    }

    void take(sys::Stream stream, std::string_view chunk) {
      if (stream == sys::Stream::kOut) {
        if (plan.on_output) plan.on_output(chunk);
        return;
      }
      err.append(chunk);
      if (err.size() > 2 * sys::kTailBytes) err.erase(0, err.size() - sys::kTailBytes);
    }

    void end(int code, int signal) {
      sys::Ended ended{.code = code, .signal = signal, .out = {}, .err = std::move(err)};
      // Moved to a local variable, because the callback may destroy this session.
      const auto on_end = std::move(plan.on_end);
      listen_no_more();
      if (!on_end) return;
      on_end(understand ? understand(std::move(ended)) : SessionEnd{.ended = std::move(ended)});
    }
  };

  std::shared_ptr<State> state_;
  std::shared_ptr<sys::Process> process_;
  bool killed_when_abandoned_ = true;
};

}  // namespace

std::shared_ptr<Session> start_session(sys::Loop& loop, SessionPlan plan,
                                       Result<SessionProcess> process) {
  auto session = std::make_shared<ProcessSession>(std::move(plan));
  if (process) {
    session->start(loop, *std::move(process));
  } else {
    session->fail_soon(loop, std::move(process).error());
  }
  return session;
}

std::vector<Result<sys::Ended>> run_processes(
    std::span<const Task> tasks, std::chrono::milliseconds deadline, std::size_t fan_out,
    const std::function<std::vector<std::string>(const Task&)>& words_for) {
  std::vector<sys::Command> commands;
  commands.reserve(tasks.size());
  for (const Task& task : tasks) {
    commands.push_back({.argv = words_for(task),
                        .input = task.input,
                        .deadline = deadline,
                        .on_output = task.on_output});
  }
  return sys::run_all(commands, fan_out, [&](std::size_t i, const Result<sys::Ended>&) {
    if (tasks[i].on_end) tasks[i].on_end();
  });
}

Outcome no_answer(const std::string& host) {
  return {host, unexpected(
                    Error{.code = ErrorCode::kTimeout,
                          .what = "no answer within the time limit",
                          .where = {.host = host},
                          .hint = "processes that were started on the host may still be running"})};
}

}  // namespace muster::remote
