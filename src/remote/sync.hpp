// The same files on all hosts, by rsync or tar over the connections that are open already. All
// pure: the words to run and the meaning of what they say.
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
  std::string from;       // an absolute path to a folder
  std::string to;         // absolute, or relative to the home folder there
  bool remove = false;    // what `from` does not hold is removed from `to`
  bool checksum = false;  // compare contents, not sizes and times
  bool dry_run = false;   // change nothing, list what would change
  bool exact = false;     // compare times to the nanosecond, if both sides can (compares_exactly)
  // Only these paths below `from`, each followed by a zero byte; files that are newer there stay.
  // Null: everything.
  std::shared_ptr<const std::string> paths = nullptr;
  bool only_new = false;         // of these paths, only those that do not exist there
  std::string shared_mark = {};  // name of a file in `from`: a host that sees it in `to` shares it
};

// The value of SyncOptions::paths.
[[nodiscard]] std::shared_ptr<const std::string> path_list(std::span<const std::string> paths);

// The value of rsync's -e: words parted by blanks. rsync reads quotes as no shell does: a quote
// inside a quoted word is doubled.
[[nodiscard]] std::string rsync_shell(std::span<const std::string> shell);

// Whether this is what `rsync --version` prints, possibly after what a login shell prints.
[[nodiscard]] bool is_rsync(std::string_view version_text);

// Whether the rsync whose --version prints this text can compare times to the nanosecond. Before
// 3.1.3 rsync treats some different files as equal, or does not know the flag.
[[nodiscard]] bool compares_exactly(std::string_view version_text);

// What to run here for one host, with SyncOptions::paths as input; an empty `host` is this machine,
// from the home folder. The content of `from` ends up in `to`, with or without a slash at the end
// of either. No shell on either side interprets the paths.
[[nodiscard]] std::vector<std::string> rsync_words(const SyncOptions& options,
                                                   std::span<const std::string> shell,
                                                   const std::string& host);

// The same for SyncOptions::paths where the host or this machine has no rsync: sends all of them,
// each time. Files that are newer there stay, as do a link or an empty folder if the name is
// already taken there. A file is replaced whole or not at all. Prints what newer_there and
// parse_stats read. Needs GNU's tar, cp and find there.
[[nodiscard]] std::vector<std::string> tar_words(const SyncOptions& options,
                                                 std::span<const std::string> shell,
                                                 const std::string& host);

// The command that prepares a host: exits with kShared if it sees the shared mark, otherwise prints
// the version of rsync, if there is one, and makes the folder (not in a dry run).
constexpr int kShared = 120;
// With --delete it ends with this when the folder is the home there or holds it: that would clear
// everything the user has, the keys included. Only the host knows where that is.
constexpr int kHoldsHome = 126;
[[nodiscard]] std::string prepare_line(const SyncOptions& options);

// Where the content ends: `to` made plain, or an error for a place that --delete must not clear.
[[nodiscard]] Result<std::string> target_folder(const std::string& from, const std::string& to,
                                                bool remove);

struct Changes {
  std::uint64_t files = 0;    // regular files sent
  std::uint64_t bytes = 0;    // their size, not what went over the wire
  std::uint64_t others = 0;   // folders and links made
  std::uint64_t deleted = 0;  // of any kind

  friend bool operator==(const Changes&, const Changes&) = default;
};

// From what `rsync --stats --no-human-readable` or tar_words print; nothing when it is not that.
[[nodiscard]] std::optional<Changes> parse_stats(std::string_view out);

// "3 files (1.2 MB), 1 deleted" or "the same already".
[[nodiscard]] std::string to_text(const Changes& changes);

// The files that are newer there and were left alone; printable.
[[nodiscard]] std::vector<std::string> newer_there(std::string_view out);

// What a dry run lists before the statistics: one line for each thing that would change;
// printable.
[[nodiscard]] std::string listing(std::string_view out);

// Why a copy "to" or "from" the host failed, in words.
[[nodiscard]] Error sync_failure(const std::string& host, const sys::Ended& ended,
                                 std::string_view direction = "to");

// An empty `host` is this machine.
[[nodiscard]] Error rsync_missing(const std::string& host);

// How rsync is told a folder: with a slash at its end, its content is meant.
[[nodiscard]] std::string with_slash(std::string path);
// And where the folder is; an empty `host` is this machine.
[[nodiscard]] std::string place(const std::string& host, const std::string& path);

}  // namespace muster::remote
