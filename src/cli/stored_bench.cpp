#include "cli/stored_bench.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "bench/compare.hpp"
#include "bench/judge.hpp"
#include "bench/page.hpp"
#include "bench/results.hpp"
#include "bench/table.hpp"
#include "lab/shape.hpp"
#include "run/folder.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

// Reads a file, or the results in the folder of a run.
Result<bench::Results> read_results(const std::string& name) {
  std::string path = name;
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) {
    auto folder = run::find_run(name);
    if (!folder) {
      return unexpected(Error{.code = ErrorCode::kUsage,
                              .what = fmt::format("{} is neither a file nor a run", name),
                              .hint = "to make a result file: muster bench all-reduce ... --json > "
                                      "a.json; to list the runs: muster runs"});
    }
    path = *folder + kResultsFile;
    if (!std::filesystem::exists(path, failed)) {
      return unexpected(
          Error{.code = ErrorCode::kUsage,
                .what = fmt::format("the run {} did not come from muster bench", name),
                .hint = "muster runs lists the runs"});
    }
  }
  MUSTER_TRY(const std::string text, sys::read_file(path));
  auto results = bench::parse_results(text);
  if (!results) {
    Error error = results.error();
    error.where.file = path;
    return unexpected(error);
  }
  return results;
}

Error wrong_use(std::string what, std::string hint) {
  return {.code = ErrorCode::kUsage, .what = std::move(what), .hint = std::move(hint)};
}

}  // namespace

Result<double> expected_rate(const BenchOptions& options) {
  if (options.expect.empty()) return 0;
  MUSTER_TRY(const std::int64_t bits, lab::parse_rate(options.expect));
  return static_cast<double>(bits) / 8;
}

Result<int> compare_two(const BenchOptions& options) {
  if (options.files.size() != 2 || options.json || !options.report.empty() || options.table) {
    return unexpected(wrong_use(
        "muster bench compare takes exactly two results and none of --json, --report and --table",
        "muster bench compare a.json b.json"));
  }
  MUSTER_TRY(const bench::Results first, read_results(options.files[0]));
  MUSTER_TRY(const bench::Results second, read_results(options.files[1]));
  sys::write_out(bench::compare_text(first, second, options.files[0], options.files[1]));
  return 0;
}

Result<int> show_one(const BenchOptions& options) {
  if (options.files.size() != 1) {
    return unexpected(wrong_use("muster bench show takes exactly one result",
                                "muster bench show a.json --report a.html"));
  }
  MUSTER_TRY(bench::Results results, read_results(options.files[0]));
  MUSTER_TRY(const double expected, expected_rate(options));
  if (expected > 0) results.verdicts = bench::judge(results, expected);
  if (options.json) {
    sys::print_out("{}\n", to_json(results));
  } else {
    sys::write_out(options.table ? bench::rank_count_table(results) : bench::table_text(results));
  }
  if (!options.report.empty()) {
    MUSTER_CHECK(sys::write_file(options.report, bench::page_html(results), 0644));
  }
  return 0;
}

}  // namespace muster::cli
