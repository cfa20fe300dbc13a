#include "cli/job_options.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <unistd.h>

#include "base/endpoint.hpp"
#include "base/environment.hpp"
#include "cli/config_file.hpp"
#include "cli/passed_variables.hpp"
#include "cli/python_program.hpp"
#include "engines/kind.hpp"
#include "sys/path_search.hpp"

namespace muster::cli {
namespace {

Result<hosts::Variable> typed_variable(const std::string& given) {
  const std::size_t equals = given.find('=');
  hosts::Variable variable{.name = given.substr(0, equals)};
  if (!hosts::is_variable_name(variable.name)) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("-x: '{}' is not a variable name", variable.name),
                            .hint = "use -x NAME, or -x NAME=value"});
  }
  if (equals != std::string::npos) variable.value = given.substr(equals + 1);
  return variable;
}

Error not_set(const hosts::Variable& variable) {
  const std::string& name = variable.name;
  if (!variable.where.file.empty()) {
    return {
        .code = ErrorCode::kUsage,
        .what = fmt::format("the variable {} is not set on this machine", name),
        .where = variable.where,
        .hint = fmt::format("export {} first, or set it in an env_file that git ignores", name)};
  }
  return {.code = ErrorCode::kUsage,
          .what = fmt::format("-x {0}: the variable {0} is not set on this machine", name),
          .hint = fmt::format("to set the variable: -x {0}=value; to leave a host out, as with "
                              "srun's -x: --exclude {0}",
                              name)};
}

using Variables = std::map<std::string, std::string>;

// The last variable of a name counts. A variable without a value gets its value from our
// environment.
Result<void> add_variable(const hosts::Variable& variable, const Variables& own,
                          Variables& values) {
  const auto found = own.find(variable.name);
  if (variable.value) {
    values.insert_or_assign(variable.name, *variable.value);
  } else if (found != own.end()) {
    values.insert_or_assign(variable.name, found->second);
  } else if (!values.contains(variable.name)) {
    return unexpected(not_set(variable));
  }
  return {};
}

Result<void> add_variables(const JobOptions& options, layout::Job& job) {
  std::vector<hosts::Variable> wanted;
  if (options.cluster.file) wanted = options.cluster.file->variables;
  for (const std::string& given : options.variables) {
    MUSTER_TRY(hosts::Variable variable, typed_variable(given));
    wanted.push_back(std::move(variable));
  }
  const Variables own = own_environment();
  for (const hosts::Variable& variable : wanted) {
    MUSTER_CHECK(add_variable(variable, own, job.env_values));
  }
  for (const auto& [name, value] : own) {
    if (is_always_passed(name)) job.env_values.emplace(name, value);
    if (is_for_ranks(name) && !job.env_values.contains(name)) job.env_left.push_back(name);
  }
  for (const auto& [name, value] : job.env_values) job.env.push_back(name);
  return {};
}

// Examines the program as a file on this machine. If it does not exist here, it may be a script
// that only the hosts have.
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

// Searches the script for MPI if it exists here, but not the modules that it imports.
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
  MUSTER_CHECK(add_variables(options, job));
  return job;
}

std::vector<std::string> given_variables(const layout::Job& job) {
  const Variables own = own_environment();
  std::vector<std::string> given;
  for (const auto& [name, value] : job.env_values) {
    const auto found = own.find(name);
    if (found == own.end() || found->second != value) given.push_back(name + "=" + value);
  }
  return given;
}

}  // namespace muster::cli
