#include "run/folder.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>
#include <random>
#include <sstream>
#include <tuple>

#include <fmt/format.h>
#include <unistd.h>

#include "agent/record.hpp"
#include "base/printable.hpp"
#include "run/about.hpp"
#include "sys/file.hpp"

namespace muster::run {
namespace {

constexpr std::size_t kOwnerBytes = 512;
constexpr const char* kLast = "last";

std::string own_host() {
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Identifies the current boot of this machine.
std::string own_boot() {
  constexpr std::size_t kMost = 64;
  std::string boot;
  std::istringstream(sys::read_file("/proc/sys/kernel/random/boot_id", kMost).value_or("")) >> boot;
  return boot;
}

// The process that supervises an attempt, as it is stored.
struct Owner {
  agent::ProcessId process;
  std::string host;
  std::string boot;  // of the host; empty in files of an older muster
};

std::optional<Owner> read_owner(const std::string& folder) {
  const auto text = sys::read_file(folder + "/owner", kOwnerBytes);
  if (!text) return std::nullopt;
  Owner owner;
  std::istringstream(*text) >> owner.process.pid >> owner.process.start >> owner.host >> owner.boot;
  return owner;
}

bool is_of_another_boot(const Owner& owner) {
  if (owner.boot.empty() || owner.host != own_host()) return false;
  const std::string own = own_boot();  // empty if it cannot be read
  return !own.empty() && owner.boot != own;
}

// The ids of all stored attempts, in no particular order.
std::vector<std::string> stored_ids() {
  std::vector<std::string> ids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(runs_folder(), error)) {
    const std::string id = entry.path().filename();
    if (!id.starts_with('.')) ids.push_back(id);  // a folder that begins with '.' is being removed
  }
  return ids;
}

// The folder of the newest run with this --name; empty if there is none.
std::string newest_named(const std::vector<std::string>& ids, const std::string& name) {
  if (!wrong_name(name).empty()) return {};
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    const std::string folder = runs_folder() + "/" + parse_attempt(*id).base;
    const auto about = read_about(folder);
    if (about && about->name == name) return folder;
  }
  return {};
}

Error no_last_run(const std::vector<std::string>& ids) {
  if (ids.empty()) {
    return {.code = ErrorCode::kUsage,
            .what = "there is no run on this machine yet",
            .hint =
                "to start one: muster run -n 2 train.py; a run that the checks refuse is not "
                "stored, and muster check shows its errors again"};
  }
  return {.code = ErrorCode::kUsage,
          .what = "no run on this machine has started its ranks yet, so 'last' means none",
          .hint = fmt::format("muster runs lists all runs; the newest one is {}",
                              parse_attempt(ids.back()).base)};
}

}  // namespace

std::string runs_folder() {
  return sys::state_folder() + "/runs";
}

std::string new_run_id() {
  std::random_device random;
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto since = now.time_since_epoch() % std::chrono::seconds(1);
  std::tm utc{};
  (void)::gmtime_r(&seconds, &utc);
  std::array<char, 32> time{};
  (void)std::strftime(time.data(), time.size(), "%Y%m%d-%H%M%S", &utc);
  constexpr unsigned kPerMillisecond = (1U << 20) / 1000;  // five hexadecimal digits hold 20 bits
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  return fmt::format(
      "{}-{:05x}", time.data(),
      static_cast<unsigned>(milliseconds) * kPerMillisecond + random() % kPerMillisecond);
}

double time_of_id(const std::string& id) {
  std::tm utc{};
  const char* const rest = ::strptime(id.c_str(), "%Y%m%d-%H%M%S", &utc);
  return rest != nullptr && *rest == '-' ? static_cast<double>(::timegm(&utc)) : 0;
}

Result<std::string> make_run_folder(const std::string& id) {
  MUSTER_CHECK(sys::make_folders(runs_folder(), 0700));
  std::string folder = runs_folder() + "/" + id;
  MUSTER_CHECK(sys::make_private_folder(folder));
  return folder;
}

std::string attempt_id(const std::string& base, int number) {
  return number == 0 ? base : fmt::format("{}.{}", base, number);
}

AttemptName parse_attempt(const std::string& id) {
  const std::size_t dot = id.rfind('.');
  if (dot == std::string::npos) return {.base = id};
  int number = 0;
  const char* end = id.data() + id.size();
  const auto parsed = std::from_chars(id.data() + dot + 1, end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 1) return {.base = id};
  return {.base = id.substr(0, dot), .number = number};
}

