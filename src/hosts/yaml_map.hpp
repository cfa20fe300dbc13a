// The part of YAML that a settings file needs: a map whose values are scalars, lists of scalars or
// maps of the same kind, a few levels deep. Anchors, aliases and deeper nesting are refused, so
// nothing can blow up.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "hosts/source.hpp"

namespace muster::hosts {

struct YamlScalar {
  std::string text;
  int line = 0;        // 1-based
  int column = 0;      // 1-based, in bytes
  bool as_is = false;  // the file holds `text` literally from there on: places inside it are exact
};

struct YamlEntry {
  YamlScalar key;
  bool is_list = false;
  bool is_map = false;
  std::vector<YamlScalar> values = {};  // one unless is_list; none: the key has no value
  std::vector<YamlEntry> entries = {};  // if is_map
};

// In the file's order; no key twice in a map. Throws nothing.
[[nodiscard]] Result<std::vector<YamlEntry>> parse_yaml_map(const Source& source);

}  // namespace muster::hosts
