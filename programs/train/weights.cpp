#include "programs/train/weights.hpp"

#include <sstream>
#include <stdexcept>
#include <vector>

namespace muster::programs {
namespace {

constexpr size_t kShown = 5;  // names per kind of problem

// For example "fc.weight, fc.bias and 3 more".
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

std::string shape_text(const torch::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.sizes();
  return text.str();
}

NamedTensors state_of(const Classifier& model) {
  NamedTensors state;
  for (const auto& one : model.named_parameters()) state[one.key()] = one.value().detach();
  for (const auto& one : model.named_buffers()) state[one.key()] = one.value().detach();
  return state;
}

}  // namespace

bool load_weights(Classifier& model, const std::string& path, const std::string& head) {
  const TensorFile file = load_safetensors(path);
  const NamedTensors state = state_of(model);
  std::vector<std::string> missing, unknown, misshapen;
  NamedTensors wanted;
  bool head_left_out = false;
  for (const auto& [name, tensor] : state) {
    const auto found = file.tensors.find(name);
    if (found == file.tensors.end()) {
      // This buffer only counts batches, and older files lack it.
      if (!name.ends_with("num_batches_tracked")) missing.push_back(name);
    } else if (found->second.sizes() == tensor.sizes()) {
      wanted[name] = found->second;
    } else if (name.starts_with(head + ".")) {
      head_left_out = true;
    } else {
      misshapen.push_back(name + " " + shape_text(found->second) + " instead of " +
                          shape_text(tensor));
    }
  }
  for (const auto& [name, tensor] : file.tensors) {
    if (!state.contains(name)) unknown.push_back(name);
  }
  if (missing.empty() && unknown.empty() && misshapen.empty()) {
    const torch::NoGradGuard no_grad;
    for (const auto& [name, tensor] : wanted) {
      // The classifier is copied completely or not at all.
      if (head_left_out && name.starts_with(head + ".")) continue;
      state.at(name).copy_(tensor);
    }
    return head_left_out;
  }
  std::string text = path + " does not fit the model";
  if (!missing.empty()) text += "; the file lacks: " + listed(missing);
  if (!unknown.empty()) text += "; the model does not have: " + listed(unknown);
  if (!misshapen.empty()) text += "; of a different shape: " + listed(misshapen);
  if (!misshapen.empty() && misshapen[0].starts_with("conv1.")) {
    text += " (for a model that muster trained on small images, pass --stem small)";
  }
  throw std::runtime_error(text);
}

void export_weights(const Classifier& model, const std::string& path, const std::string& name) {
  save_safetensors(path, state_of(model), {{"format", "pt"}, {"model", name}});
}

}  // namespace muster::programs
