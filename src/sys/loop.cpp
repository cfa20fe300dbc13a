#include "sys/loop.hpp"

#include <csignal>
#include <cstdint>
#include <list>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <uv.h>

#include "sys/clock.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace muster::sys {
namespace {

constexpr std::uint64_t kDrainAfterExitMs = 1000;
constexpr std::size_t kMostUnread = std::size_t{64} << 20;

template <class Handle>
uv_handle_t* as_handle(Handle* handle) {
  return reinterpret_cast<uv_handle_t*>(handle);
}

uv_stream_t* as_stream(uv_pipe_t* pipe) {
  return reinterpret_cast<uv_stream_t*>(pipe);
}

// NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): libuv's flags are or-ed
uv_stdio_flags pipe_flags(int direction) {
  return static_cast<uv_stdio_flags>(UV_CREATE_PIPE | direction);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged_environment(const std::vector<std::string>& on_top) {
  std::map<std::string, std::string> merged;
  const auto add = [&merged](const std::string& entry) {
    merged[entry.substr(0, entry.find('='))] = entry;
  };
  for (char** entry = environ; *entry != nullptr; ++entry) add(*entry);
  for (const std::string& entry : on_top) add(entry);
  std::vector<std::string> entries;
  entries.reserve(merged.size());
  for (auto& [name, entry] : merged) entries.push_back(std::move(entry));
  return entries;
}

// One program on the loop. It holds a reference to itself until all its handles are closed.
class Child : public Process, public std::enable_shared_from_this<Child> {
 public:
  Child(uv_loop_t* loop, Program program) : program_(std::move(program)) {
    uv_timer_init(loop, &timer_);
    timer_.data = this;
    for (uv_pipe_t* pipe : {&in_, &out_, &err_}) {
      uv_pipe_init(loop, pipe, 0);
      pipe->data = this;
    }
    process_.data = this;
  }

  Result<void> start(uv_loop_t* loop) {
    self_ = shared_from_this();
    if (const int failed = spawn(loop); failed != 0) {
      Error error{
          .code = failed == UV_ENOENT ? ErrorCode::kEngineMissing : ErrorCode::kSystem,
          .what = fmt::format("cannot start '{}': {}", program_.argv[0], uv_strerror(failed))};
      program_.on_end = nullptr;
      close();  // libuv initialises the process handle even when it fails
      return unexpected(std::move(error));
    }
    running_ = true;
    open_outputs_ = 2;
    for (uv_pipe_t* pipe : {&out_, &err_}) {
      uv_read_start(as_stream(pipe), allocate,
                    [](uv_stream_t* s, ssize_t n, const uv_buf_t* b) { of(s).on_read(s, n, b); });
    }
    return {};
  }

  [[nodiscard]] pid_t pid() const override { return process_.pid; }
  [[nodiscard]] bool running() const override { return running_; }

  void write(std::shared_ptr<const std::string> bytes) override {
    if (!running_ || program_.input != Input::kPipe || uv_is_closing(as_handle(&in_)) != 0) return;
    if (uv_stream_get_write_queue_size(as_stream(&in_)) > kMostUnread) return close_handle(&in_);
    auto* request = new Write{{}, std::move(bytes)};
    request->uv.data = request;
    const uv_buf_t buffer =
        uv_buf_init(const_cast<char*>(request->bytes->data()),  // NOLINT: libuv does not write it
                    static_cast<unsigned>(request->bytes->size()));
    // A write may fail because the program ended without reading. That is not an error.
    const auto done = [](uv_write_t* w, int /*status*/) { delete static_cast<Write*>(w->data); };
    if (uv_write(&request->uv, as_stream(&in_), &buffer, 1, done) != 0) delete request;
  }

  void close_input() override {
    if (!running_ || program_.input != Input::kPipe || uv_is_closing(as_handle(&in_)) != 0) return;
    shutdown_.data = this;
    const auto done = [](uv_shutdown_t* s, int /*status*/) {
      auto* child = static_cast<Child*>(s->data);
      child->close_handle(&child->in_);
    };
    if (uv_shutdown(&shutdown_, as_stream(&in_), done) != 0) close_handle(&in_);
  }

  void kill(int signal) override {
    if (running_) uv_process_kill(&process_, signal);
  }

  [[nodiscard]] int input_descriptor() const override { return descriptor(in_); }
  [[nodiscard]] int output_descriptor() const override { return descriptor(out_); }

 private:
  struct Write {
    uv_write_t uv;
    std::shared_ptr<const std::string> bytes;
  };

  template <class Handle>
  static Child& of(Handle* handle) {
    return *static_cast<Child*>(handle->data);
  }

  static int descriptor(const uv_pipe_t& pipe) {
    uv_os_fd_t number = -1;
    const auto* handle = reinterpret_cast<const uv_handle_t*>(&pipe);
    return uv_fileno(handle, &number) == 0 ? number : -1;
  }

  static void allocate(uv_handle_t* /*handle*/, size_t /*suggested*/, uv_buf_t* buffer) {
    // One buffer suffices: the loop has one thread and handles each piece before it reads the next.
    static char bytes[65536];
    *buffer = uv_buf_init(bytes, sizeof bytes);
  }

  std::vector<uv_stdio_container_t> stdio() {
    std::vector<uv_stdio_container_t> slots(3 + program_.descriptors.size());
    slots[0].flags = UV_IGNORE;
    if (program_.input == Input::kPipe) {
      slots[0].flags = pipe_flags(UV_READABLE_PIPE);
      slots[0].data.stream = as_stream(&in_);
    } else if (program_.input == Input::kInherit) {
      slots[0].flags = UV_INHERIT_FD;
      slots[0].data.fd = 0;
    }
    slots[1].flags = slots[2].flags = pipe_flags(UV_WRITABLE_PIPE);
    slots[1].data.stream = as_stream(&out_);
    slots[2].data.stream = as_stream(&err_);
    for (std::size_t i = 0; i < program_.descriptors.size(); ++i) {
      slots[3 + i].flags = UV_INHERIT_FD;
      slots[3 + i].data.fd = program_.descriptors[i];
    }
    return slots;
  }

  int spawn(uv_loop_t* loop) {
    std::vector<char*> argv = pointers(program_.argv);
    std::vector<std::string> environment = merged_environment(program_.env);
    std::vector<char*> env = pointers(environment);
    std::vector<uv_stdio_container_t> slots = stdio();
    uv_process_options_t options = {};
    options.file = argv[0];
    options.args = argv.data();
    options.env = env.data();
    options.cwd = program_.folder.empty() ? nullptr : program_.folder.c_str();
    options.flags = program_.own_session ? UV_PROCESS_DETACHED : 0;
    options.stdio = slots.data();
    options.stdio_count = static_cast<int>(slots.size());
    options.exit_cb = [](uv_process_t* p, std::int64_t code, int signal) {
      of(p).on_exit(static_cast<int>(code), signal);
    };
    return uv_spawn(loop, &process_, &options);
  }

  void on_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) {
    const bool is_out = stream == as_stream(&out_);
    if (count > 0 && program_.on_output) {
      program_.on_output(is_out ? Stream::kOut : Stream::kErr,
                         {buffer->base, static_cast<std::size_t>(count)});
    } else if (count < 0) {
      close_handle(is_out ? &out_ : &err_);
      if (--open_outputs_ == 0 && !running_) close();
    }
  }

  void on_exit(int code, int signal) {
    running_ = false;
    code_ = code;
    signal_ = signal;
    if (program_.on_exit) program_.on_exit();
    if (open_outputs_ == 0) return close();
    uv_timer_start(&timer_, [](uv_timer_t* t) { of(t).close(); }, kDrainAfterExitMs, 0);
  }

  void close() {
    for (uv_pipe_t* pipe : {&in_, &out_, &err_}) close_handle(pipe);
    close_handle(&timer_);
    close_handle(&process_);
  }

  template <class Handle>
  void close_handle(Handle* handle) {
    if (uv_is_closing(as_handle(handle)) != 0) return;
    uv_close(as_handle(handle), [](uv_handle_t* h) { of(h).on_closed(); });
  }

  void on_closed() {
    if (++closed_ < 5) return;  // three pipes, the timer, the process
    const auto keep = std::move(self_);
    const auto on_end = std::move(program_.on_end);
    program_.on_output = nullptr;
    program_.on_exit = nullptr;
    if (on_end) on_end(code_, signal_);
  }

  Program program_;
  std::shared_ptr<Child> self_;
  uv_process_t process_ = {};
  uv_timer_t timer_ = {};
  uv_pipe_t in_ = {};
  uv_pipe_t out_ = {};
  uv_pipe_t err_ = {};
  uv_shutdown_t shutdown_ = {};
  int open_outputs_ = 0;
  int closed_ = 0;
  int code_ = 0;
  int signal_ = 0;
  bool running_ = false;
};

// A handle with a callback, freed when libuv has closed it.
template <class Handle>
struct Watched {
  Handle uv = {};
  std::function<void()> call;

