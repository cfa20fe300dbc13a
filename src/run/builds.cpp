#include "run/builds.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <sys/utsname.h>

#include "sys/hash.hpp"

namespace muster::run {
namespace {

constexpr const char* kSelf = "/proc/self/exe";
constexpr std::array<const char*, 2> kPackaged = {"x86_64", "aarch64"};
constexpr std::size_t kLongestName = 32;

// Returns the architecture of this binary. The kernel's may differ, because a kernel can run
// binaries of several architectures.
std::string own_machine() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  utsname kernel{};
  return ::uname(&kernel) == 0 ? machine_named(kernel.machine) : std::string();
#endif
}

Result<Binary> read_binary(const std::string& path) {
  MUSTER_TRY(const std::string hash, sys::hash_file(path));
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(path, failed);
  if (!failed) return Binary{.hash = hash, .bytes = bytes};
  return unexpected(Error{.what = failed.message(), .where = {.file = path}});
}

Error no_build(const Build& wanted, const std::string& host) {
  return {
      .what = fmt::format("the host's architecture is {}, and no muster for {} is installed on "
                          "this machine",
                          wanted.machine, wanted.machine),
      .where = {.host = host},
      .hint = fmt::format("install muster from a package, which has both architectures, or copy "
                          "a muster that was built for {} to {}",
                          wanted.machine, wanted.path),
      .cause = std::make_shared<const Error>(wanted.binary.error())};
}

Error unknown_machine(const std::string& machine, const std::string& host) {
  return {
      .what = fmt::format("there is no muster for the host's architecture ({})", machine),
      .where = {.host = host},
      .hint = "muster's packages are for x86_64 and aarch64; leave the host out with --exclude"};
}

}  // namespace

std::string machine_named(std::string_view word) {
  if (word == "amd64") return "x86_64";
  if (word == "arm64") return "aarch64";
  const bool is_name =
      word.size() <= kLongestName && std::all_of(word.begin(), word.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
      });
  return is_name ? std::string(word) : std::string();
}

std::string installed_build(const std::string& bin, const std::string& machine) {
  return (std::filesystem::path(bin) / "../libexec/muster" / ("muster-" + machine))
      .lexically_normal()
      .string();
}

Builds find_builds() {
  Builds builds{{.machine = own_machine(), .path = kSelf, .binary = read_binary(kSelf)}};
  std::error_code failed;
  const auto self = std::filesystem::read_symlink(kSelf, failed);
  if (failed) return builds;
  for (const char* machine : kPackaged) {
    if (machine == builds.front().machine) continue;
    const std::string path = installed_build(self.parent_path(), machine);
    builds.push_back({.machine = machine, .path = path, .binary = read_binary(path)});
  }
  return builds;
}

std::string folder_of(const Builds& builds) {
  std::vector<std::string> hashes;
  for (const Build& build : builds) {
    if (build.binary) hashes.push_back(build.binary->hash);
  }
  if (hashes.size() == 1) return hashes.front();
  std::sort(hashes.begin(), hashes.end());
  return sys::hash_text(fmt::format("{}", fmt::join(hashes, " ")));
}

Result<const Build*> build_for(const Builds& builds, const std::string& host,
                               std::string_view machine) {
  const std::string wanted = machine_named(machine);
  for (const Build& build : builds) {
    if (build.machine != wanted && !wanted.empty()) continue;
    if (build.binary) return &build;
    return unexpected(no_build(build, host));
  }
  return unexpected(unknown_machine(wanted, host));
}

}  // namespace muster::run
