#include "torch/folder_claim.hpp"

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.hpp"
#include "base/printable.hpp"
#include "torch/durable_file.hpp"
#include "torch/exchange.hpp"

namespace muster {
namespace {

constexpr auto kSecond = std::chrono::seconds(1);
constexpr auto kBeat = kSecond;
constexpr auto kLookAgain = std::chrono::milliseconds(100);
// A job that is alive has given a sign of life by then, so there is nothing to tell before.
constexpr auto kTellAfter = std::chrono::seconds(3);
constexpr auto kStoodStill = std::chrono::seconds(3);
constexpr size_t kMostClaimBytes = 4096;

struct Claimant {
  std::string run;      // MUSTER_RUN_ID, which includes the attempt; "" without `muster run`
  std::string host;     // for people
  std::string kernel;   // differs after every boot; shared by containers of one machine
  std::string process;  // unique to each process
  std::string mark;     // unique to each claim
};

std::string kernel_here() try {
  std::string id(36, '\0');
  OldFile("/proc/sys/kernel/random/boot_id").read(id.data(), id.size());
  return id;
} catch (const std::exception&) {
  return {};
}

std::string process_here() {
  static const std::string random = random_name();
  // The PID distinguishes a forked child, which inherits the random name.
  return random + "-" + std::to_string(::getpid());
}

Claimant claimant_here(const std::string& mark) {
  const char* run = std::getenv("MUSTER_RUN_ID");
  return {.run = run == nullptr ? "" : run,
          .host = own_host(),
          .kernel = kernel_here(),
          .process = process_here(),
          .mark = mark};
}

std::string encode_claimant(const Claimant& claimant) {
  return json_text(nlohmann::json{{"run", claimant.run},
                                  {"host", claimant.host},
                                  {"kernel", claimant.kernel},
                                  {"process", claimant.process},
                                  {"mark", claimant.mark}});
}

// Returns empty values if the text is damaged. The holder then cannot be named.
Claimant decode_claimant(const std::string& text) try {
  const auto parsed = parse_json(text);
  if (!parsed) return {};
  return {.run = parsed->at("run"),
          .host = parsed->at("host"),
          .kernel = parsed->at("kernel"),
          .process = parsed->at("process"),
          .mark = parsed->at("mark")};
} catch (const nlohmann::json::exception&) {
  return {};
}

std::string name_of(const Claimant& claimant) {
  if (claimant.host.empty()) return "another job";
  return printable((claimant.run.empty() ? "a job" : "run " + claimant.run) + " on " +
                   claimant.host);
}

// The claim file as it was seen, with a sign that its job is alive. The destructor closes the file
// and so releases the lock, if this process holds it.
struct SeenClaim {
  Descriptor file;
  Claimant holder;
  std::pair<ino_t, int64_t> sign;  // changes with every beat and every new claim
};

// Returns nothing if the file does not exist.
std::optional<SeenClaim> look(const std::string& path) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  // Opens the file anew each time, because only then does an NFS client ask the server for its
  // current state. Opens it for writing if possible, because NFS locks no other files.
  int fd = ::open(path.c_str(), O_RDWR | kFlags);
  if (fd < 0 && (errno == EACCES || errno == EROFS)) fd = ::open(path.c_str(), O_RDONLY | kFlags);
  if (fd < 0 && (errno == ENOENT || errno == ESTALE)) return std::nullopt;
  if (fd < 0) throw_errno(path, "cannot be read");
  Descriptor file(fd);
  struct stat status = {};
  std::string text(kMostClaimBytes, '\0');
  const bool examined = ::fstat(fd, &status) == 0;
  const ssize_t bytes = examined ? ::read(fd, text.data(), text.size()) : -1;
  if (bytes < 0 && errno == ESTALE) return std::nullopt;  // on NFS: removed meanwhile
  if (bytes < 0) throw_errno(path, "cannot be read");
  text.resize(static_cast<size_t>(bytes));
  const int64_t time = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  return SeenClaim{std::move(file), decode_claimant(text), {status.st_ino, time}};
}

// Locks the file. Returns false if another process holds the lock, or if `path` meanwhile names
// another file.
bool lock_file(const SeenClaim& seen, const std::string& path) {
  struct stat status = {};
  return ::flock(seen.file.get(), LOCK_EX | LOCK_NB) == 0 && ::stat(path.c_str(), &status) == 0 &&
         status.st_ino == seen.sign.first;
}

// Whether the ids are those of two attempts of one run, such as "20261117-120000-000aa" and
// "20261117-120000-000aa.1".
bool are_attempts_of_one_run(const std::string& a, const std::string& b) {
  return !a.empty() && a != b && a.substr(0, a.find('.')) == b.substr(0, b.find('.'));
}

// Whether the job that holds the claim has certainly ended. A free lock proves that only for a job
// on this machine, because not every file system passes locks on to other machines.
bool has_ended(const SeenClaim& seen, const Claimant& us, const std::string& path) {
  if (seen.holder.process == us.process) return true;
  if (are_attempts_of_one_run(seen.holder.run, us.run)) return true;
  return !us.kernel.empty() && seen.holder.kernel == us.kernel && lock_file(seen, path);
}

bool is_full(int error) {
  return error == ENOSPC || error == EDQUOT;
}

// Writes the text to the disk. If it returns false, errno says why.
bool write_claim(int fd, const std::string& text) {
  const ssize_t written = ::write(fd, text.data(), text.size());
  if (written >= 0 && static_cast<size_t>(written) < text.size()) {
    errno = ENOSPC;  // the kernel does not set errno if there is room for a part
    return false;
  }
  return written >= 0 && ::fsync(fd) == 0;
}

std::runtime_error in_use(const std::string& folder, const Claimant& holder) {
  return std::runtime_error(
      folder + ": is in use by " + name_of(holder) +
      "\n  hint: only one job at a time can save into a directory; wait until that job ends, end "
      "it, or give this job a directory of its own");
}

}  // namespace

