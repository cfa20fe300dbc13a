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

// c10d::control_plane::WorkerServer. PyTorch exports it, but its header needs one of cpp-httplib's
// that PyTorch does not install. Weak: null where PyTorch has no such server.
[[gnu::weak]] extern void
worker_server_construct(void* self, const std::string& path, int port) __asm__(
    "_ZN4c10d13control_plane12Worker"
    "ServerC1ERKNSt7__cxx1112basic_"
    "stringIcSt11char_traitsIcESaIc"
    "EEEi");
[[gnu::weak]] extern void worker_server_shut_down(void* self) __asm__(
    "_ZN4c10d13control_plane12WorkerServer8shutdownEv");
// Messages of this level and above are printed: 1 for warnings, 2 for errors.
extern "C" [[gnu::weak]] int FLAGS_caffe2_log_level;  // NOLINT(readability-identifier-naming)

namespace muster::recorder {
namespace {

constexpr std::size_t kRoomForServer = std::size_t{64} << 10;  // 2.13 needs about 1 KiB
constexpr int kUnixSocket = -1;
constexpr std::chrono::seconds kUntilStopped{1};

struct Serving {
  std::mutex mutex;
  void* server = nullptr;  // never destroyed: a thread of it may be stuck
  int folder = -1;
  std::string name;
};

// A child that was forked has a copy, but none of the threads.
std::atomic<pid_t> g_serving_pid = 0;

Serving& serving() {
  static auto* const only = new Serving;  // outlives everything
  return *only;
}

// The server tells of its start and end in warnings, on every rank.
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

// For the threads that are made meanwhile: the program's signals are for the program's threads.
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

// The server makes a thread for each processor that it may use, and at least 8. It needs few.
class OnOneProcessor {
 public:
  OnOneProcessor() {
    changed_ = sched_getaffinity(0, sizeof(before_), &before_) == 0;
    // Not all ranks of a host on the same one.
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

// Where no more threads are allowed, the server would end the process.
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

// On a thread of its own, since requests that are being answered have to end first.
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
  } catch (...) {  // no thread could be made: the server ends with the process
    return;
  }
}

}  // namespace muster::recorder
