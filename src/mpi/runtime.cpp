#include "mpi/runtime.hpp"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

#include <unistd.h>

#include "recorder/server.hpp"

namespace muster::mpi {
namespace {

// How long a process waits at exit for its pending operations, because ranks do not end at the same
// moment.
constexpr auto kDrain = milliseconds(10'000);

// Set from start() on; null if MPI could not be started.
Progress* g_progress = nullptr;
bool g_initialised_here = false;
ThreadLevel g_level{};

[[noreturn]] void leave(int status) {
  static_cast<void>(std::fflush(nullptr));
  _exit(status);
}

void say_unfinished() {
  std::fputs(
      "muster: MPI: some operations that the program did not wait for have not ended; exiting "
      "without MPI_Finalize\n",
      stderr);
}

// Runs last in the process. A stuck or broken MPI is not finalised, because MPI_Finalize might
// never return.
void at_exit(int status, void* /*unused*/) {
  if (is_forked_child()) return;
  Progress& progress = *g_progress;
  if (progress.library().finalised()) return;
  // A failed rank does not wait for the others, which may be waiting for it. Exiting without
  // MPI_Finalize makes the launcher end them.
  if (progress.is_broken() || (status != 0 && g_initialised_here)) leave(status);
  if (!progress.drain(kDrain)) {
    say_unfinished();
    leave(status);
  }
  if (!g_initialised_here) {
    progress.stop();
    return;
  }
  if (!progress.part()) {
    std::fputs("muster: MPI: other ranks exited without MPI_Finalize, so this rank does the same\n",
               stderr);
    leave(status);
  }
  progress.stop();
  static_cast<void>(progress.library().finalise());
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

Progress* start() {
  Loaded& loaded = loaded_library();
  if (!loaded.library)
    throw std::runtime_error(
        "muster found no MPI library that it can use; set MUSTER_MPI_LIBRARY=/path/to/libmpi.so to "
        "name one. It tried:" +
        loaded.tried);
  if (loaded.library->finalised())
    throw std::runtime_error("MPI was already finalised and cannot be used again in this process");
  g_initialised_here = !loaded.library->initialised();
  if (const int error = loaded.library->initialise(g_level))
    throw std::runtime_error("MPI_Init_thread failed: " + loaded.library->error_text(error));
  // If the program initialised MPI, it may make its own MPI calls at any time, even during ours.
  const auto needed = g_initialised_here ? ThreadLevel::kSerialized : ThreadLevel::kMultiple;
  if (g_level < needed) {
    if (g_initialised_here) static_cast<void>(loaded.library->finalise());
    throw std::runtime_error(
        g_initialised_here
            ? "this MPI cannot be called from several threads (MPI_THREAD_MULTIPLE), which the "
              "backend needs"
            : "the program initialised MPI without MPI_THREAD_MULTIPLE, which the backend needs: "
              "call MPI_Init_thread with it, or let muster initialise MPI");
  }
  // Never deleted: operations and groups may live until the very end of the process.
  g_progress = new Progress(std::move(loaded.library), host_name());
  on_exit(at_exit, nullptr);
  return g_progress;
}

}  // namespace

Loaded& loaded_library() {
  static Loaded loaded = load_library();
  return loaded;
}

ThreadLevel process_thread_level() {
  return g_level;
}

Progress& process_progress() {
  recorder::serve_records();  // before MPI_Init, which may hang
  // Try only once, even if it fails: a second try would find MPI initialised and blame the program.
  static const auto [progress, error] = []() -> std::pair<Progress*, std::exception_ptr> {
    try {
      return {start(), nullptr};
    } catch (...) {
      return {nullptr, std::current_exception()};
    }
  }();
  if (error) std::rethrow_exception(error);
  return *progress;
}

void settle() {
  if (g_progress == nullptr || is_forked_child() || g_progress->library().finalised()) return;
  if (g_progress->drain(kDrain)) return;
  if (!g_progress->is_broken()) say_unfinished();
  g_progress->abort("the program is exiting");
}

}  // namespace muster::mpi
