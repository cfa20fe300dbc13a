#include "run/ending.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/json_fields.hpp"
#include "sys/file.hpp"

namespace muster::run {
namespace {

constexpr const char* kEndingFile = "/ending.json";

}  // namespace

struct EndingFile {
  int schema = 1;
  Ending ending;
};

template <class V>
void fields(V& v, EndingFile& file) {
  Ending& e = file.ending;
  v("schema", file.schema), v("code", e.code), v("rank", e.rank), v("host", e.host);
  v("what", e.text), v("stopped", e.stopped), v("ended", e.ended_s);
}

Ending ending_of(const Verdict& verdict) {
  const bool of_rank = !verdict.failed_host.empty();
  return {.code = verdict.code,
          .rank = of_rank ? verdict.first_failed_rank : -1,
          .host = verdict.failed_host,
          .text = verdict.text};
}

std::string whose_code(const Ending& ending) {
  if (ending.code == 0 || ending.whose_is_unknown) return {};
  if (ending.rank < 0) return fmt::format("exit code {} is muster's own", ending.code);
  return fmt::format("exit code {} is that of rank {} on {}", ending.code, ending.rank,
                     ending.host);
}

std::vector<std::string> whose_code_lines(const Ending& ending) {
  constexpr std::size_t kMostLines = 2;
  const std::string whose = whose_code(ending);
  return whose.empty() ? std::vector<std::string>() : muster_lines(whose, kMostLines);
}

std::string began_json(const std::string& run_id) {
  const nlohmann::ordered_json value = {{"schema", 1}, {"run", run_id}, {"state", "running"}};
  return json_text(value) + "\n";
}

std::string to_json(const Ending& ending, const std::string& run_id) {
  nlohmann::ordered_json value = {
      {"schema", 1}, {"run", run_id}, {"state", "ended"}, {"code", ending.code}};
  if (ending.code != 0) value["code_of"] = ending.rank < 0 ? "muster" : "rank";
  if (ending.rank >= 0) {
    value["rank"] = ending.rank;
    value["host"] = ending.host;
  }
  value["what"] = ending.text;
  return json_text(value) + "\n";
}

Result<void> keep_ending(const std::string& folder, const Ending& ending) {
  return sys::write_file(folder + kEndingFile,
                         sorted_json_of_fields(EndingFile{.ending = ending}, 1) + "\n", 0600);
}

std::optional<Ending> kept_ending(const std::string& folder) {
  const auto text = sys::read_file(folder + kEndingFile);
  if (!text) return std::nullopt;
  auto file = parse_fields<EndingFile>(*text, "this is not the end of a run", kOwnFile);
  return file ? std::optional(std::move(file->ending)) : std::nullopt;
}

Result<Ending> recorded_ending(const std::string& folder) {
  if (auto kept = kept_ending(folder)) return *std::move(kept);
  MUSTER_TRY(const std::string text, sys::read_file(folder + "/record.json"));
  MUSTER_TRY(const Summary summary, parse_summary(text));
  return Ending{.code = summary.code,
                .rank = summary.failed_rank,
                .host = summary.failed_host,
                .text = summary.text,
                .stopped = summary.interrupted,
                .whose_is_unknown = summary.code_of.empty()};
}

}  // namespace muster::run
