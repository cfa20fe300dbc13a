// Reads and writes weights in files that torchvision's users have.
#pragma once

#include <string>

#include "muster/safetensors.hpp"
#include "programs/classifier.hpp"

namespace muster::programs {

// Loads weights into the model by name. Missing names, unknown names and different shapes are
// errors, reported together in one std::runtime_error. Only a classifier (named `head`) of a
// different size is left unchanged; then the function returns true.
bool load_weights(Classifier& model, const std::string& path, const std::string& head);

void export_weights(const Classifier& model, const std::string& path, const std::string& name);

}  // namespace muster::programs
