// Sends the same files to all hosts, by rsync or tar over connections that are already open. All
// pure: builds the command lines and interprets their output.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "sys/process.hpp"

namespace muster::remote {

struct SyncOptions {
  std::string from;       // an absolute path of a folder
  std::string to;         // absolute, or relative to the host's home folder
  bool remove = false;    // remove from `to` what `from` does not contain
  bool checksum = false;  // compare contents instead of sizes and times
  bool dry_run = false;   // change nothing, list what would change
  // Compare times to the nanosecond. Set it only if rsync on both sides can (see compares_exactly).
  bool exact = false;
  // Only these paths below `from`, each ended by a zero byte; files that are newer on the host
  // stay. Null: everything.
  std::shared_ptr<const std::string> paths = nullptr;
  bool only_new = false;  // of `paths`, send only those that do not exist on the host
  bool list = false;      // list the names of what was sent before the statistics
  // Keep what a break leaves of a file in kPartial, and complete it the next time. With `paths`,
  // files that are newer on the host do not stay.
  bool resume = false;
  bool give_up_stalled = false;  // end rsync after a minute without a byte
  // Name of a file in `from`: a host that sees it in `to` shares the folder.
  std::string shared_mark = {};
};

// The folder for the incomplete files of a folder, within it. rsync removes it when it is empty.
constexpr std::string_view kPartial = ".muster-partial";

// Returns `paths` in the form of SyncOptions::paths.
[[nodiscard]] std::shared_ptr<const std::string> path_list(std::span<const std::string> paths);

// The value for rsync's -e: words separated by blanks. rsync's quoting differs from a shell's: a
// quote inside a quoted word is doubled.
[[nodiscard]] std::string rsync_shell(std::span<const std::string> shell);

// Whether this is the output of `rsync --version`, possibly after a greeting of the login shell.
[[nodiscard]] bool is_rsync(std::string_view version_text);

// Whether the rsync with this --version output can compare times to the nanosecond. rsync before
// 3.1.3 either does not know the flag or treats some different files as equal.
[[nodiscard]] bool compares_exactly(std::string_view version_text);

// The command to run here for one host, with SyncOptions::paths as its input. An empty `host` means
// this machine, with `to` relative to the home folder. The contents of `from` end up in `to`,
// whether or not the paths end in a slash. No shell on either side interprets the paths.
[[nodiscard]] std::vector<std::string> rsync_words(const SyncOptions& options,
                                                   std::span<const std::string> shell,
                                                   const std::string& host);

// Returns the command that sends SyncOptions::paths with tar, for when the host or this machine has
// no rsync. It sends all paths every time. Files that are newer on the host stay, and a link or an
// empty folder is left out if its name is taken there. A file is replaced completely or not at all.
// newer_there and parse_stats read the output. Needs GNU tar, cp and find on the host.
[[nodiscard]] std::vector<std::string> tar_words(const SyncOptions& options,
                                                 std::span<const std::string> shell,
                                                 const std::string& host);

// prepare_line returns the command that prepares a host. The command exits with kShared if it sees
// the shared mark. Otherwise it prints the version of rsync, if installed, and creates the folder
// (not in a dry run).
constexpr int kShared = 120;
// With --delete, it exits with this code if the folder is the home folder there or contains it:
// deleting would remove all of the user's files, including ssh keys. Only the host knows its home
// folder.
constexpr int kHoldsHome = 126;
[[nodiscard]] std::string prepare_line(const SyncOptions& options);

// The final folder on the host: `to` in normal form, or an error for a place that --delete must not
// clear.
[[nodiscard]] Result<std::string> target_folder(const std::string& from, const std::string& to,
                                                bool remove);

struct Changes {
  std::uint64_t files = 0;    // regular files sent
  std::uint64_t bytes = 0;    // total size of the files, not the bytes transferred
  std::uint64_t others = 0;   // folders and links created
  std::uint64_t deleted = 0;  // of any kind

  friend bool operator==(const Changes&, const Changes&) = default;
  Changes& operator+=(const Changes& more);
};

// Reads the output of `rsync --stats --no-human-readable` or of tar_words' command. Returns nothing
// if `out` is neither.
[[nodiscard]] std::optional<Changes> parse_stats(std::string_view out);

// "3 files (1.2 MB), 1 deleted" or "the same already".
[[nodiscard]] std::string to_text(const Changes& changes);

// The files that were skipped because they are newer on the host; printable.
[[nodiscard]] std::vector<std::string> newer_there(std::string_view out);

// The lines that a dry run or SyncOptions::list prints before the statistics, one per change;
// printable.
[[nodiscard]] std::string listing(std::string_view out);

// Describes why copying "to" or "from" the host failed.
[[nodiscard]] Error sync_failure(const std::string& host, const sys::Ended& ended,
                                 std::string_view direction = "to");

// An empty `host` means this machine.
[[nodiscard]] Error rsync_missing(const std::string& host);

// The folder's name with a slash at its end, which tells rsync to copy its contents.
[[nodiscard]] std::string with_slash(std::string path);
// rsync's notation for a folder on a host. An empty `host` means this machine.
[[nodiscard]] std::string place(const std::string& host, const std::string& path);

}  // namespace muster::remote
