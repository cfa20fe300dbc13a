#include "torch/tensor_header.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "base/json.hpp"

namespace muster {
namespace {

struct TypeName {
  at::ScalarType type;
  const char* name;
};

constexpr std::array kTypeNames = {TypeName{at::kDouble, "F64"},
                                   TypeName{at::kFloat, "F32"},
                                   TypeName{at::kHalf, "F16"},
                                   TypeName{at::kBFloat16, "BF16"},
                                   TypeName{at::kLong, "I64"},
                                   TypeName{at::kInt, "I32"},
                                   TypeName{at::kShort, "I16"},
                                   TypeName{at::kChar, "I8"},
                                   TypeName{at::kByte, "U8"},
                                   TypeName{at::kBool, "BOOL"},
                                   TypeName{at::kUInt16, "U16"},
                                   TypeName{at::kUInt32, "U32"},
                                   TypeName{at::kUInt64, "U64"},
                                   TypeName{at::kFloat8_e4m3fn, "F8_E4M3"},
                                   TypeName{at::kFloat8_e5m2, "F8_E5M2"},
                                   TypeName{at::kComplexFloat, "C64"}};

constexpr const char* kMetadata = "__metadata__";

std::runtime_error not_a_header(const std::string& why) {
  return std::runtime_error("its header is not a safetensors header: " + why);
}

nlohmann::json parse_header(std::string_view json) {
  auto parsed = parse_json(json, {.bytes = kMostHeaderBytes});
  if (!parsed) throw not_a_header(parsed.error().what);
  return *std::move(parsed);
}

TensorPlace place_of(const std::string& name, const nlohmann::json& entry) {
  TensorPlace place{.name = name, .type = type_of_safetensors(entry.at("dtype")), .shape = {}};
  for (const auto& size : entry.at("shape")) {
    // Figures beyond int64, and negative ones, are no sizes.
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

std::string safetensors_type(at::ScalarType type) {
  for (const TypeName& one : kTypeNames) {
    if (one.type == type) return one.name;
  }
  throw std::runtime_error(std::string("safetensors has no type for ") + c10::toString(type));
}

at::ScalarType type_of_safetensors(const std::string& name) {
  for (const TypeName& one : kTypeNames) {
    if (name == one.name) return one.type;
  }
  throw std::runtime_error("the type " + name.substr(0, 20) + " is not known");
}

uint64_t bytes_of(at::ScalarType type, const std::vector<int64_t>& shape) {
  uint64_t bytes = c10::elementSize(type);
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

TensorHeader header_for(const NamedTensors& tensors, const Metadata& metadata) {
  TensorHeader header{.places = {}, .metadata = metadata};
  for (const auto& [name, tensor] : tensors) {
    if (name == kMetadata) throw std::runtime_error(name + " is not a name for a tensor");
    if (!tensor.defined() || tensor.layout() != at::kStrided) {
      throw std::runtime_error(name + " is not a plain tensor");
    }
    header.places.push_back(
        {.name = name, .type = tensor.scalar_type(), .shape = tensor.sizes().vec()});
  }
  std::stable_sort(header.places.begin(), header.places.end(),
                   [](const TensorPlace& a, const TensorPlace& b) {
                     return c10::elementSize(a.type) > c10::elementSize(b.type);
                   });
  uint64_t next = 0;
  for (TensorPlace& place : header.places) {
    place.begin = next;
    next += bytes_of(place.type, place.shape);
    place.end = next;
  }
  return header;
}

std::string encode(const TensorHeader& header) {
  nlohmann::json json = nlohmann::json::object();
  if (!header.metadata.empty()) json[kMetadata] = header.metadata;
  for (const TensorPlace& place : header.places) {
    json[place.name] = {{"dtype", safetensors_type(place.type)},
                        {"shape", place.shape},
                        {"data_offsets", {place.begin, place.end}}};
  }
  std::string text = json.dump();  // throws where a name is not UTF-8: it must not change
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data are aligned
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
        header.metadata = entry.get<Metadata>();
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
