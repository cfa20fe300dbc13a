#include "cli/saved_states.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/json.hpp"
#include "sys/file.hpp"

namespace muster::cli {
namespace {

// Names of hosts are often addresses, and nothing keeps a name from holding a slash.
std::string file_name(std::string_view host) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:";
  std::string name;
  for (const char c : host) {
    const bool plain = kPlain.find(c) != std::string_view::npos && !(name.empty() && c == '.');
    name += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
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

}  // namespace

std::string saved_states_folder() {
  return sys::state_folder() + "/hosts";
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

Result<void> write_saved_states(const std::vector<facts::SavedState>& states) {
  MUSTER_CHECK(sys::make_private_folder(saved_states_folder()));
  for (const facts::SavedState& state : states) {
    MUSTER_CHECK(sys::write_file(path_of(state.host), to_json(state) + "\n", 0600));
  }
  return {};
}

}  // namespace muster::cli
