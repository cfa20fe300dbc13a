// The only place that parses and writes JSON text. Both the command and the training side use it,
// so it depends on neither {fmt} nor PyTorch. Text may come from another machine, so its length and
// nesting are checked first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

namespace muster {

// How parse_fields treats strings. Most are shown to people and are made printable. Strings that a
// machine acts on (commands, variables) stay exact; code that shows one makes it printable then.
enum class Texts { kPrintable, kExact };

struct JsonLimits {
  std::size_t bytes = std::size_t{16} << 20;
  int depth = 32;                                   // nesting of objects and lists
  std::size_t items = 65536;                        // per list or object; only in parse_fields
  std::size_t text_bytes = std::size_t{256} << 10;  // per string; only in parse_fields
  Texts texts = Texts::kPrintable;
  // Only in parse_fields: a missing field keeps its default. Files of an older muster lack new
  // fields.
  bool may_lack_fields = false;
};

constexpr JsonLimits kExactTexts{.texts = Texts::kExact};

// For files that this machine wrote itself, whose size grows with the job.
constexpr JsonLimits kOwnFile{.bytes = std::size_t{1} << 30,
                              .depth = 32,
                              .items = std::size_t{1} << 24,
                              .text_bytes = std::size_t{64} << 20};
constexpr JsonLimits kOwnExactFile{.bytes = kOwnFile.bytes,
                                   .depth = kOwnFile.depth,
                                   .items = kOwnFile.items,
                                   .text_bytes = kOwnFile.text_bytes,
                                   .texts = Texts::kExact};

// Fails with a few words ("too long") that fit into a sentence of the caller.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text,
                                                const JsonLimits& limits = {});

// Replaces bytes that are not UTF-8. Without `indent` the text is one line.
[[nodiscard]] std::string json_text(const nlohmann::json& json, int indent = -1);
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json, int indent = -1);
[[nodiscard]] std::string sorted_json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace muster
