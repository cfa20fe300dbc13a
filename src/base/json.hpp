// The one place that parses and writes JSON text, for both sides: it knows neither {fmt} nor
// PyTorch. Text may come from another machine, so its length and nesting are checked first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

namespace muster {

// What parse_fields does with a text: most are for people, and are made printable. Those that a
// machine acts on (commands, variables) stay exactly as they are and are made printable when shown.
enum class Texts { kPrintable, kExact };

struct JsonLimits {
  std::size_t bytes = std::size_t{16} << 20;
  int depth = 32;                                   // objects and lists inside each other
  std::size_t items = 65536;                        // per list and object; for parse_fields
  std::size_t text_bytes = std::size_t{256} << 10;  // per string; for parse_fields
  Texts texts = Texts::kPrintable;
  // For parse_fields: a field that is missing keeps its default, as in a file of an older muster.
  bool may_lack_fields = false;
};

constexpr JsonLimits kExactTexts{.texts = Texts::kExact};

// For files that this machine wrote about a job of any size.
constexpr JsonLimits kOwnFile{.bytes = std::size_t{1} << 30,
                              .depth = 32,
                              .items = std::size_t{1} << 24,
                              .text_bytes = std::size_t{64} << 20};
constexpr JsonLimits kOwnExactFile{.bytes = kOwnFile.bytes,
                                   .depth = kOwnFile.depth,
                                   .items = kOwnFile.items,
                                   .text_bytes = kOwnFile.text_bytes,
                                   .texts = Texts::kExact};

// The Error says what is wrong in a few words ("too long"), for the caller's sentence.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text,
                                                const JsonLimits& limits = {});

// Bytes that are not UTF-8 are replaced. Without an indentation it is one line.
[[nodiscard]] std::string json_text(const nlohmann::json& json, int indent = -1);
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json, int indent = -1);
[[nodiscard]] std::string sorted_json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace muster
