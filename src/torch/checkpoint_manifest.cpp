#include "torch/checkpoint_manifest.hpp"

#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json.hpp"

namespace muster {
namespace {

using nlohmann::json;

constexpr int kManifestVersion = 1;

// Returns the JSON text with its checksum added. Throws if a name is not UTF-8, because JSON could
// not store it unchanged.
std::string seal(json value) {
  const std::string plain = value.dump();
  value["checksum"] = checksum(plain.data(), plain.size());
  return value.dump();
}

json unseal(const std::string& text) {
  auto parsed = parse_json(text, kOwnFile);
  if (!parsed) throw std::runtime_error("is damaged: " + parsed.error().what);
  json value = *std::move(parsed);
  if (!value.is_object() || !value.contains("checksum")) throw std::runtime_error("is damaged");
  if (value.dump() != text) throw std::runtime_error("is damaged: its format is wrong");
  const std::string told = value["checksum"];
  value.erase("checksum");
  const std::string plain = value.dump();
  if (checksum(plain.data(), plain.size()) != told) {
    throw std::runtime_error("is damaged: its checksum does not match");
  }
  return value;
}

// Rejects fractions, negative numbers and those beyond T, which the conversion would change.
template <class T>
T number(const json& value, const char* name) {
  const json& found = value.at(name);
  if (!found.is_number_unsigned() || !std::in_range<T>(found.get<uint64_t>())) {
    throw std::runtime_error(std::string("has an impossible value of ") + name);
  }
  return found.get<T>();
}

json shard_json(const Shard& shard) {
  return {{"file", shard.file},
          {"bytes", shard.checksums.bytes},
          {"header", shard.checksums.header},
          {"tensors", shard.checksums.tensors}};
}

Shard shard_of(const json& value) {
  Shard shard{.file = value.at("file"),
              .checksums = {.bytes = number<uint64_t>(value, "bytes"),
                            .header = value.at("header"),
                            .tensors = value.at("tensors").get<Checksums>()}};
  if (shard.file.empty() || shard.file.find('/') != std::string::npos) {
    throw std::runtime_error("names a file outside its directory");
  }
  return shard;
}

// Calls `read` with the value in the text. Turns exceptions of nlohmann's library into
// std::runtime_error that says "is damaged".
template <class Read>
auto read_sealed(const std::string& text, Read read) {
  try {
    return read(unseal(text));
  } catch (const json::exception& error) {
    throw std::runtime_error(std::string("is damaged: ") + error.what());
  }
}

}  // namespace

std::string encode(const CheckpointManifest& manifest) {
  json shards = json::array();
  for (const Shard& shard : manifest.shards) shards.push_back(shard_json(shard));
  return seal({{"format", "muster-checkpoint"},
               {"version", kManifestVersion},
               {"step", manifest.step},
               {"ranks", manifest.ranks},
               {"lineage", manifest.lineage},
               {"values", manifest.values},
               {"shards", shards}});
}

CheckpointManifest decode_manifest(const std::string& text) {
  return read_sealed(text, [](const json& value) {
    if (value.at("format") != "muster-checkpoint") {
      throw std::runtime_error("is not the manifest of a checkpoint");
    }
    if (value.at("version") != kManifestVersion) {
      throw std::runtime_error("was written by a newer muster: version " +
                               value.at("version").dump());
    }
    CheckpointManifest manifest{
        .step = number<int64_t>(value, "step"),
        .ranks = number<int>(value, "ranks"),
        .lineage = value.value("lineage", ""),
        .values = value.at("values").get<std::map<std::string, std::string>>(),
        .shards = {}};
    for (const json& shard : value.at("shards")) manifest.shards.push_back(shard_of(shard));
    return manifest;
  });
}

std::string encode(const Shard& shard) {
  return seal(shard_json(shard));
}

Shard decode_shard(const std::string& text) {
  return read_sealed(text, shard_of);
}

}  // namespace muster
