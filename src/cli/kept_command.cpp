#include "cli/kept_command.hpp"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/flag_words.hpp"
#include "sys/file.hpp"

namespace muster::cli {
namespace {

constexpr const char* kName = "/command.json";

}  // namespace

Result<void> keep_command(const std::string& run_folder, const launch::Words& words,
                          const Program& program) {
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error);
  const nlohmann::json value = {
      {"schema", 1}, {"folder", folder}, {"words", kept_words(words)}, {"program", program}};
  return sys::write_file(run_folder + kName,
                         value.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n",
                         0600);
}

Result<KeptCommand> read_command(const std::string& run_folder) {
  MUSTER_TRY(const std::string text, sys::read_file(run_folder + kName));
  try {
    const auto value = nlohmann::json::parse(text);
    return KeptCommand{.folder = value.at("folder"),
                       .words = value.at("words").get<launch::Words>(),
                       .program = value.at("program").get<Program>()};
  } catch (const std::exception& error) {
    return unexpected(
        Error{.what = std::string("this is not a stored command line: ") + error.what(),
              .where = {.file = run_folder + kName},
              .hint = "type the whole command line again"});
  }
}

}  // namespace muster::cli
