// Flags that take a size: 4096, 64K, 10G.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace muster::cli {

// Makes `option`, whose value is a number of bytes, accept a size. Help shows the value as SIZE.
inline CLI::Option* takes_size(CLI::Option* option) {
  const auto to_bytes = [](std::string& text) -> std::string {
    const std::string given = text;
    try {
      const bool is_positive = text.find_first_of("0123456789") == 0;  // -1 would be a huge size
      if (is_positive && CLI::AsSizeValue(false)(text).empty()) return {};
    } catch (const CLI::ValidationError&) {  // said in our words below
    }
    return "'" + given + "' is not a size; write 500M, 10G or a number of bytes";
  };
  return option->transform(CLI::Validator(to_bytes, ""))->type_name("SIZE");
}

}  // namespace muster::cli
