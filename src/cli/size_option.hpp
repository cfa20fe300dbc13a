// Flags that take a size, such as 4096, 64K or 10G.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace muster::cli {

// Makes `option`, whose value is a number of bytes, accept such sizes. The help shows the value as
// SIZE.
inline CLI::Option* takes_size(CLI::Option* option) {
  const auto to_bytes = [](std::string& text) -> std::string {
    const std::string given = text;
    try {
      // -1 would become a huge size.
      const bool is_positive = text.find_first_of("0123456789") == 0;
      if (is_positive && CLI::AsSizeValue(false)(text).empty()) return {};
    } catch (const CLI::ValidationError&) {  // reported in our own words below
    }
    return "'" + given + "' is not a size; write 500M, 10G or a number of bytes";
  };
  return option->transform(CLI::Validator(to_bytes, ""))->type_name("SIZE");
}

}  // namespace muster::cli