  static void fire(Handle* handle) {
    // Copied, because the call may destroy this object.
    const auto call = static_cast<Watched*>(handle->data)->call;
    call();
  }
  void close() {
    uv_close(as_handle(&uv), [](uv_handle_t* h) { delete static_cast<Watched*>(h->data); });
  }
};

class UvTimer : public Timer {
 public:
  UvTimer(uv_loop_t* loop, std::function<void()> call)
      : watched_(new Watched<uv_timer_t>{{}, std::move(call)}) {
    uv_timer_init(loop, &watched_->uv);
    watched_->uv.data = watched_;
  }
  UvTimer(const UvTimer&) = delete;
  UvTimer& operator=(const UvTimer&) = delete;
  ~UvTimer() override { watched_->close(); }

  void start(std::chrono::milliseconds first, std::chrono::milliseconds repeat) {
    uv_timer_start(&watched_->uv, Watched<uv_timer_t>::fire,
                   static_cast<std::uint64_t>(first.count()),
                   static_cast<std::uint64_t>(repeat.count()));
  }

 private:
  Watched<uv_timer_t>* watched_;
};

class UvWatch : public Watch {
 public:
  UvWatch(uv_loop_t* loop, int descriptor, std::function<void()> call)
      : watched_(new Watched<uv_poll_t>{{}, std::move(call)}) {
    watched_->uv.data = watched_;
    if (uv_poll_init(loop, &watched_->uv, descriptor) != 0) {
      delete std::exchange(watched_, nullptr);
      return;
    }
    uv_unref(as_handle(&watched_->uv));
    const auto readable = [](uv_poll_t* poll, int /*status*/, int /*events*/) {
      Watched<uv_poll_t>::fire(poll);
    };
    uv_poll_start(&watched_->uv, UV_READABLE | UV_DISCONNECT, readable);
  }
  UvWatch(const UvWatch&) = delete;
  UvWatch& operator=(const UvWatch&) = delete;
  ~UvWatch() override {
    if (watched_ == nullptr) return;
    uv_poll_stop(&watched_->uv);
    watched_->close();
  }

