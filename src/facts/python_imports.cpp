#include "facts/python_imports.hpp"

#include <algorithm>

#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_name_character);
}

// Removes the leading word (name characters and dots) from `text` and returns it.
std::string_view take_word(std::string_view& text) {
  text = trimmed(text);
  const auto end = std::find_if_not(text.begin(), text.end(),
                                    [](char c) { return is_name_character(c) || c == '.'; });
  const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(word.size());
  return word;
}

// Parses "a.b as c, d", which follows `import`.
void add_modules(std::string_view list, std::vector<Import>& imports) {
  for (std::string_view item : split(list, ',')) {
    Import one{.module = module_parts(take_word(item))};
    if (!one.module.empty()) imports.push_back(std::move(one));
  }
}

// Parses "..a.b import (c as d, e)", which follows `from`.
void add_from(std::string_view rest, std::vector<Import>& imports) {
  std::string_view word = take_word(rest);
  const std::size_t dots = std::min(word.find_first_not_of('.'), word.size());
  word.remove_prefix(dots);
  if (take_word(rest) != "import") return;
  Import one{.dots = static_cast<int>(dots), .module = module_parts(word)};
  if (one.module.empty() && (dots == 0 || !word.empty())) return;
  for (std::string_view item : split(rest, ',')) {
    item = trimmed(item);
    if (item.starts_with('(')) item.remove_prefix(1);
    const std::string_view name = take_word(item);
    if (is_name(name)) one.names.emplace_back(name);
  }
  imports.push_back(std::move(one));
}

void add_statement(std::string_view statement, std::vector<Import>& imports) {
  statement = trimmed(statement);
  if (!statement.starts_with("import") && !statement.starts_with("from")) return;
  const std::string_view keyword = take_word(statement);
  if (keyword == "import") add_modules(statement, imports);
  if (keyword == "from") add_from(statement, imports);
}

bool begins_import(std::string_view line) {
  line = trimmed(line);
  return line.starts_with("import") || line.starts_with("from");
}

// True for "from a import (b,", whose list may continue on the next line.
bool opens_list(std::string_view line) {
  const std::size_t open = line.find('(');
  return open != std::string_view::npos && trimmed(line.substr(0, open)).ends_with("import");
}

}  // namespace

std::vector<std::string> module_parts(std::string_view name) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(name, '.')) {
    if (!is_name(part)) return {};
    parts.emplace_back(part);
  }
  return parts;
}

std::vector<Import> python_imports(std::string_view text) {
  std::vector<Import> imports;
  std::string statements;
  bool in_list = false;
  const auto take_statements = [&] {
    for (const std::string_view one : split(statements, ';')) add_statement(one, imports);
    statements.clear();
    in_list = false;
  };
  for (std::string_view line : split(text, '\n')) {
    if (statements.empty() && !begins_import(line) && line.find(';') == std::string_view::npos) {
      continue;
    }
    line = trimmed(line.substr(0, line.find('#')));
    const bool continues = line.ends_with('\\');
    if (continues) line.remove_suffix(1);
    in_list = (in_list || opens_list(line)) && line.find(')') == std::string_view::npos;
    statements.append(line) += ' ';
    if (!continues && !in_list) take_statements();
  }
  take_statements();
  return imports;
}

}  // namespace muster::facts
