#include "cli/config_file.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "cli/config_keys.hpp"
#include "cli/usage.hpp"
#include "sys/file.hpp"

namespace muster::cli {
namespace {

constexpr const char* kConfigName = "muster.yaml";
constexpr int kMostFolders = 256;

// Returns "muster.yaml", "../muster.yaml" and so on, or an empty text if there is none. Ignores
// parent directories that all users can write to, such as /tmp, because a file there does not
// belong to this project.
std::string find_file() {
  std::error_code failed;
  std::string folder;
  for (int i = 0; i < kMostFolders; ++i, folder += "../") {
    const bool is_public =
        !folder.empty() && sys::folder_writers(folder) == sys::FolderWriters::kEverybody;
    if (!is_public && sys::exists(folder + kConfigName)) return folder + kConfigName;
    const std::string here = folder.empty() ? "." : folder;
    if (std::filesystem::equivalent(here, here + "/..", failed) || failed) break;
  }
  return "";
}

// Reads a file that the user named or wrote. An unreadable one is a usage error.
Result<std::string> read_own(const std::string& path, std::size_t max_bytes, sys::Writers writers) {
  auto text = sys::read_file(path, max_bytes, writers);
  if (!text) text.error().code = ErrorCode::kUsage;
  return text;
}

// Stricter than read_own: the file may contain commands (`activate`, `on_end`), and the user did
// not name it.
Result<std::string> read_found(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  const bool ours =
      sys::folder_writers(folder.empty() ? "." : folder) == sys::FolderWriters::kOnlyUs;
  auto text = read_own(path, hosts::kMaxConfigBytes,
                       ours ? sys::Writers::kOnlyUs : sys::Writers::kOnlyUsAndNoLink);
  if (!text && !folder.empty()) {
    text.error().hint += "; to do without this file: --config /dev/null";
  }
  return text;
}

// Resolves a path in the file: relative to the file, with ~ for the home directory.
std::string beside(const std::string& file, const std::string& path) {
  if (path.starts_with("~/")) return sys::home_folder() + path.substr(1);
  return std::filesystem::path(file).parent_path() / path;
}

// Files with variables must be as trustworthy as muster.yaml, because a variable such as LD_PRELOAD
// can run code.
Result<void> add_files(const std::string& file, const hosts::Setting& setting,
                       std::vector<hosts::Variable>& variables) {
  for (const std::string& name : setting.values) {
    const std::string path = beside(file, name);
    auto text = read_own(path, hosts::kMaxVariablesBytes, sys::Writers::kOnlyUs);
    if (!text) {
      std::string& hint = text.error().hint;
      if (hint.empty()) hint = fmt::format("{}:{} names this file", file, setting.where.line);
      return unexpected(text.error());
    }
    MUSTER_TRY(const auto more, hosts::parse_variables({.text = *text, .name = path}));
    variables.insert(variables.end(), more.begin(), more.end());
  }
  return {};
}

// The last value of a name counts, so the variables of the profile come after those of the file
// itself.
Result<std::vector<hosts::Variable>> all_variables(const std::string& file,
                                                   const hosts::Config& config) {
  std::vector<hosts::Variable> variables;
  for (const bool of_profile : {false, true}) {
    for (const hosts::Setting& setting : config.settings) {
      if (setting.key != "env_file" || setting.profile.empty() == of_profile) continue;
      MUSTER_CHECK(add_files(file, setting, variables));
    }
    std::copy_if(config.variables.begin(), config.variables.end(), std::back_inserter(variables),
                 [&](const auto& one) { return one.profile.empty() != of_profile; });
  }
  return variables;
}

Result<std::shared_ptr<const ConfigFile>> parsed_file(std::string path, std::string text,
                                                      const std::string& profile) {
  auto file = std::make_shared<ConfigFile>();
  MUSTER_TRY(file->config, hosts::parse_config({.text = text, .name = path},
                                               {.job_keys = job_keys(), .profile = profile}));
  hosts::Config& config = file->config;
  if (!config.hostfile.empty()) config.hostfile = beside(path, config.hostfile);
  file->path = std::move(path);
  file->text = std::move(text);
  return file;
}

// Gives the flag the value in the file. The flag's own validators check it.
Result<void> give(CLI::Option& option, const hosts::Setting& setting, const std::string& file) {
  const auto key = std::find_if(job_keys().begin(), job_keys().end(),
                                [&](const auto& one) { return one.name == setting.key; });
  if (key->form == hosts::Form::kYesNo && setting.values.front() == "false") return {};
  try {
    for (const std::string& value : setting.values) {
      option.add_result(key->form == hosts::Form::kPath ? beside(file, value) : value);
    }
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    std::string what = printable(in_plain_words(error));
    if (const std::string start = option.get_name() + ": "; what.starts_with(start)) {
      what.replace(0, start.size(), setting.key + ": ");
    }
    return unexpected(
        Error{.code = ErrorCode::kUsage, .what = std::move(what), .where = setting.where});
  }
  option.clear();  // removes the mark that the flag was typed
  return {};
}

}  // namespace

Result<std::shared_ptr<const ConfigFile>> read_config(const ClusterOptions& options) {
  if (!options.config.empty()) {
    MUSTER_TRY(std::string text,
               read_own(options.config, hosts::kMaxConfigBytes, sys::Writers::kOnlyUs));
    return parsed_file(options.config, std::move(text), options.profile);
  }
  const std::string path = find_file();
  if (path.empty() && !options.profile.empty()) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = fmt::format("-P {}: there is no muster.yaml in this directory or above it",
                                  options.profile),
              .hint = "go to your project, or name the file: --config FILE"});
  }
  if (path.empty()) return std::make_shared<const ConfigFile>();
  MUSTER_TRY(std::string text, read_found(path));
  return parsed_file(path, std::move(text), options.profile);
}

Result<std::shared_ptr<const ConfigFile>> with_profile(const ConfigFile& file,
                                                       const std::string& profile) {
  return parsed_file(file.path, file.text, profile);
}

bool is_typed(const CLI::App& command, std::string_view flag) {
  if (flag.empty()) return false;
  const CLI::Option* option = command.get_option_no_throw(std::string(flag));
  return option != nullptr && option->count() > 0;
}

bool is_overridden(const CLI::App& command, std::string_view key) {
  const auto keys = config_keys();
  return std::any_of(keys.begin(), keys.end(), [&](const ConfigKey& one) {
    return (one.name == key || hosts::sets_aside(one.name, key)) &&
           (is_typed(command, one.flag) || is_typed(command, one.off_flag));
  });
}

Result<void> take_config(CLI::App& command, ClusterOptions& options) {
  if (!options.file) {
    MUSTER_TRY(options.file, read_config(options));
  }
  auto file = std::make_shared<ConfigFile>(*options.file);
  MUSTER_TRY(file->variables, all_variables(file->path, file->config));
  options.file = file;
  for (const hosts::JobKey& key : job_keys()) {
    const hosts::Setting* setting = file->config.find(key.name);
    CLI::Option* option = command.get_option_no_throw(std::string(key.flag));
    if (setting == nullptr || option == nullptr || is_overridden(command, key.name)) continue;
    MUSTER_CHECK(give(*option, *setting, file->path));
  }
  return {};
}

}  // namespace muster::cli
