#include "sys/process.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "sys/ignored_signal.hpp"
#include "sys/run_until_signal.hpp"

namespace muster::sys {
namespace {

constexpr std::chrono::milliseconds kKillAfterTerm{1000};

// One command of run_all: collects its output and enforces its deadline.
class Running : public std::enable_shared_from_this<Running> {
 public:
  Running(Loop& loop, const Command& command, KeptOutput& room,
          std::function<void(Result<Ended>)> done)
      : loop_(loop), command_(command), room_(room), done_(std::move(done)) {}

  void start() {
    const auto self = shared_from_this();
    auto process = loop_.start(
        {.argv = command_.argv,
         .env = command_.env,
         .input = command_.input ? Input::kPipe : Input::kNone,
         .on_output = [self](Stream stream, std::string_view chunk) { self->take(stream, chunk); },
         .on_end = [self](int code, int signal) { self->end(code, signal); }});
    if (!process) return done_(unexpected(std::move(process).error()));
    process_ = *process;
    timer_ = loop_.timer(command_.deadline, kKillAfterTerm, [this] { on_deadline(); });
    if (!command_.input) return;
    process_->write(command_.input);
    process_->close_input();
  }

  void stop() {
    if (process_) timer_ = loop_.timer({}, kKillAfterTerm, [this] { on_deadline(); });
  }

 private:
  void take(Stream stream, std::string_view chunk) {
    std::string& kept = stream == Stream::kOut ? ended_.out : ended_.err;
    if (!command_.on_output) return keep(kept, chunk);
    command_.on_output(stream, chunk);
    kept.append(chunk);
    // Trimming only at twice the size avoids moving the bytes on every call.
    if (kept.size() > 2 * kTailBytes) kept.erase(0, kept.size() - kTailBytes);
  }

  void keep(std::string& kept, std::string_view chunk) {
    const std::size_t room = std::min(room_.of_stream - kept.size(), room_.of_all);
    const std::string_view first = chunk.substr(0, room);
    kept.append(first);
    room_.of_all -= first.size();
    ended_.dropped += chunk.size() - first.size();
  }

  void on_deadline() {
    if (!process_->running()) return;  // only its output is still being read, for a second at most
    const int signal = ended_.timed_out ? SIGKILL : SIGTERM;
    ended_.timed_out = true;
    process_->kill(signal);
  }

  void end(int code, int signal) {
    timer_ = nullptr;
    ended_.code = code;
    ended_.signal = signal;
    done_(std::move(ended_));
  }

  Loop& loop_;
  const Command& command_;
  KeptOutput& room_;  // `of_all` is the room that is left
  std::function<void(Result<Ended>)> done_;
  Ended ended_;
  std::shared_ptr<Process> process_;
  std::shared_ptr<Timer> timer_;
};

// All commands of one call, with a limited number running at a time.
class Batch {
 public:
  using OnEnd = std::function<void(std::size_t, const Result<Ended>&)>;

  Batch(std::span<const Command> commands, const OnEnd& on_end, const KeptOutput& most)
      : commands_(commands), on_end_(on_end), room_(most), results_(commands.size()) {}

  std::vector<Result<Ended>> run(std::size_t at_most) {
    for (std::size_t i = 0; i < std::max<std::size_t>(at_most, 1); ++i) start_next();
    loop_.run();
    return std::move(results_);
  }

  void stop_at_signals(int& came) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      if (is_ignored(signal)) continue;
      loop_.on_signal(signal, [this, &came, signal] {
        came = signal;
        stop();
      });
    }
  }

 private:
  void start_next() {
    if (next_ == commands_.size()) return;
    const std::size_t index = next_++;
    const auto done = [this, index](Result<Ended> result) {
      results_[index] = std::move(result);
      if (on_end_) on_end_(index, results_[index]);
      start_next();
    };
    const auto running = std::make_shared<Running>(loop_, commands_[index], room_, done);
    started_.push_back(running);
    running->start();
  }

  void stop() {
    next_ = commands_.size();
    for (const auto& one : started_) {
      if (const auto running = one.lock()) running->stop();
    }
  }

  std::span<const Command> commands_;
  const OnEnd& on_end_;
  KeptOutput room_;
  std::vector<Result<Ended>> results_;
  std::size_t next_ = 0;
  std::vector<std::weak_ptr<Running>> started_;
  UvLoop loop_;
};

}  // namespace

std::string to_text(const Ended& ended) {
  if (ended.timed_out) return "no answer within the time limit";
  if (ended.signal != 0) {
    return fmt::format("signal {} ({})", ended.signal, ::strsignal(ended.signal));
  }
  return fmt::format("exit code {}", ended.code);
}

std::vector<Result<Ended>> run_all(
    std::span<const Command> commands, std::size_t at_most,
    const std::function<void(std::size_t, const Result<Ended>&)>& on_end, const KeptOutput& most) {
  return Batch(commands, on_end, most).run(at_most);
}

std::vector<Result<Ended>> run_until_signal(
    std::span<const Command> commands, std::size_t at_most, int& signal,
    const std::function<void(std::size_t, const Result<Ended>&)>& on_end) {
  signal = 0;
  Batch batch(commands, on_end, {});
  batch.stop_at_signals(signal);
  return batch.run(at_most);
}

Error become(const std::vector<std::string>& argv) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  (void)::execvp(words[0], words.data());
  return system_error("cannot run " + argv.front());
}

Result<Ended> run(const Command& command) {
  return std::move(run_all({&command, 1}, 1).front());
}

}  // namespace muster::sys
