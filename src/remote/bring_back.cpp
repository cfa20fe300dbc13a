#include "remote/bring_back.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include "base/printable.hpp"
#include "remote/distribute.hpp"
#include "remote/local.hpp"
#include "remote/merge.hpp"
#include "remote/sync.hpp"
#include "sys/file.hpp"
#include "sys/quote.hpp"
#include "sys/run_until_signal.hpp"

namespace muster::remote {
namespace {

namespace fs = std::filesystem;

constexpr int kNoFolder = 121;      // exit code of look_line when the folder does not exist
constexpr int kVanishedThere = 24;  // rsync's code: some listed files vanished; all others are here

std::string look_line(const std::string& folder) {
  return fmt::format(
      "sh -c {} sh {}",
      sys::quote(fmt::format("[ -d \"$1\" ] || exit {}; rsync --version 2>/dev/null | head -n 1",
                             kNoFolder)),
      sys::quote(folder));
}

// Returns the target folder with its symbolic links resolved. Creates it if it is missing, except
// in a dry run.
Result<fs::path> make_target(const BringBack& what) {
  std::error_code code;
  if (!what.dry_run) fs::create_directories(what.to, code);
  const fs::path to = code ? fs::path() : fs::weakly_canonical(what.to, code);
  if (!code) return to;
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = "cannot create the directory: " + code.message(),
                          .where = {.file = what.to}});
}

// Creates a folder inside the target. Fails if a symbolic link, which could lead elsewhere, has
// that name.
Result<void> make_inside(const fs::path& folder) {
  std::error_code code;
  const fs::file_status there = fs::symlink_status(folder, code);
  if (fs::exists(there) && !fs::is_directory(there)) {
    return unexpected(Error{.what = "this is not a directory, so muster does not write to it",
                            .where = {.file = printable(folder.string())},
                            .hint = "move it away, or choose another directory"});
  }
  fs::create_directory(folder, code);
  if (!code) return {};
  return unexpected(Error{.what = "cannot create the directory: " + code.message(),
                          .where = {.file = printable(folder.string())}});
}

// The host's name becomes the name of its folder here, so it must be a safe file name.
bool is_file_name(const std::string& host) {
  return !host.empty() && host.find('/') == std::string::npos && host != "." && host != ".." &&
         host != kStaging;
}

