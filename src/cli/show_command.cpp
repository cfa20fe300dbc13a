#include <array>
#include <ctime>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/output_line.hpp"
#include "base/printable.hpp"
#include "base/size_text.hpp"
#include "cli/kept_command.hpp"
#include "cli/run_table.hpp"
#include "cli/runs_command.hpp"
#include "hosts/fold.hpp"
#include "run/folder.hpp"
#include "run/past_run.hpp"
#include "run/record.hpp"
#include "run/removal.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"
#include "sys/quote.hpp"

namespace muster::cli {
namespace {

struct ShowOptions {
  std::string run;
  bool json = false;
};

std::string local_time(double unix_s) {
  const auto seconds = static_cast<std::time_t>(unix_s);
  std::tm local{};
  (void)::localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local)};
}

void show_value(std::string_view name, const std::string& value) {
  if (!value.empty()) sys::print_out("{:<10} {}\n", name, value);
}

// The text of an attempt's record; empty if there is none.
std::string record_text(const std::string& base, int attempt) {
  const std::string folder = run::runs_folder() + "/" + run::attempt_id(base, attempt);
  return sys::read_file(folder + "/record.json").value_or("");
}

// Shows one line per attempt that has ended.
void show_attempts(const run::PastRun& past) {
  for (int i = 0; i < past.attempts; ++i) {
    const auto summary = run::parse_summary(record_text(past.id, i));
    if (!summary) continue;
    show_value(i == 0 ? "attempts" : "",
               fmt::format("{}: {}, {}, exit code {}{}{}", i + 1, local_time(summary->started_s),
                           time_text(summary->ended_s - summary->started_s), summary->code,
                           summary->text.empty() ? "" : ", ", summary->text));
  }
}

// Shows how the ranks ended. Equal ends share a line.
void show_ends(const run::Summary& summary) {
  bool is_first = true;
  for (const auto& [end, ranks] : summary.ends) {
    show_value(std::exchange(is_first, false) ? "ended" : "",
               fmt::format("{}: rank{} {}", end.empty() ? "no end reported" : end,
                           ranks.size() == 1 ? "" : "s", ranks_text(ranks)));
  }
}

void show_text(const run::PastRun& past, const std::string& folder) {
  const double now_s = sys::unix_time();
  show_value("run", past.id);
  show_value("name", past.name);
  show_value("state", state_text(past));
  show_value("why", past.why);
  if (past.started_s > 0) show_value("started", local_time(past.started_s));
  if (past.started_s > 0 && (past.ended_s || past.state == run::RunState::kRunning)) {
    show_value("duration", time_text(duration_of(past, now_s)));
  }
  show_value("command", past.command);
  if (const auto kept = read_command(folder)) {
    show_value("flags", printable(sys::quote(kept->words)));
    show_value("directory", printable(kept->folder));
  }
  show_value("engine", past.engine);
  if (!past.hosts.empty()) {
    show_value("hosts", fmt::format("{} ({})", hosts::fold(past.hosts), past.hosts.size()));
  }
  if (past.ranks > 0) show_value("ranks", std::to_string(past.ranks));
  if (past.attempts > 1) show_attempts(past);
  const auto summary = run::parse_summary(record_text(past.id, past.attempts - 1));
  if (summary) show_ends(*summary);
  show_value("files", fmt::format("{} ({})", folder, file_size_text(run::stored_bytes(past.id))));
  show_value("output", fmt::format("muster logs {}", past.id));
}

void show_json(const run::PastRun& past, const std::string& folder) {
  nlohmann::ordered_json json = json_of(past, sys::unix_time());
  json["folder"] = folder;
  json["bytes"] = run::stored_bytes(past.id);
  if (const auto kept = read_command(folder)) {
    json["directory"] = kept->folder;
    json["flags"] = kept->words;
  }
  json["records"] = nlohmann::ordered_json::array();
  for (int i = 0; i < past.attempts; ++i) {
    const auto record = parse_json(record_text(past.id, i), kOwnFile);
    if (record) json["records"].push_back(nlohmann::ordered_json(*record));
  }
  sys::print_out("{}\n", json_text(json));
}

Result<int> show_run(const ShowOptions& options) {
  MUSTER_TRY(const std::string found, run::find_run(options.run));
  const std::string base = run::parse_attempt(run::id_of(found)).base;
  const std::string folder = run::runs_folder() + "/" + base;
  const run::PastRun past = look_at_run(base);
  options.json ? show_json(past, folder) : show_text(past, folder);
  return 0;
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  auto [show, options] =
      add_verb<ShowOptions>(app, action, "show", "Show everything about one run", show_run);
  show->footer("Examples:\n  muster show\n  muster show lr3 --json");
  take_run(show, options->run);
  show->add_flag("--json", options->json, "Print one JSON object, with the record of each attempt");
}

}  // namespace muster::cli
