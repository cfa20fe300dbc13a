#include "cli/run_status.hpp"

#include <filesystem>

#include "cli/command.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

constexpr mode_t kMode = 0644;

Error not_a_file(const std::string& path) {
  return {.code = ErrorCode::kUsage,
          .what = "--status needs a regular file, and this is none",
          .where = {.file = path},
          .hint = "name a file that muster may replace"};
}

Result<void> write_ending(const std::string& path, const run::Ending& ending,
                          const std::string& run_id) {
  if (path.empty()) return {};
  return sys::write_file(path, to_json(ending, run_id), kMode);
}

}  // namespace

run::Ending ending_of(const Result<run::Ending>& result) {
  if (result) return *result;
  return {.code = exit_code(result.error().code), .text = result.error().what};
}

Result<std::string> prepare_status(const std::string& path) {
  if (path.empty()) return path;
  std::error_code failed;
  // Also rejects links: a user who names /dev/stdout does not want it replaced.
  const auto found = std::filesystem::symlink_status(path, failed);
  if (exists(found) && !is_regular_file(found)) return unexpected(not_a_file(path));
  (void)std::filesystem::remove(path, failed);  // if this fails, begin_status reports why
  return std::filesystem::absolute(path, failed).string();
}

Result<void> begin_status(const std::string& path, const std::string& run_id) {
  if (path.empty()) return {};
  auto written = sys::write_file(path, run::began_json(run_id), kMode);
  if (!written) written.error().code = ErrorCode::kUsage;
  return written;
}

Result<int> conclude(const Result<run::Ending>& result, const std::string& path,
                     const std::string& run_id) {
  const run::Ending ending = ending_of(result);
  if (ending.told) return ending.code;
  const auto written = write_ending(path, ending, run_id);
  // If the run failed because this file cannot be written, do not say that twice.
  const bool is_known = !result && !path.empty() && result.error().where.file == path;
  if (!written && !is_known) sys::print_err("muster: {}\n", to_text(written.error()));
  if (!result && result.error().code == ErrorCode::kUsage) return unexpected(result.error());
  if (!result) sys::print_err("muster: {}\n", to_text(result.error()));
  for (const std::string& line : whose_code_lines(ending)) sys::print_err("{}\n", line);
  return ending.code;
}

}  // namespace muster::cli
