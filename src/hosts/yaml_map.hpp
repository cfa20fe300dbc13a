// The part of YAML that a settings file needs: a map of scalars, lists of scalars and such maps, a
// few levels deep. Rejects anchors, aliases and deeper nesting, so a small file cannot expand into
// a huge one.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "hosts/source.hpp"

namespace muster::hosts {

struct YamlScalar {
  std::string text;
  int line = 0;    // 1-based
  int column = 0;  // 1-based, in bytes
  // The file contains `text` literally at this position, so positions inside `text` are exact.
  bool as_is = false;
};

struct YamlEntry {
  YamlScalar key;
  bool is_list = false;
  bool is_map = false;
  // Exactly one, unless this is a list. Empty if this is a map or the key has no value.
  std::vector<YamlScalar> values = {};
  std::vector<YamlEntry> entries = {};  // only if is_map
};

// Returns the entries in the order of the file. Keys in a map are unique. Does not throw.
[[nodiscard]] Result<std::vector<YamlEntry>> parse_yaml_map(const Source& source);

}  // namespace muster::hosts
