// Weights from and to files that torchvision's users have.
#pragma once

#include <string>

#include "muster/safetensors.hpp"
#include "programs/classifier.hpp"

namespace muster::programs {

// Into the model, by name. Names that are missing, not known or of another shape are refused, all
// in one std::runtime_error. Only a classifier (`head`, its name) of another size is left as it is;
// true: it was.
bool load_weights(Classifier& model, const std::string& path, const std::string& head);

void export_weights(const Classifier& model, const std::string& path, const std::string& name);

}  // namespace muster::programs
