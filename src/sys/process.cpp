#include "sys/process.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

namespace muster::sys {
namespace {

constexpr std::chrono::milliseconds kKillAfterTerm{1000};

// One command of run_all: collects its output and keeps its deadline.
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

 private:
  void take(Stream stream, std::string_view chunk) {
    std::string& kept = stream == Stream::kOut ? ended_.out : ended_.err;
    if (!command_.on_output) return keep(kept, chunk);
    command_.on_output(stream, chunk);
    kept.append(chunk);
    // Twice, so that the bytes are moved seldom.
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
    if (!process_->running()) return;  // its output is being drained, for a second at most
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
  KeptOutput& room_;  // `of_all`: what is left of it
  std::function<void(Result<Ended>)> done_;
  Ended ended_;
  std::shared_ptr<Process> process_;
  std::shared_ptr<Timer> timer_;
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
  std::vector<Result<Ended>> results(commands.size());
  UvLoop loop;
  KeptOutput room = most;
  std::size_t next = 0;
  std::function<void()> start_next = [&] {
    if (next == commands.size()) return;
    const std::size_t index = next++;
    const auto done = [&, index](Result<Ended> result) {
      results[index] = std::move(result);
      if (on_end) on_end(index, results[index]);
      start_next();
    };
    std::make_shared<Running>(loop, commands[index], room, done)->start();
  };
  for (std::size_t i = 0; i < std::max<std::size_t>(at_most, 1); ++i) start_next();
  loop.run();
  return results;
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
