#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "catalogue/catalogue.hpp"
#include "cli/run_explanation.hpp"
#include "cli/runs_command.hpp"
#include "explain/explanation.hpp"
#include "explain/text.hpp"
#include "run/folder.hpp"
#include "run/record.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

struct ExplainOptions {
  std::vector<std::string> what;
  bool list = false;
  bool markdown = false;
  bool json = false;
};

constexpr std::size_t kUsualWidth = 80;
constexpr std::size_t kWidest = 100;

std::size_t width_of_output() {
  const std::size_t columns = columns_of_output();
  return columns == 0 ? kUsualWidth : std::clamp(columns, kUsualWidth / 2, kWidest);
}

nlohmann::ordered_json json_of(const explain::Cause& cause) {
  nlohmann::ordered_json json;
  json["id"] = nullptr;
  if (cause.failure != nullptr) json["id"] = cause.failure->id;
  json["title"] =
      cause.failure == nullptr ? cause.text : explain::filled(cause.failure->title, cause.values);
  json["file"] = cause.place.file;
  json["line"] = cause.place.line;
  json["text"] = cause.text;
  json["found_before"] = cause.found_before;
  json["ranks"] = cause.ranks;
  json["hosts"] = cause.hosts;
  if (cause.exception) {
    const explain::Exception& exception = cause.exception->exception;
    json["exception"] = {{"type", exception.type},
                         {"message", exception.message},
                         {"file", exception.frame.file},
                         {"line", exception.frame.line},
                         {"function", exception.frame.function},
                         {"own_code", exception.is_users},
                         {"because_of", exception.first ? headline(*exception.first) : ""}};
  }
  json["fix"] = nlohmann::ordered_json::array();
  if (cause.failure != nullptr) {
    for (const std::string& step : cause.failure->fix) {
      json["fix"].push_back(explain::filled(step, cause.step_values));
    }
  }
  return json;
}

void show_json(const explain::Explanation& explanation) {
  nlohmann::ordered_json json;
  json["confidence"] = name_of(explanation.confidence);
  json["verdict"] = explanation.verdict;
  for (const auto& [name, causes] : {std::pair{"causes", &explanation.causes},
                                     std::pair{"consequences", &explanation.consequences}}) {
    json[name] = nlohmann::ordered_json::array();
    for (const explain::Cause& cause : *causes) json[name].push_back(json_of(cause));
  }
  json["unusual"] = nlohmann::ordered_json::array();
  for (const explain::Oddity& odd : explanation.oddities) {
    json["unusual"].push_back(
        {{"file", odd.place.file}, {"line", odd.place.line}, {"text", odd.text}});
  }
  sys::print_out("{}\n", json_text(json));
}

void show_failure(const catalogue::Failure& failure, bool json) {
  if (!json) return sys::write_out(explain::handbook_text(failure, width_of_output()));
  const nlohmann::ordered_json value = {{"id", failure.id},
                                        {"topic", failure.topic},
                                        {"title", failure.title},
                                        {"kind", name_of(failure.kind)},
                                        {"symptom", name_of(failure.symptom)},
                                        {"seen_in", failure.seen_in},
                                        {"patterns", failure.patterns},
                                        {"meaning", failure.meaning},
                                        {"prove", failure.prove},
                                        {"fix", failure.fix},
                                        {"sources", failure.sources}};
  sys::print_out("{}\n", json_text(value));
}

void show(const explain::Explanation& explanation, bool json) {
  if (json) return show_json(explanation);
  sys::write_out(explain::full_text(explanation, width_of_output()));
}

Result<int> explain_files(const ExplainOptions& options) {
  const explain::Matcher matcher(catalogue::failures());
  explain::Scan scan(matcher);
  for (const std::string& path : options.what) {
    MUSTER_CHECK(scan_file(scan, path, path == "-" ? "stdin" : path));
  }
  show(explain::explain(scan.finish()), options.json);
  return 0;
}

Result<int> explain_run(const std::string& name, bool json) {
  MUSTER_TRY(const std::string found, run::find_run(name));
  const std::string folder = run::latest_of(found);
  const std::string id = run::id_of(folder);
  const auto summary =
      run::parse_summary(sys::read_file(folder + "/record.json").value_or(std::string()));
  if (summary && summary->code == 0) {
    if (json) show_json({});
    if (!json) sys::print_out("{} succeeded: there is no failure to explain.\n", id);
    return 0;
  }
  if (summary && summary->interrupted) {
    sys::print_err("muster: {} was interrupted, so there may be no failure to explain\n", id);
  }
  if (!summary && run::may_be_running(folder)) {
    sys::print_err("muster: {} still runs; this is about its output so far\n", id);
  }
  MUSTER_TRY(const ExplainedRun explained,
             explain_folder(folder, summary ? std::optional(*summary) : std::nullopt,
                            Reading::kEverything));
  show(explained.explanation, json);
  return 0;
}

Result<int> show_list(const ExplainOptions& options) {
  const auto& all = catalogue::failures();
  sys::write_out(options.markdown ? explain::troubleshooting_page(all) : explain::list_text(all));
  return 0;
}

bool is_log(const std::string& word) {
  std::error_code failed;
  return word == "-" || word.find('/') != std::string::npos ||
         (std::filesystem::exists(word, failed) && !std::filesystem::is_directory(word, failed));
}

Result<int> explain_what(const ExplainOptions& options) {
  if (options.list || options.markdown) return show_list(options);
  if (options.what.empty()) return explain_run("last", options.json);
  const std::string& first = options.what.front();
  if (options.what.size() > 1 || is_log(first)) return explain_files(options);
  if (const catalogue::Failure* failure = catalogue::find(first)) {
    show_failure(*failure, options.json);
    return 0;
  }
  auto explained = explain_run(first, options.json);
  if (explained) return explained;
  Error error = std::move(explained).error();
  error.hint += error.hint.empty() ? "" : "; ";
  error.hint += "a log is named by its path, and muster explain --list shows the ids of failures";
  return unexpected(std::move(error));
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto [command, options] = add_verb<ExplainOptions>(
      app, action, "explain", "Name the cause of a failure from the logs", explain_what);
  command->footer(
      "Reads the output of a run, or logs of any launcher: mpirun, srun, torchrun, DeepSpeed, "
      "kubectl logs. Nothing is sent anywhere.\n\n"
      "Examples:\n  muster explain\n  muster explain lr3\n  muster explain slurm-4711.out\n"
      "  muster explain pod-0.log pod-1.log\n  muster explain nccl-dev-shm-full");
  command->add_option("WHAT", options->what,
                      "A run (its id, the beginning of one, or its name; default: the newest), log "
                      "files, '-' for standard input, or the id of a failure");
  command->add_flag("--list", options->list, "List the failures that muster knows, by symptom");
  command->add_flag("--markdown", options->markdown,
                    "List them as a page in Markdown, with meaning and fix");
  command->add_flag("--json", options->json, "Print one JSON object");
}

}  // namespace muster::cli
