#include "remote/sync.hpp"

#include <array>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/size_text.hpp"
#include "remote/diagnose.hpp"
#include "sys/quote.hpp"

namespace muster::remote {
namespace {

constexpr std::chrono::seconds kStalled{60};  // rsync gives up after this long without a byte

// Unpacks into a temporary folder first, so that a broken connection leaves no half-written file in
// the project: it would look newer than ours and be kept. The files get into place as hard links,
// because with those `cp -u` shows which ones it took.
constexpr std::string_view kReceive = R"(
  LC_ALL=C; export LC_ALL
  cd -- "$1" && to=$PWD && new=$(mktemp -d "$to/.muster-sync-XXXXXX") || exit 1
  trap 'rm -rf "$new"' EXIT
  trap 'exit 1' HUP INT TERM
  cd "$new" && tar -xpf - --no-same-owner || exit 1
  find . -mindepth 1 \( -type l -o -type d -empty \) -exec sh -c '
    for name; do if [ -e "$0/$name" ] || [ -L "$0/$name" ]; then rm -rf "$name"; fi; done' "$to" {} +
  cp -dRluf . "$to" || exit 1
  find . -type f -links 1 -exec sh -c '
    for name; do [ ! "$0/$name" -nt "$name" ] || printf "%s is newer\n" "${name#./}"; done' "$to" {} +
  find . -type f -links +1 -printf '%s\n' | {
    files=0 bytes=0
    while read -r size; do files=$((files + 1)) bytes=$((bytes + size)); done
    printf 'Number of regular files transferred: %s\n' "$files"
    printf 'Total transferred file size: %s bytes\n' "$bytes"
  }
)";

// Returns the number after `name`, which must be at the start of a line or of `out`.
std::optional<std::uint64_t> statistic(std::string_view out, std::string_view name) {
  for (std::size_t at = out.find(name); at != std::string_view::npos; at = out.find(name, at + 1)) {
    if (at != 0 && out[at - 1] != '\n') continue;
    std::uint64_t value = 0;
    const std::string_view rest = out.substr(at + name.size());
    if (std::from_chars(rest.data(), rest.data() + rest.size(), value).ec == std::errc()) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string with_slash(std::string path) {
  if (path.empty() || path.back() != '/') path += '/';
  return path;
}

// rsync takes what precedes the first colon for the host, so IPv6 addresses need brackets.
std::string place(const std::string& host, const std::string& path) {
  // Without the "./", a relative path such as "a:b" would name a host.
  if (host.empty()) return path.starts_with('/') ? path : "./" + path;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + path;
}

std::shared_ptr<const std::string> path_list(std::span<const std::string> paths) {
  std::string list;
  // rsync takes a line that begins with '#' or ';' for a comment; "./" prevents that.
  for (const std::string& path : paths) list += "./" + path + '\0';
  return std::make_shared<const std::string>(std::move(list));
}

std::string rsync_shell(std::span<const std::string> shell) {
  std::string line;
  for (const std::string& word : shell) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_of(" '\"\t") == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

bool is_rsync(std::string_view version_text) {
  return version_text.find("rsync  version ") != std::string_view::npos;
}

bool compares_exactly(std::string_view version_text) {
  constexpr std::string_view kMark = "version ";
  constexpr std::array<int, 3> kFirst = {3, 1, 3};
  const std::size_t at = version_text.find(kMark);
  if (at == std::string_view::npos) return false;
  std::array<int, 3> version{};
  const char* from = version_text.data() + at + kMark.size();
  const char* const end = version_text.data() + version_text.size();
  for (int& part : version) {
    const auto [stop, bad] = std::from_chars(from, end, part);
    if (bad != std::errc()) return false;
    from = stop < end && *stop == '.' ? stop + 1 : stop;
  }
  return version >= kFirst;
}

std::vector<std::string> rsync_words(const SyncOptions& options, std::span<const std::string> shell,
                                     const std::string& host) {
  std::vector<std::string> words = {"rsync", "-a", "--protect-args", "--stats",
                                    "--no-human-readable"};
  // Without this flag, rsync misses a change within the same second.
  if (options.exact) words.emplace_back("--modify-window=-1");
  if (options.remove) words.emplace_back("--delete");
  if (options.checksum) words.emplace_back("--checksum");
  if (options.dry_run) words.insert(words.end(), {"--dry-run", "--out-format=%i %n%L"});
  if (options.list) words.emplace_back("--out-format=%n");
  if (options.resume) words.push_back(fmt::format("--partial-dir={}", kPartial));
  if (options.give_up_stalled) words.push_back(fmt::format("--timeout={}", kStalled.count()));
  if (options.paths && options.resume) {
    words.insert(words.end(), {"--files-from=-", "--from0", "--ignore-missing-args"});
  } else if (options.paths) {
    // A folder's time changes whenever a rank writes a file into it, so folder times are not sent.
    // Folders are not sent by themselves either (--no-implied-dirs): rsync would replace a rank's
    // file or link by the folder.
    words.insert(words.end(),
                 {"--files-from=-", "--from0", "--no-implied-dirs", "--omit-dir-times",
                  "--ignore-missing-args", fmt::format("--timeout={}", kStalled.count())});
    if (options.only_new) {
      words.emplace_back("--ignore-existing");
    } else {
      words.insert(words.end(), {"--update", "--info=skip"});
    }
  }
  words.insert(words.end(), {"-e", rsync_shell(shell), "--", with_slash(options.from),
                             place(host, with_slash(options.to))});
  return words;
}

std::vector<std::string> tar_words(const SyncOptions& options, std::span<const std::string> shell,
                                   const std::string& host) {
  // The posix format keeps fractions of a second in file times. --hard-dereference sends a second
  // hard link to a file as a file of its own.
  const std::vector<std::string> pack = {
      "tar", "-C", options.from,        "--format=posix", "--null", "-T", "-", "--no-recursion",
      "-cf", "-",  "--hard-dereference"};
  std::vector<std::string> there(shell.begin(), shell.end());
  there.insert(
      there.end(),
      {"--", host, fmt::format("sh -c {} sh {}", sys::quote(kReceive), sys::quote(options.to))});
  return {"sh", "-c", fmt::format("{} | {}", sys::quote(pack), sys::quote(there))};
}

std::string prepare_line(const SyncOptions& options) {
  std::string script;
  if (!options.shared_mark.empty()) {
    script += fmt::format("[ ! -e \"$1/$2\" ] || exit {}; ", kShared);
  }
  script += "rsync --version 2>/dev/null | head -n 1";
  if (!options.dry_run) script += "; mkdir -p -- \"$1\" || exit 1";
  if (options.remove) {
    script += fmt::format(
        "; home=$(cd && pwd -P); if to=$(cd -- \"$1\" 2>/dev/null && pwd -P); then "
        "case \"$home/\" in \"${{to%/}}/\"*) exit {};; esac; fi",
        kHoldsHome);
  }
  return fmt::format("sh -c {} sh {} {}", sys::quote(script), sys::quote(options.to),
                     sys::quote(options.shared_mark));
}

Result<std::string> target_folder(const std::string& from, const std::string& to, bool remove) {
  std::string path = to.empty() ? from : to;
  if (path == "~" || path.rfind("~/", 0) == 0) path = "." + path.substr(1);
  path = std::filesystem::path(path).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (remove && (path == "/" || path == "." || path.rfind("..", 0) == 0)) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = fmt::format("--delete would delete everything in '{}' on every host",
                                  to.empty() ? from : to),
              .hint = "pass --to with a directory that holds nothing else"});
  }
  return path;
}

std::optional<Changes> parse_stats(std::string_view out) {
  const auto files = statistic(out, "Number of regular files transferred: ");
  const auto bytes = statistic(out, "Total transferred file size: ");
  if (!files || !bytes) return std::nullopt;
  Changes changes{.files = *files, .bytes = *bytes};
  // Created regular files are already counted in `files`, so subtract them. rsync prints "(reg: 1,
  // dir: 2)" after the number of created files.
  constexpr std::string_view kCreated = "Number of created files: ";
  changes.others = statistic(out, kCreated).value_or(0);
  std::string_view kinds = out.substr(std::min(out.size(), out.find(kCreated)));
  kinds = kinds.substr(0, kinds.find('\n'));
  if (const std::size_t at = kinds.find("reg: "); at != std::string_view::npos) {
    changes.others -= std::min(changes.others, statistic(kinds.substr(at), "reg: ").value_or(0));
  }
  changes.deleted = statistic(out, "Number of deleted files: ").value_or(0);
  return changes;
}

Changes& Changes::operator+=(const Changes& more) {
  files += more.files;
  bytes += more.bytes;
  others += more.others;
  deleted += more.deleted;
  return *this;
}

std::string to_text(const Changes& changes) {
  if (changes == Changes{}) return "the same already";
  std::string text = fmt::format("{} file{} ({})", changes.files, changes.files == 1 ? "" : "s",
                                 file_size_text(changes.bytes));
  if (changes.others == 1) text += ", 1 directory or link";
  if (changes.others > 1) text += fmt::format(", {} directories or links", changes.others);
  if (changes.deleted > 0) text += fmt::format(", {} deleted", changes.deleted);
  return text;
}

std::vector<std::string> newer_there(std::string_view out) {
  constexpr std::string_view kSaid = " is newer";
  std::vector<std::string> names;
  while (!out.empty()) {
    const std::size_t end = std::min(out.find('\n'), out.size());
    const std::string_view line = out.substr(0, end);
    if (line.ends_with(kSaid))
      names.push_back(printable(line.substr(0, line.size() - kSaid.size())));
    out.remove_prefix(std::min(end + 1, out.size()));
  }
  return names;
}

std::string listing(std::string_view out) {
  const std::size_t end = out.find("\nNumber of files: ");
  return end == std::string_view::npos ? std::string() : printable_lines(out.substr(0, end));
}

Error sync_failure(const std::string& host, const sys::Ended& ended, std::string_view direction) {
  if (ended.timed_out) {
    return {.code = ErrorCode::kTimeout,
            .what = "the copy did not finish within the time limit",
            .where = {.host = host}};
  }
  if (ended.code == kSshFailed) return unreachable(host, ended.err);
  Error error{
      .what = fmt::format("cannot copy the files {} the host: {}", direction, sys::to_text(ended)),
      .where = {.host = host}};
  error.cause = std::make_shared<const Error>(Error{.what = first_words(ended.err)});
  return error;
}

Error rsync_missing(const std::string& host) {
  return {.code = ErrorCode::kEngineMissing,
          .what = fmt::format("rsync is not installed on {}",
                              host.empty() ? "this machine" : "the host"),
          .where = {.host = host},
          .hint = fmt::format("install it{}, for example: apt-get install rsync",
                              host.empty() ? "" : " on the host")};
}

}  // namespace muster::remote
