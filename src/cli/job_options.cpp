#include "cli/job_options.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

#include "base/endpoint.hpp"
#include "base/environment.hpp"
#include "cli/python_program.hpp"
#include "engines/kind.hpp"
#include "sys/path_search.hpp"

namespace muster::cli {
namespace {

// What ranks are meant to hear of without being told.
constexpr std::array<std::string_view, 7> kForwarded = {"NCCL_", "TORCH_", "GLOO_", "UCX_",
                                                        "FI_",   "CCL_",   "OMP_"};

std::vector<std::string> forwarded_by_default() {
  std::vector<std::string> names;
  for (const auto& [name, value] : own_environment()) {
    const bool wanted =
        std::any_of(kForwarded.begin(), kForwarded.end(),
                    [&](std::string_view prefix) { return name.starts_with(prefix); });
    if (wanted) names.emplace_back(name);
  }
  return names;
}

Result<std::string> export_variable(const std::string& given) {
  const std::size_t equals = given.find('=');
  std::string name = given.substr(0, equals);
  const bool plain =
      !name.empty() &&
      name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
          std::string::npos;
  if (!plain) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("-x: '{}' is not a variable name", name),
                            .hint = "use -x NAME, or -x NAME=value"});
  }
  if (equals != std::string::npos) {
    (void)::setenv(name.c_str(), given.c_str() + equals + 1, 1);  // NOLINT(concurrency-mt-unsafe)
  } else if (std::getenv(name.c_str()) == nullptr) {              // NOLINT(concurrency-mt-unsafe)
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = fmt::format("-x {0}: the variable {0} is not set on this machine", name),
              .hint = fmt::format("to set the variable: -x {}=value; to leave a host out, as with "
                                  "srun's -x: --exclude {}",
                                  name, given)});
  }
  return name;
}

// Nothing of it need be here: then it is a script of the hosts'.
ScriptHere look_at(const std::string& name) {
  std::error_code error;
  ScriptHere here{.in_folder = std::filesystem::is_regular_file(name, error),
                  .in_path = name.find('/') == std::string::npos && sys::find_program(name)};
  std::array<char, 2> start{};
  std::ifstream(name).read(start.data(), start.size());
  here.runs_itself = start[0] == '#' && start[1] == '!' && ::access(name.c_str(), X_OK) == 0;
  return here;
}

Result<Program> program_words(const JobOptions& options, const Program& program) {
  if (options.module && options.no_python) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = "-m and --no-python contradict each other",
              .hint = "-m runs a Python module, which needs python3: leave out --no-python"});
  }
  if (program.empty() || options.no_python) return program;
  return with_interpreter(program, options.module,
                          options.module ? ScriptHere{} : look_at(program.front()));
}

// Reads the script if it is here, but not the modules that it imports.
std::string mpi_word_of(const Program& program) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
  PythonCode code = python_code(program);
  if (code.files.empty() && code.text.empty()) return "";
  for (const std::string& name : code.files) {
    std::error_code error;  // skip pipes: they can be read only once
    if (!std::filesystem::is_regular_file(name, error)) continue;
    std::ifstream file(name, std::ios::binary);
    code.text.resize(kMostBytes);
    file.read(code.text.data(), static_cast<std::streamsize>(kMostBytes));
    code.text.resize(static_cast<std::size_t>(file.gcount()));
    break;
  }
  return mpi_word(code.text, program);
}

}  // namespace

Result<layout::Job> read_job(const JobOptions& options, const Program& program) {
  layout::Job job = options.job;
  MUSTER_TRY(job.program, program_words(options, program));
  job.mpi_word = mpi_word_of(job.program);
  job.master_address = std::string(without_brackets(job.master_address));
  std::error_code error;
  job.folder = std::filesystem::current_path(error);
  if (!job.launcher.empty()) job.launcher = std::filesystem::absolute(job.launcher, error);
  job.env = forwarded_by_default();
  for (const std::string& given : options.variables) {
    MUSTER_TRY(std::string name, export_variable(given));
    job.env.push_back(std::move(name));
  }
  std::sort(job.env.begin(), job.env.end());
  job.env.erase(std::unique(job.env.begin(), job.env.end()), job.env.end());
  const auto own = own_environment();
  for (const std::string& name : job.env) {
    if (const auto found = own.find(name); found != own.end()) job.env_values.insert(*found);
  }
  return job;
}

}  // namespace muster::cli