FolderClaim::FolderClaim(const std::string& folder, const std::string& mark,
                         std::chrono::milliseconds lost_after,
                         const std::function<void(const std::string&)>& tell)
    : folder_(folder), path_(folder + "/" + kClaimFile), mark_(mark) {
  await_turn(lost_after, tell);
  heart_ = std::thread([this] { beat(); });
}

FolderClaim::~FolderClaim() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ended_.notify_all();
  heart_.join();
  try {
    if (const auto seen = look(path_); seen && is_ours(seen->sign.first)) ::unlink(path_.c_str());
  } catch (const std::exception&) {  // closing `file_` releases the lock all the same
  }
}

void FolderClaim::await_turn(std::chrono::milliseconds lost_after,
                             const std::function<void(const std::string&)>& tell) {
  using Clock = std::chrono::steady_clock;
  const Claimant us = claimant_here(mark_);
  auto begin = Clock::now();
  auto looked = begin;
  std::optional<std::pair<ino_t, int64_t>> first_sign;
  bool told = false;
  for (;; std::this_thread::sleep_for(kLookAgain)) {
    const auto seen = look(path_);
    // If the file server has paused, no job could give a sign of life meanwhile, so start over.
    if (Clock::now() - std::exchange(looked, Clock::now()) > kStoodStill) begin = looked;
    if (!seen && place(encode_claimant(us), false)) return;
    if (!seen) continue;
    if (first_sign && *first_sign != seen->sign) throw in_use(folder_, seen->holder);
    first_sign = seen->sign;
    const auto waited = Clock::now() - begin;
    if (has_ended(*seen, us, path_) || waited > lost_after) {
      (void)place(encode_claimant(us), true);
      return;
    }
    if (told || waited < kTellAfter) continue;
    told = true;
    tell(folder_ + ": was last used by " + name_of(seen->holder) +
         ", which did not release it; waiting up to " + std::to_string(lost_after / kSecond) +
         " s for a sign of life");
  }
}

// Returns false if another job was faster.
bool FolderClaim::place(const std::string& text, bool over_another) {
  const std::string fresh = path_ + ".tmp-" + mark_;
  file_ = Descriptor(open_new(fresh));
  (void)::flock(file_.get(), LOCK_EX | LOCK_NB);  // if this fails, only beat() shows that we live
  // Even an empty file claims the folder, and the claim allows us to remove unfinished files.
  const bool written = write_claim(file_.get(), text) || is_full(errno);
  bool placed = written && !over_another && ::link(fresh.c_str(), path_.c_str()) == 0;
  const bool exists = written && !over_another && !placed && errno == EEXIST;
  // Replaces another job's claim, or creates one on a file system without hard links. Of two
  // simultaneous claims the later one counts; see `check`.
  if (written && !placed && !exists) placed = ::rename(fresh.c_str(), path_.c_str()) == 0;
  const int error = errno;
  ::unlink(fresh.c_str());
  errno = error;
  if (!placed && !exists) throw_errno(path_, "cannot be written");
  return placed;
}

bool FolderClaim::is_ours(ino_t file) const {
  struct stat status = {};
  return ::fstat(file_.get(), &status) == 0 && status.st_ino == file;
}

void FolderClaim::beat() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kBeat, [this] { return ends_; })) {
    (void)::futimens(file_.get(), nullptr);
  }
}

void FolderClaim::check() const {
  std::optional<SeenClaim> seen;
  try {
    seen = look(path_);
  } catch (const std::exception&) {
    // An unreadable file says nothing about other jobs, and the save itself will report the error.
    return;
  }
  if (!seen || is_ours(seen->sign.first)) return;
  throw std::runtime_error(folder_ + ": was taken over by " + name_of(seen->holder) +
                           ", and this job must not save into it any more");
}

}  // namespace muster
