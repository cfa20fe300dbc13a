#include "torch/tensor_header.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <tuple>

#include <nlohmann/json.hpp>

#include "base/json.hpp"

namespace muster {
namespace {

struct ElementType {
  std::string_view name;
  uint64_t bytes;
};

constexpr std::array kElementTypes = {
    ElementType{"F64", 8},  ElementType{"F32", 4},     ElementType{"F16", 2},
    ElementType{"BF16", 2}, ElementType{"I64", 8},     ElementType{"I32", 4},
    ElementType{"I16", 2},  ElementType{"I8", 1},      ElementType{"U8", 1},
    ElementType{"BOOL", 1}, ElementType{"U16", 2},     ElementType{"U32", 4},
    ElementType{"U64", 8},  ElementType{"F8_E4M3", 1}, ElementType{"F8_E5M2", 1},
    ElementType{"C64", 8}};

std::runtime_error not_a_header(const std::string& why) {
  return std::runtime_error("its header is not a safetensors header: " + why);
}

nlohmann::json parse_header(std::string_view json) {
  auto parsed = parse_json(json, {.bytes = kMostHeaderBytes});
  if (!parsed) throw not_a_header(parsed.error().what);
  return *std::move(parsed);
}

TensorPlace place_of(const std::string& name, const nlohmann::json& entry) {
  TensorPlace place{.name = name, .type = entry.at("dtype"), .shape = {}};
  for (const auto& size : entry.at("shape")) {
    // Numbers that are negative or beyond int64 cannot be sizes.
    if (!size.is_number_unsigned() || size.get<uint64_t>() > INT64_MAX) {
      throw std::runtime_error(name + " has an impossible shape");
    }
    place.shape.push_back(size.get<int64_t>());
  }
  const auto& offsets = entry.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    throw std::runtime_error(name + " has no valid position in the file");
  }
  place.begin = offsets[0];
  place.end = offsets[1];
  return place;
}

void check_places(std::vector<TensorPlace>& places, std::optional<uint64_t> data_bytes) {
  std::sort(places.begin(), places.end(), [](const TensorPlace& a, const TensorPlace& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t next = 0;
  for (const TensorPlace& place : places) {
    if (place.begin != next || place.end < place.begin) {
      throw std::runtime_error(place.name + " does not begin where the previous tensor ends");
    }
    if (place.end - place.begin != bytes_of(place.type, place.shape)) {
      throw std::runtime_error(place.name + " has " + std::to_string(place.end - place.begin) +
                               " bytes in the file but needs " +
                               std::to_string(bytes_of(place.type, place.shape)));
    }
    next = place.end;
  }
  if (data_bytes && next != *data_bytes) {
    throw std::runtime_error("its tensors have " + std::to_string(next) +
                             " bytes, but after the header there are " +
                             std::to_string(*data_bytes));
  }
}

}  // namespace

uint64_t element_bytes(const std::string& type) {
  for (const ElementType& one : kElementTypes) {
    if (one.name == type) return one.bytes;
  }
  throw std::runtime_error("the type " + type.substr(0, 20) + " is not known");
}

uint64_t bytes_of(const std::string& type, const std::vector<int64_t>& shape) {
  uint64_t bytes = element_bytes(type);
  for (const int64_t size : shape) {
    if (size == 0) return 0;
  }
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes) || bytes > INT64_MAX) {
      throw std::runtime_error("a shape is larger than any memory");
    }
  }
  return bytes;
}

std::string encode(const TensorHeader& header) {
  nlohmann::json json = nlohmann::json::object();
  if (!header.metadata.empty()) json[kMetadata] = header.metadata;
  for (const TensorPlace& place : header.places) {
    json[place.name] = {
        {"dtype", place.type}, {"shape", place.shape}, {"data_offsets", {place.begin, place.end}}};
  }
  std::string text = json.dump();  // throws if a name is not UTF-8, because it must not change
  text.resize((text.size() + 7) / 8 * 8, ' ');  // padding, so that the data is aligned
  if (text.size() > kMostHeaderBytes) throw std::runtime_error("too many tensors for one file");
  const uint64_t length = text.size();
  std::string encoded(8, '\0');
  for (size_t i = 0; i < 8; ++i) encoded[i] = static_cast<char>(length >> (8 * i) & 0xff);
  return encoded + text;
}

TensorHeader decode(std::string_view json, std::optional<uint64_t> data_bytes) {
  TensorHeader header;
  try {
    const auto parsed = parse_header(json);
    if (!parsed.is_object()) throw std::runtime_error("its header is not a JSON object");
    for (const auto& [name, entry] : parsed.items()) {
      if (name == kMetadata) {
        header.metadata = entry.get<std::map<std::string, std::string>>();
      } else {
        header.places.push_back(place_of(name, entry));
      }
    }
  } catch (const nlohmann::json::exception& error) {
    throw not_a_header(error.what());
  }
  check_places(header.places, data_bytes);
  return header;
}

}  // namespace muster
