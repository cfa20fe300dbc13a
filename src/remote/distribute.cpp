#include "remote/distribute.hpp"

#include <algorithm>
#include <memory>

#include "remote/diagnose.hpp"
#include "remote/local.hpp"
#include "sys/quote.hpp"

namespace muster::remote {

std::string ask_rsync_here() {
  auto asked = sys::run({.argv = {"rsync", "--version"}});
  return asked ? std::move(asked->out) : std::string();
}

bool is_shared(const Outcome& outcome) {
  return outcome.ended && outcome.ended->signal == 0 && outcome.ended->code == kShared;
}

namespace {

bool needs_transfer(const Outcome& outcome) {
  return outcome.ended && !is_shared(outcome);
}

// Turns the outcome of a failed preparation into an Error.
Outcome prepared(Outcome outcome) {
  if (!outcome.ended || outcome.ended->ok() || is_shared(outcome)) return outcome;
  Error error{.what = "cannot create the directory on the host", .where = {.host = outcome.host}};
  if (outcome.ended->code == kHoldsHome) {
    error = {.code = ErrorCode::kUsage,
             .what = "--delete would delete the home directory on the host",
             .where = {.host = outcome.host},
             .hint = "pass --to with a directory that holds nothing else"};
  } else if (!outcome.ended->err.empty()) {
    error.cause = std::make_shared<const Error>(Error{.what = first_words(outcome.ended->err)});
  }
  return {outcome.host, unexpected(std::move(error))};
}

// Opens the connections, which rsync and tar then reuse, and creates the folder.
std::vector<Outcome> prepare(const SyncOptions& options, Transport& transport,
                             std::span<const std::string> hosts) {
  std::vector<Task> tasks;
  for (const std::string& host : hosts) {
    tasks.push_back({.host = host, .command = prepare_line(options)});
  }
  auto outcomes = transport.run(tasks, std::chrono::minutes(1));
  for (Outcome& outcome : outcomes) outcome = prepared(std::move(outcome));
  return outcomes;
}

// Hosts that share a folder with each other can interfere when they write at the same time, so
// transfers that failed are repeated one after the other.
std::vector<Result<sys::Ended>> run_commands(const std::vector<sys::Command>& commands,
                                             std::size_t fan_out,
                                             const sys::OnProgress& on_progress) {
  // rsync's code when some files were not transferred.
  constexpr int kPartly = 23;
  // rsync's code when some listed files vanished, which is not an error here.
  constexpr int kVanished = 24;
  constexpr std::string_view kSending = "sending the files to the hosts";
  std::size_t done = 0;
  if (on_progress) on_progress(kSending, done, commands.size());
  auto results =
      sys::run_all(commands, fan_out, [&](std::size_t /*index*/, const Result<sys::Ended>&) {
        if (on_progress) on_progress(kSending, ++done, commands.size());
      });
  std::vector<sys::Command> again;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i] || results[i]->code != kPartly || fan_out == 1) continue;
    again.push_back(commands[i]);
    places.push_back(i);
  }
  auto second = sys::run_all(again, 1);
  for (std::size_t i = 0; i < places.size(); ++i) results[places[i]] = std::move(second[i]);
  for (auto& result : results) {
    if (result && result->code == kVanished) result->code = 0;
  }
  return results;
}

// Sends the files to every host that is ready. Replaces the outcome of the preparation with that of
// the transfer.
void transfer(const Distribution& what, SyncOptions options, const std::string& rsync_here,
              const std::vector<std::string>& shell, std::vector<Outcome>& outcomes) {
  std::vector<sys::Command> commands;
  std::vector<Outcome*> places;
  for (Outcome& outcome : outcomes) {
    if (!needs_transfer(outcome)) continue;
    const bool by_rsync = is_rsync(rsync_here) && is_rsync(outcome.ended->out);
    options.exact = compares_exactly(rsync_here) && compares_exactly(outcome.ended->out);
    const bool is_here = outcome.host == what.this_machine;
    std::vector<std::string> words = by_rsync
                                         ? rsync_words(options, shell, is_here ? "" : outcome.host)
                                         : tar_words(options, shell, outcome.host);
    if (is_here) words = shell_words("cd && exec " + sys::quote(words));
    commands.push_back({.argv = std::move(words),
                        .env = {"LC_ALL=C"},
                        .input = options.paths,
                        .deadline = what.timeout});
    places.push_back(&outcome);
  }
  auto results = run_commands(commands, what.fan_out, what.on_progress);
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i]->ended = std::move(results[i]);
    if (places[i]->ended && !places[i]->ended->ok()) {
      places[i]->ended = unexpected(sync_failure(places[i]->host, *places[i]->ended));
    }
  }
}

Result<void> need_rsync(const std::string& rsync_here, std::vector<Outcome>& outcomes) {
  if (!is_rsync(rsync_here)) return unexpected(rsync_missing(""));
  for (Outcome& outcome : outcomes) {
    if (!needs_transfer(outcome) || is_rsync(outcome.ended->out)) continue;
    Error error = rsync_missing(outcome.host);
    error.hint += "; or use muster run --sync, which works without it";
    outcome.ended = unexpected(std::move(error));
  }
  return {};
}

std::vector<Outcome> only_shared(std::vector<Outcome> outcomes) {
  for (Outcome& outcome : outcomes) {
    if (!needs_transfer(outcome)) continue;
    outcome.ended =
        unexpected(Error{.what = "this directory is not shared with the host, and muster cannot "
                                 "copy files through Slurm",
                         .where = {.host = outcome.host},
                         .hint = "work in a directory that all hosts of the job share"});
  }
  return outcomes;
}

}  // namespace

Result<std::vector<Outcome>> distribute(const Distribution& what, Transport& transport,
                                        std::span<const std::string> hosts) {
  std::vector<Outcome> outcomes = prepare(what.options, transport, hosts);
  if (what.on_prepared) what.on_prepared();
  if (transport.shell().empty()) return only_shared(std::move(outcomes));
  if (std::none_of(outcomes.begin(), outcomes.end(), needs_transfer)) return outcomes;
  const std::string rsync_here = ask_rsync_here();
  SyncOptions options = what.options;
  if (!what.list_project) {
    MUSTER_CHECK(need_rsync(rsync_here, outcomes));
    transfer(what, options, rsync_here, transport.shell(), outcomes);
    return outcomes;
  }
  MUSTER_TRY(const Project project, what.list_project());
  if (!project.others.empty()) {
    options.paths = path_list(project.others);
    options.only_new = true;
    auto first = outcomes;
    transfer(what, options, rsync_here, transport.shell(), first);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (needs_transfer(outcomes[i]) && !first[i].ended) outcomes[i] = std::move(first[i]);
    }
  }
  options.paths = path_list(project.files);
  options.only_new = false;
  transfer(what, options, rsync_here, transport.shell(), outcomes);
  return outcomes;
}

}  // namespace muster::remote
