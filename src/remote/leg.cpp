#include "remote/leg.hpp"

#include <fmt/format.h>

#include "remote/diagnose.hpp"
#include "sys/quote.hpp"
#include "sys/random.hpp"

namespace muster::remote {
namespace {

constexpr std::size_t kTokenBytes = 16;

std::string sender_folder(const LegSecret& secret) {
  return "/tmp/muster-from-" + secret.id;
}

// Our own options for ssh, without those that share this machine's connections, and with `settings`
// first. If an option is given twice, ssh uses the first one.
std::vector<std::string> leg_shell(std::span<const std::string> shell,
                                   const std::vector<std::string>& settings) {
  std::vector<std::string> words = {shell.front()};
  for (const std::string& setting : settings) words.insert(words.end(), {"-o", setting});
  for (std::size_t i = 1; i < shell.size(); ++i) {
    const bool is_shared =
        shell[i] == "-o" && i + 1 < shell.size() && shell[i + 1].starts_with("Control");
    if (is_shared) {
      ++i;
    } else {
      words.push_back(shell[i]);
    }
  }
  return words;
}

// A single line without backslashes, because the login shell that reads it may be csh or fish.
//
// $1: the receiver, $2: the size of the list of paths, then rsync's command line. The first ssh
// reads the token and stays as a master, whose connection rsync uses. The receiver notes by which
// variable the processes of this connection can be recognised. Everything that takes long
// runs in the background, since a shell acts on a signal only while it waits.
constexpr std::string_view kScript =
    "receiver=$1 size=$2 job= watch=; shift 2; umask 077; mkdir {folder} || exit 1; "
    "finish() {{ kill $job $watch 2>/dev/null; "
    "{through} -O exit -- \"$receiver\" 2>/dev/null; rm -rf {folder}; }}; "
    "trap finish EXIT; trap \"exit 1\" HUP INT TERM; "
    "IFS= read -r token; [ ${{#token}} -eq {digits} ] || exit 1; "
    "head -c \"$size\" > {folder}/list; exec 3<&0; "
    "{{ cat; kill $$; }} <&3 >/dev/null 2>&1 & watch=$!; "
    "{master} -- \"$receiver\" \"cat {there}/token && rm -f {there}/token && "
    "env | grep SSH_CONNECTION= >{there}/connection\" "
    "</dev/null >{folder}/seen 2>{folder}/said & job=$!; "
    "wait $job; code=$?; job=; cat {folder}/said >&2; "
    "case $code in 0) ;; 255) exit {no_login};; *) exit {other};; esac; "
    "case $(cat {folder}/seen) in *\"$token\") ;; *) exit {other};; esac; "
    "\"$@\" <{folder}/list 3<&- & job=$!; wait $job; code=$?; job=; exit $code";

}  // namespace

LegSecret make_leg_secret() {
  return {.id = sys::random_hex(8), .token = sys::random_hex(kTokenBytes)};
}

std::string receiver_folder(const LegSecret& secret) {
  return "/tmp/muster-to-" + secret.id;
}

std::string put_token_line(const LegSecret& secret) {
  const std::string folder = receiver_folder(secret);
  return fmt::format("sh -c {}",
                     sys::quote(fmt::format("umask 077; mkdir {0} && cat > {0}/token", folder)));
}

std::string clean_up_line(const LegSecret& secret, bool failed) {
  const std::string folder = receiver_folder(secret);
  const std::string remove = "rm -rf " + folder;
  if (!failed) return remove;
  // Meanwhile, rsync puts what it has of a file into the folder for incomplete ones.
  // If sshd has no socket, all connections have the same variable, and this ends nothing.
  constexpr std::string_view kEnd =
      "its=$(grep -m 1 ^SSH_CONNECTION= {}/connection 2>/dev/null); "
      "[ -z \"$its\" ] || [ \"$its\" = \"SSH_CONNECTION=$SSH_CONNECTION\" ] || "
      "for file in $(grep -lzxF -e \"$its\" /proc/[0-9]*/environ 2>/dev/null); do "
      "file=${{file#/proc/}}; kill ${{file%/environ}} 2>/dev/null && sleep 1; done; {}";
  return fmt::format("sh -c {}", sys::quote(fmt::format(kEnd, folder, remove)));
}

std::string leg_line(const SyncOptions& options, std::span<const std::string> shell,
                     const std::string& receiver, const LegSecret& secret) {
  const std::string folder = sender_folder(secret);
  const std::string socket = fmt::format("ControlPath={}/ssh", folder);
  const auto master = leg_shell(shell, {"ControlMaster=yes", socket, "ControlPersist=20"});
  // Without the master, ssh would open a new connection, perhaps to another machine.
  const auto through = leg_shell(shell, {"ControlMaster=no", socket, "ProxyCommand=false"});
  SyncOptions leg = options;
  leg.from = options.to;
  leg.remove = false;  // only this machine knows what does not belong there
  leg.resume = leg.give_up_stalled = true;
  std::vector<std::string> words = {"env", "LC_ALL=C"};
  // A relative path starts in the home folder, where the command runs.
  if (!leg.from.starts_with('/')) leg.from = "./" + leg.from;
  const auto rsync = rsync_words(leg, through, receiver);
  words.insert(words.end(), rsync.begin(), rsync.end());
  const std::string script =
      fmt::format(kScript, fmt::arg("folder", folder), fmt::arg("through", sys::quote(through)),
                  fmt::arg("master", sys::quote(master)), fmt::arg("digits", 2 * kTokenBytes),
                  fmt::arg("there", receiver_folder(secret)), fmt::arg("no_login", kNoLogin),
                  fmt::arg("other", kOtherMachine));
  return fmt::format("sh -c {} sh {} {} {}", sys::quote(script), sys::quote(receiver),
                     options.paths->size(), sys::quote(words));
}

std::string leg_input(const SyncOptions& options, const LegSecret& secret) {
  return secret.token + "\n" + *options.paths;
}

std::string leg_failure(const SessionEnd& end) {
  if (!end.ended) return "the connection to the sending host failed: " + end.ended.error().what;
  const sys::Ended& ended = *end.ended;
  if (ended.timed_out) return "the transfer between the hosts took too long";
  if (ended.signal == 0 && ended.code == kOtherMachine) {
    return "on the sending host, the name of the receiving host leads to a different machine";
  }
  const auto known = diagnose(ended.err);
  const std::string said = known ? std::string(known->what) : first_words(ended.err);
  if (ended.signal == 0 && ended.code == kNoLogin) {
    return fmt::format("{}: {}", kCannotLogIn, said);
  }
  return fmt::format("rsync between the hosts failed: {}{}{}", sys::to_text(ended),
                     said.empty() ? "" : ": ", said);
}

}  // namespace muster::remote
