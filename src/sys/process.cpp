#include "sys/process.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>
#include <uv.h>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace muster::sys {
namespace {

constexpr std::uint64_t kKillAfterTermMs = 1000;
constexpr std::uint64_t kDrainAfterExitMs = 1000;

// One running program on the loop. Lives until all its handles are closed.
class Child {
 public:
  Child(uv_loop_t* loop, const Command& command, std::function<void(Result<Ended>)> done)
      : command_(command), done_(std::move(done)) {
    uv_timer_init(loop, &timer_);
    timer_.data = this;
    for (uv_pipe_t* pipe : {&in_, &out_, &err_}) {
      uv_pipe_init(loop, pipe, 0);
      pipe->data = this;
    }
    process_.data = this;
  }

  void start(uv_loop_t* loop) {
    const int failed = spawn(loop);
    if (failed != 0) {
      // libuv initialises the process handle before it can fail, so it is closed like the others.
      result_ = unexpected(Error{
          .code = failed == UV_ENOENT ? ErrorCode::kEngineMissing : ErrorCode::kSystem,
          .what = fmt::format("cannot start '{}': {}", command_.argv[0], uv_strerror(failed))});
      return close();
    }
    uv_timer_start(
        &timer_, [](uv_timer_t* t) { self(t).on_deadline(); },
        static_cast<std::uint64_t>(command_.deadline.count()), 0);
    open_outputs_ = 2;
    for (uv_pipe_t* pipe : {&out_, &err_}) {
      uv_read_start(as_stream(pipe), allocate,
                    [](uv_stream_t* s, ssize_t n, const uv_buf_t* b) { self(s).on_read(s, n, b); });
    }
    if (command_.input) write_input();
  }

 private:
  template <class Handle>
  static Child& self(Handle* handle) {
    return *static_cast<Child*>(handle->data);
  }
  static uv_stream_t* as_stream(uv_pipe_t* pipe) { return reinterpret_cast<uv_stream_t*>(pipe); }

  static void allocate(uv_handle_t* handle, size_t /*suggested*/, uv_buf_t* buffer) {
    Child& child = self(handle);
    *buffer = uv_buf_init(child.buffer_, sizeof child.buffer_);
  }

  int spawn(uv_loop_t* loop) {
    std::vector<char*> argv = pointers(command_.argv);
    std::vector<std::string> environment = merged_environment();
    std::vector<char*> env = pointers(environment);
    uv_stdio_container_t stdio[3] = {};
    stdio[0].flags = command_.input ? pipe_flags(UV_READABLE_PIPE) : UV_IGNORE;
    stdio[0].data.stream = as_stream(&in_);
    stdio[1].flags = pipe_flags(UV_WRITABLE_PIPE);
    stdio[1].data.stream = as_stream(&out_);
    stdio[2].flags = pipe_flags(UV_WRITABLE_PIPE);
    stdio[2].data.stream = as_stream(&err_);
    uv_process_options_t options = {};
    options.file = argv[0];
    options.args = argv.data();
    options.env = env.data();
    options.stdio = stdio;
    options.stdio_count = 3;
    options.exit_cb = [](uv_process_t* p, std::int64_t code, int signal) {
      self(p).on_exit(static_cast<int>(code), signal);
    };
    return uv_spawn(loop, &process_, &options);
  }

  static uv_stdio_flags pipe_flags(int direction) {
    // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): libuv's flags are or-ed
    return static_cast<uv_stdio_flags>(UV_CREATE_PIPE | direction);
  }

  static std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> result;
    result.reserve(words.size() + 1);
    for (std::string& word : words) result.push_back(word.data());
    result.push_back(nullptr);
    return result;
  }

  [[nodiscard]] std::vector<std::string> merged_environment() const {
    std::map<std::string, std::string> merged;
    const auto add = [&merged](const std::string& entry) {
      merged[entry.substr(0, entry.find('='))] = entry;
    };
    for (char** entry = environ; *entry != nullptr; ++entry) add(*entry);
    for (const std::string& entry : command_.env) add(entry);
    std::vector<std::string> entries;
    entries.reserve(merged.size());
    for (auto& [name, entry] : merged) entries.push_back(std::move(entry));
    return entries;
  }

  void write_input() {
    const uv_buf_t buffer =
        uv_buf_init(const_cast<char*>(command_.input->data()),  // NOLINT: libuv does not write it
                    static_cast<unsigned>(command_.input->size()));
    write_.data = this;
    uv_write(&write_, as_stream(&in_), &buffer, 1, [](uv_write_t* request, int /*status*/) {
      // A program may end without reading; that is its affair.
      Child& child = self(request);
      child.close_handle(&child.in_);
    });
  }

