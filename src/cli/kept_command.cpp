#include "cli/kept_command.hpp"

#include <filesystem>

#include "base/json_fields.hpp"
#include "base/printable.hpp"
#include "cli/flag_words.hpp"
#include "run/folder.hpp"
#include "sys/file.hpp"
#include "sys/quote.hpp"

namespace muster::cli {
namespace {

constexpr const char* kName = "/command.json";

}  // namespace

struct KeptFile {
  int schema = 1;
  KeptCommand command;
};

template <class V>
void fields(V& v, KeptFile& f) {
  v("schema", f.schema), v("folder", f.command.folder), v("words", f.command.words);
  v("program", f.command.program), v.maybe("config", f.command.config);
}

Result<void> keep_command(const std::string& run_folder, const launch::Words& words,
                          const Program& program, const std::string& config) {
  std::error_code error;
  const KeptFile file{.command = {.folder = std::filesystem::current_path(error),
                                  .words = kept_words(words),
                                  .program = program,
                                  .config = absolute_config(config)}};
  return sys::write_file(run_folder + kName, sorted_json_of_fields(file, 1) + "\n", 0600);
}

Result<KeptCommand> read_command(const std::string& run_folder) {
  MUSTER_TRY(const std::string text, sys::read_file(run_folder + kName));
  auto file = parse_fields<KeptFile>(text, "this is not a stored command line", kOwnExactFile);
  if (file) return std::move(file->command);
  file.error().where.file = run_folder + kName;
  file.error().hint = "type the whole command line again";
  return unexpected(file.error());
}

std::string absolute_config(const std::string& path) {
  if (path.empty()) return path;
  std::error_code failed;
  return std::filesystem::absolute(path, failed).lexically_normal();
}

run::PastRun look_at_run(const std::string& base) {
  run::PastRun past = run::look_at_run(base);
  if (!past.command.empty()) return past;
  if (const auto kept = read_command(run::runs_folder() + "/" + base)) {
    past.command = printable(sys::quote(kept->program));
  }
  return past;
}

}  // namespace muster::cli
