#include "remote/distribute.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include "remote/diagnose.hpp"
#include "remote/file_list.hpp"
#include "remote/local.hpp"
#include "remote/spread.hpp"
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

// The transfers to hosts that send to each other, too: those among the hosts, then the ordinary
// ones, which send what is still missing, then a comparison of all copies with the files here.
class SpreadTransfer {
 public:
  SpreadTransfer(const Distribution& what, std::string rsync_here, Transport& transport,
                 std::vector<Outcome>& outcomes)
      : what_(what),
        report_(*what.spread),
        rsync_here_(std::move(rsync_here)),
        transport_(transport),
        prepared_(outcomes),
        outcomes_(outcomes) {}

  Result<void> run() {
    MUSTER_TRY(files_, list_files(what_.options.from));
    MUSTER_CHECK(spread_first());
    SyncOptions options = what_.options;
    options.resume = true;
    transfer(what_, options, rsync_here_, transport_.shell(), outcomes_);
    std::vector<std::size_t> doubtful;
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      const Outcome& outcome = outcomes_[i];
      if (!outcome.ended) continue;
      const bool is_new = note_changes(outcome);
      const auto copy = spreading_.copies.find(outcome.host);
      const bool is_verified = copy != spreading_.copies.end() && copy->second.verified;
      if (is_new || !is_verified) doubtful.push_back(i);
    }
    return repair(differing(doubtful));
  }

 private:
  Result<void> spread_first() {
    std::vector<SpreadHost> hosts;
    for (const Outcome& outcome : outcomes_) {
      if (!needs_transfer(outcome) || outcome.host == what_.this_machine) continue;
      hosts.push_back({outcome.host, outcome.ended->out});
    }
    const Spread plan{.options = what_.options,
                      .files = files_,
                      .rsync_here = rsync_here_,
                      .fan_out = what_.fan_out,
                      .timeout = what_.timeout,
                      .on_progress = what_.on_progress};
    MUSTER_TRY(spreading_, spread(plan, transport_, hosts));
    for (const Spreading::Left& left : spreading_.not_removed) {
      report_.not_removed.push_back({left.host, left.folder});
    }
    report_.signal = spreading_.signal;
    if (report_.signal != 0) {
      return unexpected(Error{.what = "interrupted", .hint = "run the command again to resume"});
    }
    std::set<std::string> named;
    for (const Spreading::Failure& failure : spreading_.failures) {
      // A host that got its files from another one after all is not worth a line.
      const auto copy = spreading_.copies.find(failure.receiver);
      const bool helped =
          copy != spreading_.copies.end() && copy->second.verified && !copy->second.from_here;
      if (helped || !named.insert(failure.receiver).second) continue;
      report_.failures.push_back({failure.receiver, failure.why});
    }
    for (const auto& [host, copy] : spreading_.copies) {
      report_.earlier[host] = copy.changes;
      if (copy.changes.files == 0) continue;
      (copy.from_here ? report_.bytes_from_here : report_.bytes_from_hosts) += copy.changes.bytes;
      if (!copy.from_here) report_.from_hosts.push_back(host);
    }
    return {};
  }

  // Notes what this machine sent to the host. Returns whether files may have been among it.
  bool note_changes(const Outcome& outcome) {
    const auto stats = parse_stats(outcome.ended->out);
    const Changes sent = stats.value_or(Changes{});
    report_.bytes_from_here += sent.bytes;
    const auto copy = spreading_.copies.find(outcome.host);
    const bool before =
        copy != spreading_.copies.end() && copy->second.from_here && copy->second.changes.files > 0;
    if (before || sent.files > 0) report_.from_here.push_back(outcome.host);
    return !stats || sent.files > 0;
  }

  // Those of the hosts whose copies differ from the files here. A host that cannot say has failed.
  std::vector<std::size_t> differing(const std::vector<std::size_t>& places) {
    std::vector<Task> tasks;
    for (const std::size_t i : places) {
      tasks.push_back({.host = outcomes_[i].host,
                       .command = digest_line(what_.options.to),
                       .input = files_.paths,
                       .on_end = [&] { tell(++compared_, compared_of_); }});
    }
    compared_ = 0;
    compared_of_ = places.size();
    tell(0, compared_of_);
    auto hashed = transport_.run(tasks, what_.timeout);
    std::vector<std::size_t> different;
    for (std::size_t k = 0; k < places.size(); ++k) {
      Outcome& outcome = outcomes_[places[k]];
      const bool ok = hashed[k].ended && hashed[k].ended->ok();
      const std::string digest = ok ? parse_digest(hashed[k].ended->out) : "";
      if (digest.empty()) {
        outcome.ended = unexpected(cannot_hash(std::move(hashed[k])));
      } else if (digest != spreading_.digest) {
        different.push_back(places[k]);
      }
    }
    return different;
  }

  static Error cannot_hash(Outcome hashed) {
    if (!hashed.ended) return std::move(hashed.ended).error();
    Error error{
        .what = "the files were copied, but the host cannot hash them to verify the copy",
        .where = {.host = hashed.host},
        .hint = "muster sync --spread needs the programs xargs, sed and sha256sum on the hosts"};
    error.cause = std::make_shared<const Error>(Error{.what = first_words(hashed.ended->err)});
    return error;
  }

  void tell(std::size_t done, std::size_t of_all) const {
    if (what_.on_progress) what_.on_progress("verifying the copies", done, of_all);
  }

  // Compares every file of these hosts, sends those that differ, and verifies the copies again.
  Result<void> repair(const std::vector<std::size_t>& places) {
    if (places.empty()) return {};
    if (changed_meanwhile()) return {};
    std::vector<Outcome> again;
    for (const std::size_t i : places) again.push_back(prepared_[i]);
    SyncOptions options = what_.options;
    options.resume = options.checksum = options.list = true;
    transfer(what_, options, rsync_here_, transport_.shell(), again);
    std::vector<std::size_t> repaired;
    for (std::size_t k = 0; k < places.size(); ++k) {
      Outcome& outcome = outcomes_[places[k]];
      if (!again[k].ended) {
        outcome = std::move(again[k]);
        continue;
      }
      note_repair(again[k]);
      repaired.push_back(places[k]);
    }
    const auto different = differing(repaired);
    if (different.empty() || changed_meanwhile()) return {};
    for (const std::size_t i : different) {
      outcomes_[i].ended = unexpected(
          Error{.what = "the copy still differs from the files here after they were sent again",
                .where = {.host = outcomes_[i].host},
                .hint = "find out what writes to the directory on the host; otherwise check its "
                        "memory and its disk"});
    }
    return {};
  }

  void note_repair(const Outcome& outcome) {
    report_.repaired.push_back({outcome.host, listing(outcome.ended->out)});
    report_.bytes_from_here += parse_stats(outcome.ended->out).value_or(Changes{}).bytes;
  }

  // If the files here have changed since they were hashed, the hosts cannot have the same.
  bool changed_meanwhile() {
    const auto now = list_files(what_.options.from);
    report_.changed_here =
        now ? changed_files(files_, *now) : std::vector<std::string>{what_.options.from};
    return !report_.changed_here.empty();
  }

  const Distribution& what_;
  SpreadReport& report_;
  std::string rsync_here_;
  Transport& transport_;
  std::vector<Outcome> prepared_;
  std::vector<Outcome>& outcomes_;
  FileList files_;
  Spreading spreading_;
  std::size_t compared_ = 0;
  std::size_t compared_of_ = 0;
};

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
    if (what.spread != nullptr) {
      MUSTER_CHECK(SpreadTransfer(what, rsync_here, transport, outcomes).run());
    } else {
      transfer(what, options, rsync_here, transport.shell(), outcomes);
    }
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