  void on_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) {
    const bool is_out = stream == as_stream(&out_);
    if (count > 0) {
      take(is_out ? Stream::kOut : Stream::kErr, {buffer->base, static_cast<std::size_t>(count)});
    } else if (count < 0) {
      close_handle(is_out ? &out_ : &err_);
      --open_outputs_;
      if (exited_ && open_outputs_ == 0) finish();
    }
  }

  void take(Stream stream, std::string_view chunk) {
    std::string& kept = stream == Stream::kOut ? ended_.out : ended_.err;
    kept.append(chunk);
    if (!command_.on_output) return;
    command_.on_output(stream, chunk);
    // Twice, so that the bytes are moved seldom.
    if (kept.size() > 2 * kTailBytes) kept.erase(0, kept.size() - kTailBytes);
  }

  void on_deadline() {
    if (exited_) return finish();  // the drain after the exit took too long
    const int signal = ended_.timed_out ? SIGKILL : SIGTERM;
    ended_.timed_out = true;
    uv_process_kill(&process_, signal);
    restart_timer(kKillAfterTermMs);
  }

  void on_exit(int code, int signal) {
    exited_ = true;
    ended_.code = code;
    ended_.signal = signal;
    if (open_outputs_ == 0) return finish();
    restart_timer(kDrainAfterExitMs);
  }

  void restart_timer(std::uint64_t after_ms) {
    uv_timer_start(&timer_, [](uv_timer_t* t) { self(t).on_deadline(); }, after_ms, 0);
  }

  void finish() {
    result_ = std::move(ended_);
    close();
  }

  void close() {
    uv_timer_stop(&timer_);
    for (uv_pipe_t* pipe : {&in_, &out_, &err_}) close_handle(pipe);
    close_handle(&timer_);
    close_handle(&process_);
  }

  template <class Handle>
  void close_handle(Handle* handle) {
    auto* base = reinterpret_cast<uv_handle_t*>(handle);
    if (uv_is_closing(base) != 0) return;
    uv_close(base, [](uv_handle_t* h) { self(h).on_closed(); });
  }

  void on_closed() {
    if (++closed_ < 5) return;  // three pipes, the timer, the process
    auto done = std::move(done_);
    auto result = std::move(result_);
    delete this;
    done(std::move(result));
  }

  Command command_;
  std::function<void(Result<Ended>)> done_;
  Result<Ended> result_;
  Ended ended_;
  uv_process_t process_ = {};
  uv_timer_t timer_ = {};
  uv_pipe_t in_ = {};
  uv_pipe_t out_ = {};
  uv_pipe_t err_ = {};
  uv_write_t write_ = {};
  char buffer_[65536];
  int open_outputs_ = 0;
  int closed_ = 0;
  bool exited_ = false;
};

}  // namespace

std::string to_text(const Ended& ended) {
  if (ended.timed_out) return "no answer within its deadline";
  if (ended.signal != 0) {
    return fmt::format("signal {} ({})", ended.signal, ::strsignal(ended.signal));
  }
  return fmt::format("exit code {}", ended.code);
}

std::vector<Result<Ended>> run_all(
    std::span<const Command> commands, std::size_t at_most,
    const std::function<void(std::size_t, const Result<Ended>&)>& on_end) {
  // A program that ends without reading its input must not end us; libuv gives children their
  // default disposition back.
  (void)std::signal(SIGPIPE, SIG_IGN);
  std::vector<Result<Ended>> results(commands.size());
  uv_loop_t loop;
  uv_loop_init(&loop);
  std::size_t next = 0;
  std::function<void()> start_next = [&] {
    if (next == commands.size()) return;
    const std::size_t index = next++;
    auto* child = new Child(&loop, commands[index], [&, index](Result<Ended> result) {
      results[index] = std::move(result);
      if (on_end) on_end(index, results[index]);
      start_next();
    });
    child->start(&loop);
  };
  for (std::size_t i = 0; i < std::max<std::size_t>(at_most, 1); ++i) start_next();
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  return results;
}

std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return ::access(name.c_str(), X_OK) == 0 ? std::optional(name) : std::nullopt;
  }
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody calls setenv
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

Result<Ended> run(const Command& command) {
  return std::move(run_all({&command, 1}, 1).front());
}

}  // namespace muster::sys
