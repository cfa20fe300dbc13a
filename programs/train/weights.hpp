// Reads and writes weights as safetensors files with torchvision's names.
#pragma once

#include <string>

#include "muster/safetensors.hpp"
#include "programs/classifier.hpp"

namespace muster::programs {

// Loads weights into the model by name. Missing names, unknown names and different shapes are
// errors, reported together in one std::runtime_error. One difference is allowed: if the classifier
// (the layer `head`) has a different size, the function leaves it unchanged and returns true.
bool load_weights(Classifier& model, const std::string& path, const std::string& head);

void export_weights(const Classifier& model, const std::string& path, const std::string& name);

}  // namespace muster::programs