 private:
  Watched<uv_poll_t>* watched_;
};

}  // namespace

UvLoop::UvLoop() : loop_(std::make_unique<uv_loop_s>()) {
  // Writing to a program that ended without reading its input must not kill this process. libuv
  // restores the default action of SIGPIPE in children.
  (void)std::signal(SIGPIPE, SIG_IGN);
  uv_loop_init(loop_.get());
}

UvLoop::~UvLoop() {
  // Signal handles exist until here. The owners of programs and timers close theirs. The loop must
  // see every close before it can be destroyed.
  uv_walk(
      loop_.get(),
      [](uv_handle_t* handle, void* /*unused*/) {
        if (uv_is_closing(handle) != 0) return;
        if (handle->type == UV_SIGNAL) static_cast<Watched<uv_signal_t>*>(handle->data)->close();
      },
      nullptr);
  constexpr int kPasses = 3;  // a handle that closes may close another
  for (int pass = 0; pass < kPasses; ++pass) {
    uv_run(loop_.get(), UV_RUN_NOWAIT);
    if (uv_loop_close(loop_.get()) != UV_EBUSY) return;
  }
  // Leaked on purpose: a program that outlives the loop still uses it.
  const uv_loop_s* const used = loop_.release();
  (void)used;
}

void UvLoop::drain(std::chrono::milliseconds at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  while (uv_run(loop_.get(), UV_RUN_NOWAIT) != 0 && std::chrono::steady_clock::now() < until) {
    constexpr int kPauseMs = 5;
    (void)::poll(nullptr, 0, kPauseMs);
  }
}

Result<std::shared_ptr<Process>> UvLoop::start(Program program) {
  auto child = std::make_shared<Child>(loop_.get(), std::move(program));
  MUSTER_CHECK(child->start(loop_.get()));
  return child;
}

std::shared_ptr<Timer> UvLoop::timer(std::chrono::milliseconds first,
                                     std::chrono::milliseconds repeat,
                                     std::function<void()> on_time) {
  auto timer = std::make_shared<UvTimer>(loop_.get(), std::move(on_time));
  timer->start(first, repeat);
  return timer;
}

std::shared_ptr<Watch> UvLoop::watch(int descriptor, std::function<void()> on_readable) {
  return std::make_shared<UvWatch>(loop_.get(), descriptor, std::move(on_readable));
}

void UvLoop::on_signal(int signal, std::function<void()> on_signal) {
  auto* watched = new Watched<uv_signal_t>{{}, std::move(on_signal)};
  uv_signal_init(loop_.get(), &watched->uv);
  watched->uv.data = watched;
  uv_signal_start(
      &watched->uv, [](uv_signal_t* s, int /*signal*/) { Watched<uv_signal_t>::fire(s); }, signal);
  uv_unref(as_handle(&watched->uv));  // a watch alone does not keep the loop running
}

void UvLoop::drop_signals() {
  const auto drop = [](uv_handle_t* handle, void* /*unused*/) {
    if (handle->type != UV_SIGNAL || uv_is_closing(handle) != 0) return;
    static_cast<Watched<uv_signal_t>*>(handle->data)->close();
  };
  uv_walk(loop_.get(), drop, nullptr);
}

void UvLoop::run() {
  uv_run(loop_.get(), UV_RUN_DEFAULT);
}

void UvLoop::stop() {
  uv_stop(loop_.get());
}

std::chrono::steady_clock::time_point UvLoop::now() const {
  return std::chrono::steady_clock::now();
}

double UvLoop::unix_time() const {
  return sys::unix_time();
}

double UvLoop::uptime() const {
  return sys::uptime();
}

}  // namespace muster::sys
