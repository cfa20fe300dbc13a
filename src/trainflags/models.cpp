#include "trainflags/models.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <stdexcept>

namespace muster::trainflags {
namespace {

std::string defaults_row(const Model& model) {
  std::array<char, 128> row{};
  (void)std::snprintf(row.data(), row.size(), "  %-10s%6lld%7lld%14g%16g%14g\n", model.name,
                      static_cast<long long>(model.epochs),
                      static_cast<long long>(model.batch_size), model.lr, model.warmup_epochs,
                      model.weight_decay);
  return row.data();
}

}  // namespace

const Model& model_named(const std::string& name) {
  const auto* const found = std::find_if(std::begin(kModels), std::end(kModels),
                                         [&](const Model& model) { return name == model.name; });
  if (found == std::end(kModels)) throw std::invalid_argument("there is no model " + name);
  return *found;
}

std::string model_names(const std::string& between, const std::string& before_last) {
  std::string names;
  for (std::size_t i = 0; i < std::size(kModels); ++i) {
    if (i > 0) names += i + 1 == std::size(kModels) ? before_last : between;
    names += kModels[i].name;
  }
  return names;
}

std::string defaults_text() {
  std::string text =
      "Defaults of the models:\n"
      "            epochs  batch  lr (for 256)  warm-up epochs  weight decay\n";
  for (const Model& model : kModels) text += defaults_row(model);
  return text +
         "  With --weights, both ResNets default to 5 epochs and lr 0.02.\n\n"
         "After the training the output directory holds model.safetensors (with\ntorchvision's "
         "names), metrics.jsonl, training.svg and result.json. An\ninterrupted job continues from "
         "checkpoints/ in that directory.";
}

}  // namespace muster::trainflags
