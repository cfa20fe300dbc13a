#include "agent/handout.hpp"

#include <cerrno>
#include <string_view>

#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "sys/local_socket.hpp"

namespace muster::agent {
namespace {

constexpr const char* kDeskSocket = "/environment";
constexpr const char* kVariables = "/variables";
constexpr const char* kActivated = "/env";
constexpr std::size_t kMostEnvironment = std::size_t{16} << 20;
constexpr int kAskAgainMs = 5;

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

std::string joined(const std::vector<std::string>& entries) {
  std::string text;
  for (const std::string& entry : entries) {
    text += entry;
    text += '\0';
  }
  return text;
}

Result<sys::Fd> in_memory(const std::vector<std::string>& entries) {
  // Linux before 6.3 rejects MFD_NOEXEC_SEAL; a later one may be configured to require it.
  sys::Fd memory(::memfd_create("muster", MFD_CLOEXEC | MFD_NOEXEC_SEAL));
  if (!memory.valid() && errno == EINVAL) memory = sys::Fd(::memfd_create("muster", MFD_CLOEXEC));
  const std::string text = joined(entries);
  if (!memory.valid() || sys::write_all(memory.get(), text) < text.size()) {
    return unexpected(system_error("cannot keep the job's environment variables in memory"));
  }
  return memory;
}

// Reads through /proc. All ranks get the same open file and would otherwise move each other's
// position.
Result<Environment> read_memory(const sys::Fd& memory) {
  MUSTER_TRY(const std::string text,
             sys::read_file("/proc/self/fd/" + std::to_string(memory.get()), kMostEnvironment));
  return parse_environment(text);
}

Error cannot_get(const std::string& folder, std::string what) {
  return {.what = std::move(what),
          .where = {.file = folder},
          .hint =
              "start the job again; if this happens repeatedly, the host is overloaded or the "
              "run's directory was removed"};
}

// Receives what the warden sends: one or two descriptors, or none if it has nothing to hand out.
Result<std::vector<sys::Fd>> receive_memories(const sys::Fd& connection,
                                              std::chrono::milliseconds patience,
                                              const std::string& folder) {
  std::vector<sys::Fd> memories;
  char byte = 0;
  pollfd readable{connection.get(), POLLIN, 0};
  if (::poll(&readable, 1, static_cast<int>(patience.count())) <= 0 ||
      sys::read_with_descriptors(connection.get(), {&byte, 1}, memories) < 0) {
    return unexpected(
        cannot_get(folder,
                   "muster's watcher process on this host does not hand out the job's "
                   "environment variables"));
  }
  if (!memories.empty()) return memories;
  return unexpected(cannot_get(folder,
                               "muster's watcher process on this host was killed, and the job's "
                               "environment variables were lost with it"));
}

Result<HandedOut> from_files(const std::string& folder) {
  HandedOut handed;
  MUSTER_TRY(const std::string variables, sys::read_file(folder + kVariables, kMostEnvironment));
  handed.variables = parse_environment(variables);
  if (!sys::exists(folder + kActivated)) return handed;
  MUSTER_TRY(const std::string activated, sys::read_file(folder + kActivated, kMostEnvironment));
  handed.activated = parse_environment(activated);
  return handed;
}

}  // namespace

Result<void> HandoutDesk::open(const std::string& folder, const std::optional<Handout>& handout) {
  memories_.clear();
  if (handout) {
    MUSTER_TRY(sys::Fd variables, in_memory(handout->variables));
    memories_.push_back(std::move(variables));
  }
  if (handout && handout->activated) {
    MUSTER_TRY(sys::Fd activated, in_memory(*handout->activated));
    memories_.push_back(std::move(activated));
  }
  MUSTER_TRY(listener_, sys::listen_locally(folder + kDeskSocket));
  return {};
}

void HandoutDesk::serve() const {
  std::vector<int> numbers;
  for (const sys::Fd& memory : memories_) numbers.push_back(memory.get());
  while (true) {
    const sys::Fd asking(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!asking.valid()) return;
    if (!numbers.empty()) sys::send_descriptors(asking.get(), numbers);
  }
}

Result<HandedOut> ask_for_handout(const std::string& folder, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto give_up = Clock::now() + patience;
  while (true) {
    if (sys::exists(folder + kVariables)) return from_files(folder);
    if (const sys::Fd connection = sys::connect_locally(folder + kDeskSocket); connection.valid()) {
      HandedOut handed;
      MUSTER_TRY(const auto memories, receive_memories(connection, patience, folder));
      MUSTER_TRY(handed.variables, read_memory(memories.front()));
      if (memories.size() > 1) {
        MUSTER_TRY(handed.activated, read_memory(memories.back()));
      }
      return handed;
    }
    if (Clock::now() > give_up) {
      return unexpected(cannot_get(folder,
                                   "this host did not receive the job's environment variables "
                                   "from the machine that started the run"));
    }
    (void)::poll(nullptr, 0, kAskAgainMs);
  }
}

Result<void> leave_in_files(const std::string& folder, const Handout& handout) {
  if (handout.activated) {
    MUSTER_CHECK(sys::write_file(folder + kActivated, joined(*handout.activated), 0600));
  }
  // Write this file last, because waiting ranks take it as the sign that all is there.
  return sys::write_file(folder + kVariables, joined(handout.variables), 0600);
}

}  // namespace muster::agent