// The folder that holds incoming copies until they are complete. Removed on destruction.
class Staging {
 public:
  // Also removes copies that an earlier muster left behind when it was killed.
  static Result<Staging> make(const fs::path& to) {
    Staging staging(to / kStaging);
    staging.lock_ = sys::Fd(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Some network file systems cannot lock a folder. Copying without a lock is acceptable there.
    if (::flock(staging.lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      return unexpected(Error{.what = "another muster sync --back is writing to this directory",
                              .where = {.file = printable(to.string())},
                              .hint = "wait for its end, or choose another directory"});
    }
    MUSTER_CHECK(make_inside(staging.folder_));
    staging.is_ours_ = true;
    std::error_code code;
    fs::remove_all(staging.folder_, code);
    MUSTER_CHECK(make_inside(staging.folder_));
    return staging;
  }
  Staging(Staging&& other) noexcept
      : folder_(std::move(other.folder_)),
        lock_(std::move(other.lock_)),
        is_ours_(std::exchange(other.is_ours_, false)) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  Staging& operator=(Staging&&) = delete;
  ~Staging() {
    std::error_code ignored;
    if (is_ours_) fs::remove_all(folder_, ignored);
  }

  [[nodiscard]] const fs::path& folder() const { return folder_; }

 private:
  explicit Staging(fs::path folder) : folder_(std::move(folder)) {}

  fs::path folder_;
  sys::Fd lock_;
  bool is_ours_ = false;
};

class Bringing {
 public:
  Bringing(const BringBack& what, std::string rsync_here, const std::vector<std::string>& shell,
           int& signal)
      : what_(what), rsync_here_(std::move(rsync_here)), shell_(shell), signal_(signal) {}

  Result<void> run(std::vector<Outcome>& outcomes) {
    if (what_.dry_run) return fetch(to_, outcomes);
    MUSTER_TRY(const Staging staging, Staging::make(to_));
    MUSTER_CHECK(fetch(staging.folder(), outcomes));
    if (what_.per_host) return put_apart(staging.folder(), outcomes);
    std::vector<Received> received;
    for (const Outcome& outcome : outcomes) {
      if (!outcome.ended || !outcome.ended->ok()) continue;
      received.push_back({outcome.host, (staging.folder() / outcome.host).string()});
    }
    return merge(received, what_.to);
  }

 private:
  // If the files of one host cannot be moved into its folder, the other hosts are not affected.
  Result<void> put_apart(const fs::path& staged, std::vector<Outcome>& outcomes) const {
    for (Outcome& outcome : outcomes) {
      if (!outcome.ended || !outcome.ended->ok()) continue;
      const Received received{outcome.host, (staged / outcome.host).string()};
      auto put = merge({&received, 1}, (to_ / outcome.host).string());
      if (put) continue;
      put.error().what = put.error().where.file + ": " + put.error().what;
      outcome.ended = unexpected(std::move(put).error());
    }
    return {};
  }

  // Replaces the outcome of each host with how rsync ended for it.
  Result<void> fetch(const fs::path& base, std::vector<Outcome>& outcomes) {
    const bool apart = what_.per_host || !what_.dry_run;
    std::vector<sys::Command> commands;
    std::vector<Outcome*> places;
    for (Outcome& outcome : outcomes) {
      if (!outcome.ended || has_nothing(outcome)) continue;
      if (!is_file_name(outcome.host)) {
        outcome.ended = unexpected(Error{.code = ErrorCode::kUsage,
                                         .what = "its name cannot be the name of a directory",
                                         .where = {.host = outcome.host}});
        continue;
      }
      const fs::path into = apart ? base / outcome.host : base;
      if (!what_.dry_run) MUSTER_CHECK(make_inside(into));
      if (what_.per_host && !what_.dry_run) MUSTER_CHECK(make_inside(to_ / outcome.host));
      commands.push_back(command(outcome, into.string()));
      places.push_back(&outcome);
    }
    run_all(commands, places);
    if (signal_ == 0) return {};
    return unexpected(
        Error{.what = "interrupted; nothing was changed", .where = {.file = what_.to}});
  }

  sys::Command command(const Outcome& outcome, const std::string& into) const {
    const std::string host = outcome.host == what_.this_machine ? "" : outcome.host;
    const bool exact = compares_exactly(rsync_here_) && compares_exactly(outcome.ended->out);
    return {.argv = back_words(what_, shell_, host, into, exact),
            .env = {"LC_ALL=C"},
            .deadline = what_.timeout};
  }

  void run_all(const std::vector<sys::Command>& commands, const std::vector<Outcome*>& places) {
    constexpr std::string_view kFetching = "copying the files from the hosts";
    std::size_t done = 0;
    const auto tell = [&] {
      if (what_.on_progress) what_.on_progress(kFetching, done, commands.size());
    };
    tell();
    const auto on_end = [&](std::size_t, const auto&) {
      ++done;
      tell();
    };
    auto results = sys::run_until_signal(commands, what_.fan_out, signal_, on_end);
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[i]->ended = std::move(results[i]);
      if (!places[i]->ended) continue;
      if (places[i]->ended->code == kVanishedThere) places[i]->ended->code = 0;
      if (places[i]->ended->ok()) continue;
      places[i]->ended = unexpected(sync_failure(places[i]->host, *places[i]->ended, "from"));
    }
  }

  const BringBack& what_;
  fs::path to_ = what_.to;
  std::string rsync_here_;
  const std::vector<std::string>& shell_;
  int& signal_;
};

void need_rsync_there(std::vector<Outcome>& outcomes) {
  for (Outcome& outcome : outcomes) {
    if (!outcome.ended || has_nothing(outcome) || is_rsync(outcome.ended->out)) continue;
    outcome.ended = unexpected(rsync_missing(outcome.host));
  }
}

// Settles the outcome of this machine, if it is one of the hosts and its folder is the target
// itself or contains the target.
void settle_this_machine(const BringBack& what, const fs::path& to,
                         std::vector<Outcome>& outcomes) {
  std::error_code code;
  const fs::path own = fs::weakly_canonical(what.from, code);
  const auto [end, rest] = std::mismatch(own.begin(), own.end(), to.begin(), to.end());
  if (code || end != own.end()) return;
  for (Outcome& outcome : outcomes) {
    if (outcome.host != what.this_machine || !outcome.ended) continue;
    if (rest == to.end() && !what.per_host) {
      outcome.ended->code = kNoFolder;  // nothing to bring
      continue;
    }
    outcome.ended = unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = "on this machine, the target is inside the directory that would be copied",
              .where = {.host = outcome.host},
              .hint = "choose a directory outside of it"});
  }
}

}  // namespace

