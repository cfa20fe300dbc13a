#include "hosts/config_values.hpp"

#include <utility>

#include <fmt/format.h>

#include "hosts/expression.hpp"
#include "hosts/name.hpp"

namespace muster::hosts {
namespace {

Source source_of(const Source& file, const YamlScalar& scalar) {
  return {.text = scalar.text,
          .name = file.name,
          .line = scalar.line,
          .column = scalar.column,
          .limit = file.limit};
}

// Corrects the position of an error. Inside a folded or escaped scalar only the start is known.
template <class T>
Result<T> placed(Result<T> result, const YamlScalar& scalar) {
  if (!result && !scalar.as_is) {
    result.error().where.line = scalar.line;
    result.error().where.column = scalar.column;
  }
  return result;
}

Result<void> check_values(const Source& file, const YamlEntry& entry) {
  if (!entry.values.empty()) return {};
  return unexpected(refuse(file, entry.key, fmt::format("'{}' has no value", entry.key.text),
                           "write a host expression: node[01-16]:4"));
}

}  // namespace

Error refuse(const Source& file, const YamlScalar& at, std::string what, std::string hint) {
  return source_of(file, at).refuse(0, std::move(what), std::move(hint));
}

Result<const YamlScalar*> only_value(const Source& file, const YamlEntry& entry) {
  if (!entry.is_list && entry.values.size() == 1) return &entry.values.front();
  return unexpected(refuse(file, entry.key,
                           fmt::format("'{}' takes one value, not {}", entry.key.text,
                                       entry.is_list ? "a list" : "none")));
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

Result<std::string> read_path(const Source& file, const YamlEntry& entry) {
  MUSTER_TRY(const YamlScalar* scalar, only_value(file, entry));
  if (!scalar->text.empty() && scalar->text.find('\0') == std::string::npos) return scalar->text;
  return unexpected(refuse(file, *scalar, "this is not the path of a file"));
}

Result<std::string> read_user(const Source& file, const YamlEntry& entry) {
  MUSTER_TRY(const YamlScalar* scalar, only_value(file, entry));
  if (is_user(scalar->text)) return scalar->text;
  return unexpected(
      refuse(file, *scalar, fmt::format("{} is not the name of a user", excerpt(scalar->text))));
}

Result<int> read_port(const Source& file, const YamlEntry& entry) {
  MUSTER_TRY(const YamlScalar* scalar, only_value(file, entry));
  const Source source = source_of(file, *scalar);
  return placed(parse_count(source, 0, source.text.size(), 65535, "port number"), *scalar);
}

}  // namespace muster::hosts
