#include "cli/first_pod.hpp"

#include <fmt/format.h>

#include "cli/reach.hpp"
#include "facts/host_values.hpp"
#include "run/pause.hpp"
#include "sys/path_search.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

constexpr std::chrono::seconds kResolverTakes{5};
constexpr double kAskEvery = 0.5;  // pause between questions, in seconds

bool resolves(const std::string& name) {
  const auto addresses = facts::resolve(name, kResolverTakes);
  return addresses && !addresses->empty();
}

Error unknown(const std::string& name, std::chrono::seconds patience) {
  return {.code = ErrorCode::kUnreachable,
          .what = fmt::format("{}, the name of the job's first pod (MASTER_ADDR), does not resolve "
                              "in this pod; muster waited for {} s",
                              name, patience.count()),
          .hint =
              "see whether the first pod was started (kubectl get pods), and whether the job "
              "has a headless service with that name (kubectl get services)"};
}

}  // namespace

Result<std::optional<int>> wait_for_first_pod(const JobOptions& options,
                                              std::chrono::seconds patience) {
  MUSTER_TRY(const std::optional<hosts::Pod> pod, find_pod(options));
  // Names can be resolved only with getent.
  if (!pod || pod->count < 2 || !sys::find_program("getent")) return std::optional<int>();
  const std::string& given = options.job.master_address;
  const std::string& name = given.empty() ? pod->master_address : given;
  const auto until = std::chrono::steady_clock::now() + patience;
  for (bool told = false; !resolves(name); told = true) {
    if (std::chrono::steady_clock::now() >= until) return unexpected(unknown(name, patience));
    if (!told) {
      sys::print_err("muster: waiting for the name of the first pod, {}, to resolve\n", name);
    }
    if (const auto signal = run::pause(kAskEvery)) return signal;
  }
  return std::optional<int>();
}

}  // namespace muster::cli
