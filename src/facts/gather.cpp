#include "facts/gather.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <unistd.h>

#include "base/environment.hpp"
#include "facts/activation.hpp"
#include "facts/container.hpp"
#include "facts/cpu.hpp"
#include "facts/gpus.hpp"
#include "facts/hash_cache.hpp"
#include "facts/host_values.hpp"
#include "facts/interfaces.hpp"
#include "facts/listeners.hpp"
#include "facts/mpi.hpp"
#include "facts/peer_memory.hpp"
#include "facts/program.hpp"
#include "facts/pytorch.hpp"
#include "facts/rdma.hpp"
#include "facts/script.hpp"
#include "facts/software.hpp"
#include "facts/ssh_files.hpp"
#include "facts/torch_build.hpp"
#include "facts/users.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/path_search.hpp"

namespace muster::facts {
namespace {

// The value of a probe. If the probe failed, adds an entry to not_seen and returns an empty value.
template <class T>
T take(Result<T> result, const char* what, Facts& facts) {
  if (result) return *std::move(result);
  facts.not_seen.push_back({.what = what, .why = to_text(result.error())});
  return T{};
}

// The deadline of each command. It is so short that the host still answers in time if three
// commands time out.
std::chrono::milliseconds deadline_of_one(const Request& request) {
  return std::chrono::milliseconds(std::chrono::seconds(request.answer_within_s)) / 5;
}

// The tools that this runs are slow if the driver is not kept loaded, and hang if a GPU is faulty.
void read_gpus_within(std::chrono::milliseconds deadline, Facts& facts) {
  GpuReport report = read_gpus(gpu_sources(deadline));
  facts.gpus = std::move(report.gpus);
  facts.gpu_drivers = std::move(report.drivers);
  facts.not_seen.insert(facts.not_seen.end(), report.not_seen.begin(), report.not_seen.end());
}

void read_system(const Request& request, Facts& facts) {
  read_host_values(facts);
  facts.cpu = read_cpu();
  facts.interfaces = take(read_interfaces(), "interfaces", facts);
  facts.routes = take(read_routes(), "routes", facts);
  facts.own_name_resolves_to =
      take(resolve(facts.hostname, deadline_of_one(request)), "own_name", facts);
  facts.rdma = read_rdma();
  if (!facts.rdma.empty()) facts.peer_memory = read_peer_memory(facts.kernel);
  read_gpus_within(deadline_of_one(request) * 2, facts);
}

// Reads the facts about the user. Returns the user's home directory.
std::string read_user(const Request& request, Facts& facts) {
  const auto uid = ::geteuid();
  const Users users = read_users(uid, deadline_of_one(request));
  const auto me = users.find(uid);
  facts.uid = static_cast<int>(uid);
  facts.user = me == users.end() ? "" : me->second.name;
  // sshd uses the entry in the user database, not $HOME.
  const std::string home = me == users.end() ? sys::home_folder() : me->second.home;
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(home, failed);
  facts.home = failed ? home : real.string();
  facts.ssh_files = read_ssh_files(home, facts.uid, users);
  facts.container = read_container(home);
  Listeners listeners = take(read_listeners(users), "listeners", facts);
  facts.listeners = std::move(listeners.list);
  if (!listeners.not_seen.empty()) {
    facts.not_seen.push_back({.what = "listeners.pid", .why = listeners.not_seen});
  }
  return home;
}

// The environment that the job's processes will have.
Variables read_environment(const Request& request, Gathered& gathered) {
  const Variables own = own_environment();
  Environment& environment = gathered.facts.environment;
  Variables result = own;
  if (!request.activate.empty()) {
    Activation activation = activate(request.activate, own);
    environment.failure = activation.failure;
    environment.activated = activation.failure.empty();
    if (environment.activated) {
      result = std::move(activation.environment);
      environment.digest = changed_digest(own, result);
      for (const auto& [name, value] : result) gathered.environment.push_back(name + "=" + value);
    }
  }
  environment.seen = seen_values(result);
  environment.settings = library_settings(result);
  return result;
}

// The mpirun of the MPI that the program is linked to: PREFIX/bin for PREFIX/lib. Replaces /bin by
// /usr/bin, because the loader may report /lib for /usr/lib, and Open MPI 4 does not work with "/"
// as its prefix.
std::string launcher_of(const FileIdentity& libmpi) {
  std::filesystem::path folder = std::filesystem::path(libmpi.path).parent_path();
  while (folder.has_relative_path() && folder.filename() != "lib" && folder.filename() != "lib64") {
    folder = folder.parent_path();
  }
  if (!folder.has_relative_path()) return "";
  const std::filesystem::path prefix = folder.parent_path();
  return (prefix.has_relative_path() ? prefix : "/usr") / "bin/mpirun";
}

void read_launchers(const Request& request, const Variables& environment, Facts& facts) {
  std::vector<std::string> launchers = request.launchers;
  if (facts.program && facts.program->libmpi) {
    launchers.push_back(launcher_of(*facts.program->libmpi));
  }
  const auto path = environment.find("PATH");
  if (path != environment.end()) launchers.push_back(sys::find_in_path("mpirun", path->second));
  std::vector<std::string> done = {""};
  for (const std::string& launcher : launchers) {
    if (std::find(done.begin(), done.end(), launcher) != done.end()) continue;
    done.push_back(launcher);
    // Launchers that do not exist are left out of the list.
    const bool is_there = launcher.starts_with('/') && sys::is_program(launcher);
    if (is_there) facts.mpi.push_back(read_mpi(launcher, environment, deadline_of_one(request)));
  }
}

void look_at_program(const Request& request, const std::string& folder,
                     const Variables& environment, Facts& facts) {
  constexpr std::size_t kReadAnyway = std::size_t{32} << 20;
  FoundProgram found =
      read_program(request.program, folder, environment, deadline_of_one(request), facts.not_seen);
  if (request.software && !found.program.path.empty()) {
    const bool reads = request.hash_within_ms > 0;
    HashCache hashes(hash_cache_path(facts.hostname),
                     {.time = std::chrono::milliseconds(request.hash_within_ms),
                      .at_least = reads ? kReadAnyway : 0,
                      .at_least_within = deadline_of_one(request)});
    facts.software =
        read_software(found, environment, deadline_of_one(request), hashes, facts.not_seen);
    hashes.save();
  }
  facts.program = std::move(found.program);
}

}  // namespace

Gathered gather(const Request& request) {
  Gathered gathered;
  Facts& facts = gathered.facts;
  facts.host = request.host;
  read_system(request, facts);
  const std::string home = read_user(request, facts);
  const Variables environment = read_environment(request, gathered);
  if (!request.folder.empty()) {
    std::error_code failed;
    facts.folder_exists = std::filesystem::is_directory(request.folder, failed);
  }
  // If the job's folder is missing, ranks start in the home directory.
  const std::string folder = facts.folder_exists.value_or(false) ? request.folder : home;
  if (!request.program.empty()) {
    look_at_program(request, folder, environment, facts);
  }
  if (!request.script.empty()) {
    facts.script = read_script(request.script, request.script_is_module, folder);
  }
  read_launchers(request, environment, facts);
  facts.torch = read_torch(environment, facts.cpu);
  read_torch_build(environment, facts);
  facts.clock_s = sys::unix_time();
  return gathered;
}

}  // namespace muster::facts
