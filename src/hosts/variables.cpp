#include "hosts/variables.hpp"

#include <fmt/format.h>

namespace muster::hosts {
namespace {

Error refuse_variable(const Where& where, std::string what, std::string hint = {}) {
  return {
      .code = ErrorCode::kUsage, .what = std::move(what), .where = where, .hint = std::move(hint)};
}

Where place_of(const Source& file, const YamlScalar& scalar) {
  return {.file = file.name, .line = scalar.line, .column = scalar.column};
}

Result<Variable> checked_variable(Variable variable) {
  if (!is_variable_name(variable.name)) {
    return unexpected(refuse_variable(variable.where, "this is not the name of a variable",
                                      "a name consists of letters, digits and '_'"));
  }
  if (variable.value && variable.value->find('\0') != std::string::npos) {
    return unexpected(refuse_variable(
        variable.where, fmt::format("the value of {} contains a zero byte", variable.name)));
  }
  return variable;
}

// Parses NAME or NAME=value.
Result<Variable> read_assignment(std::string_view text, Where where) {
  const std::size_t equals = text.find('=');
  Variable variable{.name = std::string(text.substr(0, equals)), .where = std::move(where)};
  if (equals != std::string_view::npos) variable.value = text.substr(equals + 1);
  return checked_variable(std::move(variable));
}

Result<Variable> read_map_entry(const Source& file, const YamlEntry& entry) {
  if (entry.is_list || entry.is_map) {
    return unexpected(
        refuse_variable(place_of(file, entry.key), "a variable has one value",
                        "write NAME: value, or only NAME: to take the value from your "
                        "environment"));
  }
  Variable variable{.name = entry.key.text, .where = place_of(file, entry.key)};
  if (!entry.values.empty()) variable.value = entry.values.front().text;
  return checked_variable(std::move(variable));
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string_view without_quotes(std::string_view value) {
  const bool quoted = value.size() > 1 && (value.front() == '"' || value.front() == '\'') &&
                      value.front() == value.back();
  return quoted ? value.substr(1, value.size() - 2) : value;
}

Result<Variable> read_variable_line(std::string_view line, Where where) {
  constexpr std::string_view kExport = "export ";
  if (line.starts_with(kExport)) line = without_blanks(line.substr(kExport.size()));
  MUSTER_TRY(Variable variable, read_assignment(line, std::move(where)));
  if (variable.value) variable.value = std::string(without_quotes(*variable.value));
  return variable;
}

}  // namespace

bool is_variable_name(std::string_view name) {
  return !name.empty() && name.find_first_not_of(
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
                              std::string_view::npos;
}

Result<std::vector<Variable>> read_variables(const Source& file, const YamlEntry& entry) {
  std::vector<Variable> variables;
  for (const YamlEntry& one : entry.entries) {
    MUSTER_TRY(Variable variable, read_map_entry(file, one));
    variables.push_back(std::move(variable));
  }
  for (const YamlScalar& one : entry.values) {
    MUSTER_TRY(Variable variable, read_assignment(one.text, place_of(file, one)));
    variables.push_back(std::move(variable));
  }
  if (!variables.empty()) return variables;
  return unexpected(refuse_variable(place_of(file, entry.key), "'environment' names no variable",
                                    "write NAME: value in the lines below, or a list of names"));
}

Result<std::vector<Variable>> parse_variables(const Source& source) {
  std::vector<Variable> variables;
  std::string_view rest = without_utf8_mark(source).text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = without_blanks(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    MUSTER_TRY(Variable variable, read_variable_line(line, {.file = source.name, .line = number}));
    variables.push_back(std::move(variable));
  }
  return variables;
}

}  // namespace muster::hosts
