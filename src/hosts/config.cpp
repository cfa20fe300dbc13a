#include "hosts/config.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "hosts/config_values.hpp"
#include "hosts/nearest.hpp"
#include "hosts/yaml_map.hpp"

namespace muster::hosts {
namespace {

constexpr std::string_view kEnvironment = "environment";
constexpr std::string_view kVariableFiles = "env_file";
constexpr std::string_view kProfiles = "profiles";

Result<void> check_form(const Source& file, const YamlEntry& entry, Form form) {
  if (form != Form::kWords) MUSTER_CHECK(only_value(file, entry));
  if (entry.values.empty()) {
    return unexpected(refuse(file, entry.key, fmt::format("'{}' has no value", entry.key.text)));
  }
  for (const YamlScalar& value : entry.values) {
    if (value.text.empty() || value.text.find('\0') != std::string::npos) {
      return unexpected(refuse(file, value, "the value is empty, or not text"));
    }
    if (form == Form::kYesNo && value.text != "true" && value.text != "false") {
      return unexpected(
          refuse(file, value, fmt::format("{} is neither true nor false", excerpt(value.text))));
    }
  }
  return {};
}

// A key about hosts. This module interprets its value itself.
struct HostKey {
  std::string_view name;
  Result<void> (*read)(const Source& file, const YamlEntry& entry, Config& config);
};

template <auto Field, auto Read>
Result<void> read_into(const Source& file, const YamlEntry& entry, Config& config) {
  MUSTER_TRY(config.*Field, Read(file, entry));
  return {};
}

constexpr std::array kHostKeys = {
    HostKey{"hosts", read_into<&Config::hosts, read_hosts>},
    HostKey{"hostfile", read_into<&Config::hostfile, read_path>},
    HostKey{"user", read_into<&Config::user, read_user>},
    HostKey{"port", read_into<&Config::port, read_port>},
    HostKey{"include", read_into<&Config::include, read_selection>},
    HostKey{"exclude", read_into<&Config::exclude, read_selection>},
    HostKey{kVariableFiles, [](const Source& file, const YamlEntry& entry,
                               Config&) { return check_form(file, entry, Form::kWords); }},
};

// A key, and the keys that are ignored because of it, separated by blanks.
struct Precedence {
  std::string_view key;
  std::string_view others;
};
constexpr std::array kPrecedence = {
    Precedence{"hosts", " hostfile include exclude spares "},
    Precedence{"hostfile", " hosts include exclude spares "},
    Precedence{"ranks_per_host", " ranks "},
    Precedence{"engine", " engine_args launcher "},
};

// Whether the key is the name of the flag: "max-restarts" or "max_restarts" for "--max-restarts".
bool is_spelled_like(std::string_view key, std::string_view flag) {
  if (!flag.starts_with("--")) return false;
  flag.remove_prefix(2);
  return std::equal(key.begin(), key.end(), flag.begin(), flag.end(),
                    [](char a, char b) { return a == b || (a == '_' && b == '-'); });
}

// Builds a Config from one key after the other.
class ConfigReader {
 public:
  ConfigReader(const Source& file, std::span<const JobKey> job_keys)
      : file_(file), job_keys_(job_keys) {}

  Result<void> read(const YamlEntry& entry, const std::string& profile) {
    if (entry.key.text == kEnvironment) return add_variables(entry, profile);
    MUSTER_CHECK(read_value(entry));
    add_setting(entry, profile);
    if (config_.hosts.empty() || config_.hostfile.empty()) return {};
    return unexpected(refuse(file_, entry.key, "'hosts' and 'hostfile' cannot be used together",
                             "keep one of them"));
  }
  Config take() { return std::move(config_); }

 private:
  Result<void> read_value(const YamlEntry& entry) {
    const std::string& name = entry.key.text;
    const auto has_name = [&](const auto& key) { return key.name == name; };
    const auto* host_key = std::find_if(kHostKeys.begin(), kHostKeys.end(), has_name);
    const auto job_key = std::find_if(job_keys_.begin(), job_keys_.end(), has_name);
    const bool is_job_key = job_key != job_keys_.end();
    if (host_key == kHostKeys.end() && !is_job_key) return unexpected(unknown_key(entry.key));
    if (entry.is_map) {
      return unexpected(refuse(file_, entry.entries.empty() ? entry.key : entry.entries[0].key,
                               "KEY: VALUE is not allowed inside a value here"));
    }
    return is_job_key ? check_form(file_, entry, job_key->form)
                      : host_key->read(file_, entry, config_);
  }

  [[nodiscard]] Error unknown_key(const YamlScalar& key) const {
    std::vector<std::string_view> known;
    for (const HostKey& one : kHostKeys) known.push_back(one.name);
    known.push_back(kEnvironment);
    for (const JobKey& one : job_keys_) known.push_back(one.name);
    const auto meant = std::find_if(job_keys_.begin(), job_keys_.end(), [&](const JobKey& one) {
      return is_spelled_like(key.text, one.flag);
    });
    return refuse(file_, key, fmt::format("there is no key {}", excerpt(key.text)),
                  meant == job_keys_.end()
                      ? did_you_mean(key.text, known)
                      : fmt::format("the key for {} is '{}'", meant->flag, meant->name));
  }

