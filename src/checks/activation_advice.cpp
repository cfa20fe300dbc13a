#include "checks/activation_advice.hpp"

#include <fmt/format.h>

#include "sys/quote.hpp"

namespace muster::checks {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string flag(const std::string& lines) {
  return "--activate " + sys::quote(std::string_view(lines));
}

std::string conda_lines(const std::string& base, const std::string& name) {
  return fmt::format("source {}/etc/profile.d/conda.sh && conda activate {}", base, name);
}

// Returns "train" for "conda activate train; export A=1".
std::string conda_name(std::string_view lines) {
  constexpr std::string_view kWords = "conda activate ";
  const std::size_t at = lines.find(kWords);
  if (at == std::string_view::npos) return "NAME";
  lines.remove_prefix(at + kWords.size());
  const std::string_view name = lines.substr(0, lines.find_first_of(" ;&|\n"));
  return name.empty() ? "NAME" : std::string(name);
}

// Returns advice for a failure of conda; empty if the failure has another cause.
std::string about_conda(std::string_view lines, std::string_view failure) {
  if (has(failure, "Could not find conda environment") || has(failure, "EnvironmentNameNotFound") ||
      has(failure, "EnvironmentLocationNotFound")) {
    return fmt::format("create the conda environment {} on these hosts too", conda_name(lines));
  }
  if (has(failure, "conda.sh: No such file")) {
    return "use the directory where conda is installed on the hosts; 'conda info --base' prints it";
  }
  // `conda init` writes into ~/.bashrc, but only interactive shells read that part.
  if (has(failure, "conda: command not found") || has(failure, "conda init") ||
      has(failure, "not been properly configured")) {
    return fmt::format(
        "a shell started by ssh does not load conda by itself; load it first: {} (with the "
        "directory that 'conda info --base' prints)",
        flag(conda_lines("~/miniconda3", conda_name(lines))));
  }
  return {};
}

}  // namespace

std::string how_to_activate(const facts::Facts& launcher) {
  const auto& seen = launcher.environment.seen;
  if (const auto venv = seen.find("VIRTUAL_ENV"); venv != seen.end()) {
    return flag("source " + sys::quote(std::string_view(venv->second + "/bin/activate")));
  }
  if (const auto conda = seen.find("CONDA_PREFIX"); conda != seen.end()) {
    const std::string& prefix = conda->second;
    const std::size_t envs = prefix.rfind("/envs/");
    if (envs == std::string::npos) return flag(conda_lines(prefix, "base"));
    return flag(conda_lines(prefix.substr(0, envs), prefix.substr(envs + 6)));
  }
  return fmt::format("{} for a venv, or {} for conda", flag("source ~/venv/bin/activate"),
                     flag(conda_lines("~/miniconda3", "NAME")));
}

std::string activation_advice(std::string_view lines, std::string_view failure) {
  if (has(lines, "setvars.sh")) {
    if (has(failure, "already been run")) {
      return "setvars.sh refuses to run a second time; add --force: 'source "
             "/opt/intel/oneapi/setvars.sh --force'";
    }
    if (has(failure, "setvars.sh: No such file")) {
      return "install oneAPI at the same path on these hosts, or use the path of setvars.sh there";
    }
  }
  if (const std::string conda = about_conda(lines, failure); !conda.empty()) return conda;
  if (has(failure, "bin/activate: No such file")) {
    return "create the venv at the same path on these hosts (python3 -m venv), or in a directory "
           "that all hosts share";
  }
  if (has(failure, "bin/activate: Permission denied")) {
    return "put 'source' before the path: 'source ~/venv/bin/activate'";
  }
  return "make the same environment available at the same path on all hosts";
}

}  // namespace muster::checks
