#include "recorder/server.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "recorder/folder.hpp"

// c10d::control_plane::WorkerServer. PyTorch exports this class, but its header includes a
// cpp-httplib header that PyTorch does not install. The symbols are weak: null where PyTorch has no
// such server.
[[gnu::weak]] extern void
worker_server_construct(void* self, const std::string& path, int port) __asm__(
    "_ZN4c10d13control_plane12Worker"
    "ServerC1ERKNSt7__cxx1112basic_"
    "stringIcSt11char_traitsIcESaIc"
    "EEEi");
[[gnu::weak]] extern void worker_server_shut_down(void* self) __asm__(
    "_ZN4c10d13control_plane12WorkerServer8shutdownEv");
// PyTorch prints messages of this level and above: 1 for warnings, 2 for errors.
extern "C" [[gnu::weak]] int FLAGS_caffe2_log_level;  // NOLINT(readability-identifier-naming)

namespace muster::recorder {
namespace {

constexpr std::size_t kRoomForServer = std::size_t{64} << 10;  // 2.13 needs about 1 KiB
constexpr int kUnixSocket = -1;
constexpr std::chrono::seconds kUntilStopped{1};

struct Serving {
  std::mutex mutex;
  void* server = nullptr;  // never destroyed, because one of its threads may be stuck
  int folder = -1;
  std::string name;
};

// The process that serves. A forked child inherits this state but none of the threads.
std::atomic<pid_t> g_serving_pid = 0;

Serving& serving() {
  static auto* const only = new Serving;  // never destroyed
  return *only;
}

// Suppresses the warnings with which the server announces its start and end on every rank.
class Quiet {
 public:
  Quiet() {
    if (&FLAGS_caffe2_log_level == nullptr) return;
    before_ = FLAGS_caffe2_log_level;
    if (before_ < kErrors) FLAGS_caffe2_log_level = kErrors;
  }
  ~Quiet() {
    if (&FLAGS_caffe2_log_level != nullptr) FLAGS_caffe2_log_level = before_;
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  static constexpr int kErrors = 2;
  int before_ = 0;
};

// Blocks signals while the server's threads are made, so that only the program's own threads
// receive its signals.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
      sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_{};
};

// The server makes one thread per CPU that it may use, but at least 8. It needs few, so the process
// is restricted to one CPU while the server starts.
class OnOneProcessor {
 public:
  OnOneProcessor() {
    changed_ = sched_getaffinity(0, sizeof(before_), &before_) == 0;
    // Spread the ranks of a host over its CPUs.
    int left = changed_ ? getpid() % std::max(CPU_COUNT(&before_), 1) : 0;
    for (int i = 0; changed_ && i < CPU_SETSIZE; ++i) {
      if (!CPU_ISSET(i, &before_) || left-- > 0) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(i, &one);
      changed_ = sched_setaffinity(0, sizeof(one), &one) == 0;
      return;
    }
  }
  ~OnOneProcessor() {
    if (changed_) sched_setaffinity(0, sizeof(before_), &before_);
  }
  OnOneProcessor(const OnOneProcessor&) = delete;
  OnOneProcessor& operator=(const OnOneProcessor&) = delete;

 private:
  cpu_set_t before_{};
  bool changed_ = false;
};

// Throws if the process may not make enough threads; in that case the server would end the process.
void check_room_for_threads() {
  const unsigned count = std::max(8U, std::thread::hardware_concurrency()) + 2;
  std::promise<void> all_made;
  const std::shared_future<void> made = all_made.get_future().share();
  std::vector<std::jthread> threads;
  threads.reserve(count);
  try {
    for (unsigned i = 0; i < count; ++i) threads.emplace_back([made] { made.wait(); });
  } catch (...) {
    all_made.set_value();
    throw;
  }
  all_made.set_value();
}

void* start_server(const std::string& path) {
  void* room = ::operator new(kRoomForServer, std::nothrow);
  if (room == nullptr) return nullptr;
  try {
    const Quiet quiet;
    const WithoutSignals without_signals;
    const OnOneProcessor on_one_processor;
    check_room_for_threads();
    worker_server_construct(room, path, kUnixSocket);
    return room;
  } catch (...) {
    ::operator delete(room);
    return nullptr;
  }
}

// Shuts the server down on another thread and waits for it for at most kUntilStopped, because
// shutting down waits for requests that are being answered.
void stop_server(void* server) {
  const Quiet quiet;
  auto stopped = std::make_shared<std::promise<void>>();
  auto over = stopped->get_future();
  {
    const WithoutSignals without_signals;
    std::thread([server, stopped] {
      worker_server_shut_down(server);
      stopped->set_value();
    }).detach();
  }
  over.wait_for(kUntilStopped);
}

bool serve() {
  const char* path = std::getenv("MUSTER_RECORDERS");
  if (path == nullptr || worker_server_construct == nullptr || worker_server_shut_down == nullptr)
    return false;
  Serving& state = serving();
  const std::lock_guard guard(state.mutex);
  if (state.server != nullptr) return true;
  const int folder = open_private_folder(path);
  if (folder < 0) return false;
  const auto name = free_socket_name(folder);
  if (name) {
    state.server = start_server(socket_path(folder, *name));
    state.name = *name;
  }
  if (state.server == nullptr) {
    ::close(folder);
    return false;
  }
  state.folder = folder;
  g_serving_pid = getpid();
  [[maybe_unused]] static const int registered = std::atexit([] { stop_serving(); });
  return true;
}

}  // namespace

bool serve_records() noexcept {
  try {
    const pid_t serving_pid = g_serving_pid;
    if (serving_pid != 0) return serving_pid == getpid();
    return serve();
  } catch (...) {
    return false;
  }
}

void stop_serving() noexcept {
  try {
    if (g_serving_pid != getpid()) return;
    Serving& state = serving();
    const std::lock_guard guard(state.mutex);
    void* const server = std::exchange(state.server, nullptr);
    if (server == nullptr) return;
    unlinkat(state.folder, state.name.c_str(), 0);
    stop_server(server);
  } catch (...) {  // no thread could be made, so the server ends with the process
    return;
  }
}

}  // namespace muster::recorder
