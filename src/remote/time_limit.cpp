#include "remote/time_limit.hpp"

#include <string_view>

#include <fmt/format.h>

#include "sys/quote.hpp"

namespace muster::remote {
namespace {

// A single line without backslashes, and with a blank after each `!`, because the login shell that
// reads it may be csh or fish. $1: the limit in seconds, $2: the id, $3: the line to run.
//
// look: lists the command's processes. Those found earlier stay listed until they have ended.
// still: whether any is left after $1 tenths of a second. With "KILL" as $2, kills them meanwhile.
// watch: sleeps until the limit, unless the command ends first, and then ends the processes.
// holds: whether any of them has the session's output open. ssh would wait until it closes.
constexpr std::string_view kScript =
    "found=\" \"; "
    "look() { old=$found; found=\" \"; "
    "for file in $(grep -lzxF -- \"MUSTER_EXEC=$id\" /proc/[0-9]*/environ 2>/dev/null); do "
    "file=${file#/proc/}; found=\"$found${file%/environ} \"; done; "
    "more=y; while [ -n \"$more\" ]; do more=; "
    "for folder in /proc/[0-9]*; do pid=${folder#/proc/}; "
    "case $found in *\" $pid \"*) continue;; esac; "
    "{ read -r line < \"$folder/stat\"; } 2>/dev/null || continue; "
    "set -- ${line##*) }; [ \"$1\" != Z ] || continue; "
    "case \"$old$found\" in *\" $pid \"*|*\" $2 \"*) found=\"$found$pid \"; more=y;; esac; "
    "done; done; }; "
    "still() { tries=$1; while look; [ \"$found\" != \" \" ]; do "
    "[ $tries -gt 0 ] || return 0; tries=$((tries - 1)); "
    "[ -z \"$2\" ] || kill -KILL $found 2>/dev/null; sleep 0.1; done; return 1; }; "
    "stop() { kill $nap 2>/dev/null; exit 143; }; "
    "watch() { nap=; trap stop TERM; sleep \"$limit\" & nap=$! ; wait $nap; trap \"\" TERM; "
    "look; [ \"$found\" = \" \" ] || kill -TERM $found 2>/dev/null; "
    "if still 20 && still 30 KILL; then exit 1; fi; exit 0; }; "
    "holds() { look; for pid in $found; do for fd in 1 2; do "
    "case $(readlink \"/proc/$pid/fd/$fd\" 2>/dev/null) in \"$out\"|\"$err\") return 0;; esac; "
    "done; done; return 1; }; "
    "limit=$1 id=$2; "
    "out=$(readlink \"/proc/$$/fd/1\" || echo none) err=$(readlink \"/proc/$$/fd/2\" || echo "
    "none); "
    "watch </dev/null >/dev/null 2>&1 & watcher=$! ; "
    // bash reads its start-up file again, as it did for the login shell, only if SHLVL is not set.
    "unset SHLVL; exec 3>&2 2>/dev/null; "  // this shell would print "Terminated"
    "(exec env \"MUSTER_EXEC=$id\" \"${SHELL:-/bin/sh}\" -c \"$3\" 2>&3 3>&-); code=$?; "
    "while holds; do sleep 0.2; done; "
    "kill -TERM $watcher 2>/dev/null; wait $watcher; "
    "case $? in 0) exit 221;; 1) exit 222;; esac; "
    "case $code in 221|222) printf %s \"muster-exec-$id\" >&3;; esac; exit $code";

// Like sys::quote, but also for fish, where a backslash inside quotes is special.
std::string quote_for_any_shell(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'' || c == '\\') {
      quoted += std::string("'\\") + c + "'";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

std::string limited_line(const std::string& line, std::chrono::seconds limit,
                         const std::string& id) {
  return fmt::format("sh -c {} sh {} {} {}", sys::quote(kScript), limit.count(), sys::quote(id),
                     quote_for_any_shell(line));
}

std::string own_code_mark(const std::string& id) {
  return "muster-exec-" + id;
}

Outcome read_limited(Outcome outcome, const std::string& id) {
  if (!outcome.ended || outcome.ended->signal != 0) return outcome;
  sys::Ended& ended = *outcome.ended;
  if (ended.code != kEnded && ended.code != kLeft) return outcome;
  const std::string mark = own_code_mark(id);
  ended.timed_out = !ended.err.ends_with(mark);
  if (!ended.timed_out) ended.err.resize(ended.err.size() - mark.size());
  return outcome;
}

}  // namespace muster::remote