int latest_attempt(const std::string& base) {
  int latest = -1;
  while (sys::exists(runs_folder() + "/" + attempt_id(base, latest + 1))) ++latest;
  return latest;
}

int latest_started(const std::string& base) {
  int latest = latest_attempt(base);
  while (latest >= 0 && !sys::exists(runs_folder() + "/" + attempt_id(base, latest) + "/out")) {
    --latest;
  }
  return latest;
}

std::vector<std::string> list_runs() {
  std::vector<std::string> ids = stored_ids();
  std::sort(ids.begin(), ids.end(), [](const std::string& one, const std::string& other) {
    const AttemptName left = parse_attempt(one);
    const AttemptName right = parse_attempt(other);
    return std::tie(left.base, left.number) < std::tie(right.base, right.number);
  });
  return ids;
}

Result<std::string> find_run(const std::string& name) {
  const std::vector<std::string> ids = list_runs();
  if (name == kLast) {  // the latest run whose ranks were started
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
      if (sys::exists(runs_folder() + "/" + *id + "/out")) return runs_folder() + "/" + *id;
    }
    return unexpected(no_last_run(ids));
  }
  if (std::find(ids.begin(), ids.end(), name) != ids.end()) return runs_folder() + "/" + name;
  if (const std::string named = newest_named(ids, name); !named.empty()) return named;
  std::vector<std::string> matching;
  for (const std::string& id : ids) {
    const bool attempt = !matching.empty() && parse_attempt(id).base == matching.back();
    if (!name.empty() && id.starts_with(name) && !attempt) matching.push_back(id);
  }
  if (matching.size() == 1) return runs_folder() + "/" + matching.front();
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = matching.empty() ? fmt::format("there is no run '{}'", name)
                                                   : fmt::format("'{}' could mean {} or {}", name,
                                                                 matching[0], matching[1]),
                          .hint = "muster runs lists all runs; 'last' means the newest one"});
}

std::string wrong_name(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr const char* kOthers = "0123456789._-";
  const bool fits = name.size() <= kLongest && name.find_first_of(kLetters) == 0 &&
                    name.find_first_not_of(std::string(kLetters) + kOthers) == std::string::npos;
  if (!fits) {
    return fmt::format(
        "a name has at most {} letters, digits, '.', '_' and '-', and begins with a letter",
        kLongest);
  }
  return name == kLast ? "'last' means the newest run; choose another name" : "";
}

std::string id_of(const std::string& folder) {
  return folder.substr(folder.rfind('/') + 1);
}

std::string latest_of(const std::string& folder) {
  const AttemptName name = parse_attempt(id_of(folder));
  const int latest = latest_started(name.base);
  if (name.number > 0 || latest <= 0) return folder;
  return runs_folder() + "/" + attempt_id(name.base, latest);
}

Result<void> write_owner(const std::string& folder) {
  const auto self = agent::identify(::getpid());
  if (!self) return {};
  const std::string text =
      fmt::format("{} {} {} {}\n", self->pid, self->start, own_host(), own_boot());
  MUSTER_TRY(const bool is_first, sys::create_file(folder + "/owner", text, 0600));
  if (is_first) return {};
  return unexpected(Error{.what = "another run has the same id",
                          .where = {.file = folder},
                          .hint = "start the run again; it then gets another id"});
}

std::string owner_elsewhere(const std::string& folder) {
  const auto owner = read_owner(folder);
  return !owner || owner->host == own_host() ? std::string() : printable(owner->host);
}

bool may_be_running(const std::string& folder) {
  if (living_owner(folder) != 0) return true;
  return !owner_elsewhere(folder).empty() && !sys::exists(folder + "/record.json");
}

int living_owner(const std::string& folder) {
  const auto owner = read_owner(folder);
  if (!owner || owner->host != own_host() || is_of_another_boot(*owner)) return 0;
  return owner->process.pid > 0 && is_alive(owner->process) ? owner->process.pid : 0;
}

std::string how_muster_left(const std::string& folder) {
  const auto owner = read_owner(folder);
  if (owner && is_of_another_boot(*owner)) return "muster was killed or this machine rebooted";
  return "muster was killed";
}

std::string what_hosts_do_alone(const std::string& folder) {
  const auto about = read_about(folder);
  const double wait_s = about ? about->orphan_after_s : 0;
  if (wait_s <= 0) return "the hosts end the run after --orphan-after without muster";
  return fmt::format("the hosts end the run at the latest after {:g} s without muster", wait_s);
}

}  // namespace muster::run
