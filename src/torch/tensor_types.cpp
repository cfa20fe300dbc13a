#include "torch/tensor_types.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

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

TensorHeader header_for(const NamedTensors& tensors, const Metadata& metadata) {
  TensorHeader header{.places = {}, .metadata = metadata};
  for (const auto& [name, tensor] : tensors) {
    if (name == kMetadata) throw std::runtime_error(name + " is not a name for a tensor");
    if (!tensor.defined() || tensor.layout() != at::kStrided) {
      throw std::runtime_error(name + " is not a plain tensor");
    }
    header.places.push_back({.name = name,
                             .type = safetensors_type(tensor.scalar_type()),
                             .shape = tensor.sizes().vec()});
  }
  std::stable_sort(header.places.begin(), header.places.end(),
                   [](const TensorPlace& a, const TensorPlace& b) {
                     return element_bytes(a.type) > element_bytes(b.type);
                   });
  uint64_t next = 0;
  for (TensorPlace& place : header.places) {
    place.begin = next;
    next += bytes_of(place.type, place.shape);
    place.end = next;
  }
  return header;
}

}  // namespace muster