  Result<void> add_variables(const YamlEntry& entry, const std::string& profile) {
    MUSTER_TRY(std::vector<Variable> variables, read_variables(file_, entry));
    for (Variable& variable : variables) {
      variable.profile = profile;
      config_.variables.push_back(std::move(variable));
    }
    return {};
  }

  void add_setting(const YamlEntry& entry, const std::string& profile) {
    Setting setting{.key = entry.key.text, .profile = profile};
    for (const YamlScalar& value : entry.values) setting.values.push_back(value.text);
    const YamlScalar& first = entry.values.front();
    setting.where = {.file = file_.name, .line = first.line, .column = first.column};
    config_.settings.push_back(std::move(setting));
  }

  const Source& file_;
  std::span<const JobKey> job_keys_;
  Config config_;
};

bool is_profile_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return is_variable_name(std::string_view(&c, 1)) || c == '-' || c == '.';
  });
}

Result<void> check_profiles(const Source& file, const YamlEntry& profiles) {
  if (!profiles.is_map) {
    return unexpected(refuse(file, profiles.key, "'profiles' names no profile",
                             "write the name of a profile in the next line, indented"));
  }
  for (const YamlEntry& profile : profiles.entries) {
    if (!is_profile_name(profile.key.text)) {
      return unexpected(refuse(file, profile.key, "this is not the name of a profile",
                               "a name consists of letters, digits, '_', '-' and '.'"));
    }
    if (!profile.is_map) {
      return unexpected(refuse(file, profile.key,
                               fmt::format("the profile '{}' has no keys", profile.key.text),
                               "indent the keys of a profile below its name"));
    }
  }
  return {};
}

const YamlEntry* find_entry(const std::vector<YamlEntry>& entries, std::string_view name) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const YamlEntry& entry) { return entry.key.text == name; });
  return found == entries.end() ? nullptr : &*found;
}

// Whether an entry of the file also counts when the profile is used. Variables of a profile are
// added to those of the file; its other keys replace those of the file.
bool holds_beside(const YamlEntry& entry, const std::vector<YamlEntry>& of_profile) {
  const std::string& key = entry.key.text;
  if (key == kEnvironment || key == kVariableFiles) return true;
  return std::none_of(of_profile.begin(), of_profile.end(), [&](const YamlEntry& one) {
    return one.key.text == key || sets_aside(one.key.text, key);
  });
}

// Returns null if no profile was requested.
Result<const YamlEntry*> find_profile(const Source& file, const std::vector<YamlEntry>& profiles,
                                      const std::string& name) {
  if (name.empty()) return nullptr;
  if (const YamlEntry* found = find_entry(profiles, name)) return found;
  std::vector<std::string_view> known;
  for (const YamlEntry& profile : profiles) known.push_back(profile.key.text);
  return unexpected(
      Error{.code = ErrorCode::kUsage,
            .what = fmt::format("there is no profile {}", excerpt(name)),
            .where = {.file = file.name},
            .hint = known.empty() ? "the file has no profiles; they are written below 'profiles:'"
                                  : did_you_mean(name, known)});
}

Result<Config> read_all(const Source& file, const std::vector<YamlEntry>& entries,
                        const YamlEntry* profile, std::span<const JobKey> job_keys) {
  ConfigReader reader(file, job_keys);
  for (const YamlEntry& entry : entries) {
    const bool holds = profile == nullptr || holds_beside(entry, profile->entries);
    if (entry.key.text != kProfiles && holds) MUSTER_CHECK(reader.read(entry, ""));
  }
  if (profile == nullptr) return reader.take();
  for (const YamlEntry& entry : profile->entries) {
    MUSTER_CHECK(reader.read(entry, profile->key.text));
  }
  return reader.take();
}

}  // namespace

const Setting* Config::find(std::string_view key) const {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& setting) { return setting.key == key; });
  return found == settings.end() ? nullptr : &*found;
}

bool sets_aside(std::string_view key, std::string_view other) {
  return std::any_of(kPrecedence.begin(), kPrecedence.end(), [&](const Precedence& one) {
    return one.key == key && one.others.find(fmt::format(" {} ", other)) != std::string_view::npos;
  });
}

Result<Config> parse_config(const Source& source, const ConfigRequest& request) {
  if (source.text.size() > kMaxConfigBytes) {
    return unexpected(source.refuse(
        0, fmt::format("the file is longer than {} bytes", kMaxConfigBytes),
        "keep long host lists in a file of their own and name it: hostfile: hosts.txt"));
  }
  MUSTER_TRY(const std::vector<YamlEntry> entries, parse_yaml_map(without_utf8_mark(source)));
  std::vector<YamlEntry> profiles;
  if (const YamlEntry* found = find_entry(entries, kProfiles)) {
    MUSTER_CHECK(check_profiles(source, *found));
    profiles = found->entries;
  }
  MUSTER_TRY(const YamlEntry* profile, find_profile(source, profiles, request.profile));
  MUSTER_TRY(Config config, read_all(source, entries, profile, request.job_keys));
  for (const YamlEntry& one : profiles) config.profiles.push_back(one.key.text);
  return config;
}

}  // namespace muster::hosts
