#include "facts/activation.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "facts/pseudo_file.hpp"
#include "facts/visible_gpus.hpp"
#include "sys/hash.hpp"
#include "sys/path_search.hpp"
#include "sys/process.hpp"
#include "sys/random.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace muster::facts {
namespace {

// Every shell sets these variables by itself.
constexpr std::array<std::string_view, 4> kShellsOwn = {"OLDPWD", "PWD", "SHLVL", "_"};
constexpr std::array<const char*, 8> kFolders = {"PATH",         "LD_LIBRARY_PATH", "PYTHONPATH",
                                                 "CONDA_PREFIX", "VIRTUAL_ENV",     "I_MPI_ROOT",
                                                 "MPI_HOME",     "OPAL_PREFIX"};
constexpr std::array<std::string_view, 28> kSettings = {
    "NCCL_",       "RCCL_",      "UCX_",       "FI_",           "GLOO_",  "CCL_",
    "OMPI_MCA_",   "PRTE_MCA_",  "PMIX_MCA_",  "I_MPI_",        "MPICH_", "TORCH_",
    "PYTORCH_",    "OMP_",       "KMP_",       "GOMP_",         "MKL_",   "OPENBLAS_",
    "DNNL_",       "ATEN_",      "CUDA_",      "CUBLAS_",       "CUDNN_", "HSA_",
    "NVIDIA_TF32", "LD_PRELOAD", "PYTHONPATH", "PYTHONHASHSEED"};
constexpr std::size_t kMostSettings = 256;
constexpr std::size_t kFailureLines = 5;
constexpr std::size_t kMaxOutBytes = std::size_t{8} << 20;

bool is_shells_own(std::string_view name) {
  return std::find(kShellsOwn.begin(), kShellsOwn.end(), name) != kShellsOwn.end();
}

// A text that the activation lines cannot print by chance.
std::string random_mark() {
  return "muster-" + sys::random_hex(16);
}

// The shell's script. It reads the activation lines from standard input, because they may hold
// secrets and all users can read the arguments of a process. What the lines print goes to standard
// error, and descriptor 9 carries the resulting environment. Everything before the lines is on one
// line, so that the shell counts their lines from 1.
std::string script(bool is_bash, const std::string& mark) {
  // Intel's setvars.sh fails if it has run before, which the environment of an image may claim.
  constexpr auto kBegin =
      "exec 9>&1 1>&2; unset SETVARS_COMPLETED; muster_lines=$(command -p cat); exec </dev/null; ";
  // The depth of BASH_SOURCE distinguishes the activation lines from those of a file that they
  // source.
  constexpr auto kTrap =
      "trap 'muster_code=$?; if [ ${#BASH_SOURCE[@]} -eq 0 ]; then "
      "echo \"line $LINENO ended with exit code $muster_code\" >&2; exit 1; fi' ERR; ";
  const std::string mark_line = fmt::format("command -p printf '%s\\0' {} >&9", mark);
  return fmt::format(
      "{}{}eval \"$muster_lines\"\n{}\n{} && command -p env -0 >&9 && {}\n", kBegin,
      is_bash ? kTrap : "",
      is_bash ? "trap - ERR" : "muster_code=$?; [ $muster_code -eq 0 ] || exit $muster_code",
      mark_line, mark_line);
}

// Whether the variable chooses GPUs. Such values may differ between hosts and job steps.
bool is_gpu_choice(std::string_view name) {
  const auto choices = gpu_variables();
  return std::find(choices.begin(), choices.end(), name) != choices.end();
}

std::string last_lines(std::string_view text) {
  text = trimmed(text);
  std::size_t start = text.size();
  for (std::size_t i = 0; i < kFailureLines && start != std::string_view::npos && start > 0; ++i) {
    start = text.rfind('\n', start - 1);
  }
  if (start != std::string_view::npos && start > 0) text.remove_prefix(start + 1);
  return printable_lines(text.substr(text.size() - std::min<std::size_t>(text.size(), 2000)));
}

std::string failure_text(const sys::Ended& ended) {
  std::string why = ended.ok() ? "the shell exited before the last line ran" : to_text(ended);
  const std::string said = last_lines(ended.err);
  return said.empty() ? why : fmt::format("{}: {}", why, said);
}

// Restores the variables that every shell sets for itself, since the activation did not set them.
void restore_shells_own(const Variables& own, Variables& environment) {
  for (const std::string_view name : kShellsOwn) {
    environment.erase(std::string(name));
    const auto before = own.find(std::string(name));
    if (before != own.end()) environment.insert(*before);
  }
}

}  // namespace

std::optional<Variables> parse_environment(std::string_view text, std::string_view mark) {
  std::string bound(mark);
  bound += '\0';
  const std::size_t first = text.find(bound);
  if (first == std::string_view::npos) return std::nullopt;
  text.remove_prefix(first + bound.size());
  const std::size_t last = text.find(bound);
  if (last == std::string_view::npos) return std::nullopt;
  Variables variables;
  for (const std::string_view entry : split(text.substr(0, last), '\0')) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

Activation activate(const std::string& lines, const Variables& own,
                    std::chrono::milliseconds deadline) {
  const auto bash = sys::find_program("bash");
  const std::string mark = random_mark();
  std::string out;
  sys::Command command{.argv = {bash.value_or("sh"), "-c", script(bash.has_value(), mark)},
                       .input = std::make_shared<const std::string>(lines),
                       .deadline = deadline};
  // Collects all of standard output, which carries the environment. Of standard error, sys::run
  // keeps only the end, because an activation may print a lot.
  command.on_output = [&out](sys::Stream stream, std::string_view chunk) {
    if (stream == sys::Stream::kOut && out.size() < kMaxOutBytes) out.append(chunk);
  };
  const auto ended = sys::run(command);
  if (!ended) return {.failure = to_text(ended.error())};
  auto environment = parse_environment(out, mark);
  if (!ended->ok() || !environment) return {.failure = failure_text(*ended)};
  restore_shells_own(own, *environment);
  return {.environment = *std::move(environment)};
}

std::map<std::string, std::string> changed_digest(const Variables& before, const Variables& after) {
  std::map<std::string, std::string> digest;
  for (const auto& [name, value] : after) {
    const auto old = before.find(name);
    if (is_shells_own(name) || (old != before.end() && old->second == value)) continue;
    digest[name] = sys::hash_text(value);
  }
  return digest;
}

std::map<std::string, std::string> seen_values(const Variables& environment) {
  std::map<std::string, std::string> seen;
  const auto take = [&](const std::string& name) {
    const auto found = environment.find(name);
    if (found != environment.end()) seen.insert(*found);
  };
  for (const char* name : kFolders) take(name);
  for (const std::string_view name : gpu_variables()) take(std::string(name));
  return seen;
}

std::map<std::string, std::string> library_settings(const Variables& environment) {
  constexpr std::size_t kLongest = 256;
  std::map<std::string, std::string> settings;
  for (const auto& [name, value] : environment) {
    const auto begins = [&name](std::string_view prefix) { return name.starts_with(prefix); };
    if (std::none_of(kSettings.begin(), kSettings.end(), begins) || is_gpu_choice(name)) continue;
    if (settings.size() >= kMostSettings) break;
    settings[name] = value.size() > kLongest ? sys::hash_text(value) : value;
  }
  return settings;
}

}  // namespace muster::facts
