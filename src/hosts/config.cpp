#include "hosts/config.hpp"

#include <utility>

#include <fmt/format.h>

#include "hosts/expression.hpp"
#include "hosts/name.hpp"
#include "hosts/nearest.hpp"
#include "hosts/yaml_map.hpp"

namespace muster::hosts {
namespace {

Source source_of(const Source& file, const YamlScalar& scalar) {
  return {.text = scalar.text,
          .name = file.name,
          .line = scalar.line,
          .column = scalar.column,
          .limit = file.limit};
}

Error refuse(const Source& file, const YamlScalar& at, std::string what, std::string hint = {}) {
  return source_of(file, at).refuse(0, std::move(what), std::move(hint));
}

// The error with a place that exists: inside a folded or escaped scalar only its start is known.
template <class T>
Result<T> placed(Result<T> result, const YamlScalar& scalar) {
  if (!result && !scalar.as_is) {
    result.error().where.line = scalar.line;
    result.error().where.column = scalar.column;
  }
  return result;
}

Result<const YamlScalar*> only_value(const Source& file, const YamlEntry& entry) {
  if (!entry.is_list && entry.values.size() == 1) return &entry.values.front();
  return unexpected(refuse(file, entry.key,
                           fmt::format("'{}' takes one value, not {}", entry.key.text,
                                       entry.is_list ? "a list" : "none")));
}

Result<void> check_values(const Source& file, const YamlEntry& entry) {
  if (!entry.values.empty()) return {};
  return unexpected(refuse(file, entry.key, fmt::format("'{}' has no value", entry.key.text),
                           "write a host expression: node[01-16]:4"));
}

Result<std::vector<Host>> read_hosts(const Source& file, const YamlEntry& entry) {
  MUSTER_CHECK(check_values(file, entry));
  HostCollector collected;
  for (const YamlScalar& scalar : entry.values) {
    const Source source = source_of(file, scalar);
    MUSTER_TRY(const std::vector<Item> items,
               placed(parse_items(source, 0, source.text.size()), scalar));
    if (items.empty()) return unexpected(refuse(file, scalar, "no host is named here"));
    for (const Item& item : items) MUSTER_CHECK(placed(add_to(collected, source, item), scalar));
  }
  return collected.take();
}

Result<std::optional<Selection>> read_selection(const Source& file, const YamlEntry& entry) {
  MUSTER_CHECK(check_values(file, entry));
  Selection all{.hosts = {},
                .where = {.file = file.name,
                          .line = entry.values.front().line,
                          .column = entry.values.front().column}};
  for (const YamlScalar& scalar : entry.values) {
    MUSTER_TRY(Selection one, placed(parse_selection(source_of(file, scalar)), scalar));
    if (all.hosts.size() + one.hosts.size() > file.limit) {
      return unexpected(refuse(file, scalar, fmt::format("more than {} hosts", file.limit)));
    }
    std::move(one.hosts.begin(), one.hosts.end(), std::back_inserter(all.hosts));
  }
  return all;
}

Result<std::string> read_path(const Source& file, const YamlScalar& scalar) {
  if (!scalar.text.empty() && scalar.text.find('\0') == std::string::npos) return scalar.text;
  return unexpected(refuse(file, scalar, "this is not the path of a file"));
}

Result<std::string> read_user(const Source& file, const YamlScalar& scalar) {
  if (is_user(scalar.text)) return scalar.text;
  return unexpected(
      refuse(file, scalar, fmt::format("{} is not the name of a user", excerpt(scalar.text))));
}

Result<std::string> read_lines(const Source& file, const YamlScalar& scalar) {
  if (!scalar.text.empty() && scalar.text.find('\0') == std::string::npos) return scalar.text;
  return unexpected(refuse(file, scalar, "the value is empty, or not text",
                           "write shell lines: source ~/venv/bin/activate"));
}

Result<bool> read_bool(const Source& file, const YamlScalar& scalar) {
  if (scalar.text == "true" || scalar.text == "false") return scalar.text == "true";
  return unexpected(
      refuse(file, scalar, fmt::format("{} is neither true nor false", excerpt(scalar.text))));
}

Result<int> read_port(const Source& file, const YamlScalar& scalar) {
  const Source source = source_of(file, scalar);
  return placed(parse_count(source, 0, source.text.size(), 65535, "port number"), scalar);
}

Result<void> read_entry(const Source& file, const YamlEntry& entry, Config& config) {
  const std::string& key = entry.key.text;
  if (key == "hosts") {
    MUSTER_TRY(config.hosts, read_hosts(file, entry));
  } else if (key == "include") {
    MUSTER_TRY(config.include, read_selection(file, entry));
  } else if (key == "exclude") {
    MUSTER_TRY(config.exclude, read_selection(file, entry));
  } else if (key == "hostfile") {
    MUSTER_TRY(const YamlScalar* value, only_value(file, entry));
    MUSTER_TRY(config.hostfile, read_path(file, *value));
  } else if (key == "user") {
    MUSTER_TRY(const YamlScalar* value, only_value(file, entry));
    MUSTER_TRY(config.user, read_user(file, *value));
  } else if (key == "activate") {
    MUSTER_TRY(const YamlScalar* value, only_value(file, entry));
    MUSTER_TRY(config.activate, read_lines(file, *value));
  } else if (key == "sync") {
    MUSTER_TRY(const YamlScalar* value, only_value(file, entry));
    MUSTER_TRY(config.sync, read_bool(file, *value));
  } else if (key == "port") {
    MUSTER_TRY(const YamlScalar* value, only_value(file, entry));
    MUSTER_TRY(config.port, read_port(file, *value));
  } else {
    return unexpected(refuse(file, entry.key, fmt::format("there is no key {}", excerpt(key)),
                             did_you_mean(key, {"hosts", "hostfile", "user", "port", "include",
                                                "exclude", "activate", "sync"})));
  }
  if (config.hosts.empty() || config.hostfile.empty()) return {};
  return unexpected(refuse(file, entry.key, "'hosts' and 'hostfile' cannot be used together",
                           "keep one of them"));
}

}  // namespace

Result<Config> parse_config(const Source& source) {
  if (source.text.size() > kMaxConfigBytes) {
    return unexpected(source.refuse(
        0, fmt::format("the file is longer than {} bytes", kMaxConfigBytes),
        "keep long host lists in a file of their own and name it: hostfile: hosts.txt"));
  }
  MUSTER_TRY(const std::vector<YamlEntry> entries, parse_yaml_map(without_utf8_mark(source)));
  Config config;
  for (const YamlEntry& entry : entries) MUSTER_CHECK(read_entry(source, entry, config));
  return config;
}

}  // namespace muster::hosts
