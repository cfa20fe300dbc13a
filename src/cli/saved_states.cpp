#include "cli/saved_states.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>

#include "base/json.hpp"
#include "sys/file.hpp"
#include "sys/hash.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

// The name of the file for a host's state. Host names are validated, so only the zone of an IPv6
// address can contain a character to replace. Long names are shortened: the longest host names have
// 253 bytes, and with the suffix of the temporary copy they would be too long for a file name.
std::string file_name(std::string_view host) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:";
  constexpr std::size_t kLongest = 200;
  std::string name;
  for (const char c : host) {
    const bool plain = kPlain.find(c) != std::string_view::npos && !(name.empty() && c == '.');
    name += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  if (name.size() > kLongest) name = name.substr(0, kLongest) + "%" + sys::hash_text(host);
  return name + ".json";
}

std::string path_of(const std::string& host) {
  return saved_states_folder() + "/" + file_name(host);
}

Error cannot_use(const std::string& path, std::string why) {
  return {.what = std::move(why), .where = {.file = path}};
}

Result<facts::SavedState> read_state(const std::string& path, const std::string& host) {
  if (sys::folder_writers(path) != sys::FolderWriters::kOnlyUs) {
    return unexpected(cannot_use(path, "other users can change this file"));
  }
  MUSTER_TRY(const std::string text, sys::read_file(path, JsonLimits().bytes));
  auto state = facts::parse_saved_state(text);
  if (!state) return unexpected(cannot_use(path, state.error().what));
  if (state->host == host) return state;
  return unexpected(cannot_use(path, "this is the saved state of another host"));
}

// Locks the folder and not the files, because files are replaced by renaming. Readers need no lock.
Result<sys::Fd> lock_folder(const std::string& folder, std::chrono::milliseconds patience) {
  constexpr int kPauseMs = 20;
  sys::Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return unexpected(system_error("cannot open the directory", folder));
  const auto until = std::chrono::steady_clock::now() + patience;
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return unexpected(system_error("cannot lock the directory", folder));
    }
    if (std::chrono::steady_clock::now() > until) {
      return unexpected(Error{.code = ErrorCode::kTimeout,
                              .what = "another muster process is still saving states",
                              .where = {.file = folder},
                              .hint = "try again when it has ended"});
    }
    (void)::poll(nullptr, 0, kPauseMs);
  }
  return fd;
}

Result<void> update_one(const std::string& host, const UpdateState& update) {
  const std::string path = path_of(host);
  facts::SavedState state{.host = host};
  if (sys::exists(path)) {
    auto known = read_state(path, host);
    if (!known) {
      Error error = std::move(known).error();
      error.hint = "remove the file, or correct its owner and mode; then save again";
      return unexpected(std::move(error));
    }
    state = *std::move(known);
  }
  MUSTER_CHECK(update(state));
  return sys::write_file(path, to_json(state) + "\n", 0600);
}

bool has_error(std::span<const checks::Finding> findings, const std::string& host) {
  return std::any_of(findings.begin(), findings.end(), [&host](const checks::Finding& finding) {
    const auto& hosts = finding.hosts;
    return finding.severity == checks::Severity::kError &&
           (hosts.empty() || std::find(hosts.begin(), hosts.end(), host) != hosts.end());
  });
}

}  // namespace

std::string saved_states_folder() {
  return sys::state_folder() + "/hosts";
}

bool has_saved_states() {
  std::error_code failed;
  const std::filesystem::directory_iterator files(saved_states_folder(), failed);
  return !failed && files != std::filesystem::directory_iterator();
}

std::vector<facts::SavedState> read_saved_states(const std::vector<std::string>& hosts) {
  std::vector<facts::SavedState> states;
  const std::string folder = saved_states_folder();
  if (!sys::exists(folder)) return states;
  const bool ours = sys::folder_writers(folder) == sys::FolderWriters::kOnlyUs;
  for (const std::string& host : hosts) {
    const std::string path = path_of(host);
    if (!sys::exists(path)) continue;
    auto state = ours ? read_state(path, host)
                      : unexpected(cannot_use(folder, "other users can change this directory"));
    if (state) {
      states.push_back(*std::move(state));
    } else {
      const Error& error = state.error();
      states.push_back(
          {.host = host, .problem = fmt::format("{}: {}", error.where.file, error.what)});
    }
  }
  return states;
}

SaveChoice choose_to_save(std::span<const facts::Survey> surveys, const layout::Layout& layout,
                          std::span<const checks::Finding> findings, bool force) {
  std::set<std::string_view> examined;
  for (const layout::Placement& placement : layout.placements) examined.insert(placement.host);
  SaveChoice choice;
  for (const facts::Survey& survey : surveys) {
    if (!survey.facts) continue;
    const bool wanted = force || !has_error(findings, survey.host);
    auto& list = !examined.contains(survey.host) ? choice.unexamined
                 : wanted                        ? choice.wanted
                                                 : choice.with_errors;
    list.push_back(survey.host);
  }
  return choice;
}

Result<SaveResult> update_saved_states(const std::vector<std::string>& hosts,
                                       const UpdateState& update,
                                       std::chrono::milliseconds patience) {
  const std::string folder = saved_states_folder();
  MUSTER_CHECK(sys::make_private_folder(folder));
  MUSTER_TRY(const sys::Fd lock, lock_folder(folder, patience));
  SaveResult result;
  for (const std::string& host : hosts) {
    if (auto done = update_one(host, update)) {
      result.saved.push_back(host);
    } else {
      result.failed.emplace_back(host, std::move(done).error());
    }
  }
  return result;
}

Result<void> report_not_saved(const SaveResult& result) {
  if (result.failed.empty()) return {};
  std::vector<std::string> hosts;
  for (const auto& [host, error] : result.failed) {
    sys::print_err("muster: not saved: {}: {}\n", host, to_text(error));
    hosts.push_back(host);
  }
  return unexpected(Error{.what = fmt::format("not everything was saved: {} of {} hosts failed",
                                              hosts.size(), hosts.size() + result.saved.size())});
}

}  // namespace muster::cli
