#include "run/folder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <random>
#include <sstream>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/record.hpp"
#include "base/printable.hpp"
#include "sys/file.hpp"

namespace muster::run {
namespace {

constexpr std::size_t kOwnerBytes = 512;

std::string own_host() {
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  return name.data();
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
  constexpr unsigned kPerMillisecond = (1U << 20) / 1000;  // of the five digits' 20 bits
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  return fmt::format(
      "{}-{:05x}", time.data(),
      static_cast<unsigned>(milliseconds) * kPerMillisecond + random() % kPerMillisecond);
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
  for (const std::string& id : list_runs()) {
    const AttemptName name = parse_attempt(id);
    if (name.base == base) latest = std::max(latest, name.number);
  }
  return latest;
}

std::vector<std::string> list_runs() {
  std::vector<std::string> ids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(runs_folder(), error)) {
    ids.push_back(entry.path().filename());
  }
  std::sort(ids.begin(), ids.end(), [](const std::string& one, const std::string& other) {
    const AttemptName left = parse_attempt(one);
    const AttemptName right = parse_attempt(other);
    return std::tie(left.base, left.number) < std::tie(right.base, right.number);
  });
  return ids;
}

Result<std::string> find_run(const std::string& name) {
  const std::vector<std::string> ids = list_runs();
  if (name == "last") {  // of those that were started
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
      if (sys::exists(runs_folder() + "/" + *id + "/out")) return runs_folder() + "/" + *id;
    }
  }
  std::vector<std::string> matching;
  for (const std::string& id : ids) {
    if (id == name) return runs_folder() + "/" + id;
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

Result<void> write_owner(const std::string& folder) {
  const auto self = agent::identify(::getpid());
  if (!self) return {};
  const std::string path = folder + "/owner";
  const sys::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid() && errno == EEXIST) {
    return unexpected(Error{.what = "another run has the same id",
                            .where = {.file = folder},
                            .hint = "start the run again; it then gets another id"});
  }
  const std::string text = fmt::format("{} {} {}\n", self->pid, self->start, own_host());
  if (file.valid() && sys::write_all(file.get(), text) == text.size()) return {};
  return unexpected(system_error("cannot write the file", path));
}

std::string owner_elsewhere(const std::string& folder) {
  const auto text = sys::read_file(folder + "/owner", kOwnerBytes);
  if (!text) return {};
  std::string pid, start, host;
  std::istringstream(*text) >> pid >> start >> host;
  return host == own_host() ? std::string() : printable(host);
}

int living_owner(const std::string& folder) {
  const auto text = sys::read_file(folder + "/owner", kOwnerBytes);
  if (!text || !owner_elsewhere(folder).empty()) return 0;
  agent::ProcessId owner;
  std::istringstream(*text) >> owner.pid >> owner.start;
  return owner.pid > 0 && is_alive(owner) ? owner.pid : 0;
}

}  // namespace muster::run