bool has_nothing(const Outcome& outcome) {
  return outcome.ended && outcome.ended->signal == 0 && outcome.ended->code == kNoFolder;
}

std::vector<std::string> back_words(const BringBack& what, std::span<const std::string> shell,
                                    const std::string& host, const std::string& into, bool exact) {
  // --link-dest makes a complete copy of the host's files without sending those that are here
  // already.
  std::vector<std::string> words = {
      "rsync",          "-rtE",    "--chmod=u+rwX",      "--whole-file",
      "--protect-args", "--stats", "--no-human-readable"};
  words.push_back(fmt::format("--exclude=/{}", kStaging));
  if (exact) words.emplace_back("--modify-window=-1");
  if (what.checksum) words.emplace_back("--checksum");
  if (what.dry_run) words.insert(words.end(), {"--dry-run", "--out-format=%i %n%L"});
  if (!what.dry_run) {
    const fs::path known = what.per_host ? what.to / fs::path(into).filename() : fs::path(what.to);
    words.push_back("--link-dest=" + known.string());
  }
  words.insert(words.end(), {"-e", rsync_shell(shell), "--", place(host, with_slash(what.from)),
                             with_slash(into)});
  return words;
}

Result<std::vector<Outcome>> bring_back(const BringBack& what, Transport& transport,
                                        std::span<const std::string> hosts, int& signal) {
  signal = 0;
  std::vector<Task> tasks;
  for (const std::string& host : hosts) {
    tasks.push_back({.host = host, .command = look_line(what.from)});
  }
  auto outcomes = transport.run(tasks, std::chrono::minutes(1));
  if (std::all_of(outcomes.begin(), outcomes.end(), has_nothing)) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "none of the hosts has this directory",
                            .where = {.file = what.from},
                            .hint = "name the directory on the hosts: muster sync --back DIR "
                                    "/path/on/the/hosts"});
  }
  const std::string rsync_here = ask_rsync_here();
  if (!is_rsync(rsync_here)) return unexpected(rsync_missing(""));
  need_rsync_there(outcomes);
  const auto failed = [](const Outcome& outcome) { return !outcome.ended; };
  if (std::all_of(outcomes.begin(), outcomes.end(), failed)) return outcomes;
  MUSTER_TRY(const fs::path to, make_target(what));
  settle_this_machine(what, to, outcomes);
  const std::vector<std::string> shell = transport.shell();
  BringBack settled = what;
  settled.to = to.string();
  MUSTER_CHECK(Bringing(settled, rsync_here, shell, signal).run(outcomes));
  return outcomes;
}

std::vector<std::string> left_out(std::string_view out) {
  constexpr std::string_view kSaid = "skipping non-regular file \"";
  std::vector<std::string> names;
  while (!out.empty()) {
    const std::size_t end = std::min(out.find('\n'), out.size());
    std::string_view line = out.substr(0, end);
    if (line.starts_with(kSaid) && line.ends_with('"')) {
      line.remove_prefix(kSaid.size());
      line.remove_suffix(1);
      names.push_back(printable(line));
    }
    out.remove_prefix(std::min(end + 1, out.size()));
  }
  return names;
}

}  // namespace muster::remote
