#include "torch/tracked_state.hpp"

#include <array>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <stdexcept>

namespace muster {
namespace {

using torch::optim::OptimizerParamState;

constexpr size_t kDifferencesShown = 5;

// Calls `visit` with the name and value of each part of a parameter's state. One overload per
// optimizer.
template <class Visit>
void visit_slots(torch::optim::SGDParamState& state, Visit visit) {
  visit("momentum_buffer", state.momentum_buffer());
}
template <class State, class Visit>
  requires std::same_as<State, torch::optim::AdamParamState> ||
           std::same_as<State, torch::optim::AdamWParamState>
void visit_slots(State& state, Visit visit) {
  visit("step", state.step());
  visit("exp_avg", state.exp_avg());
  visit("exp_avg_sq", state.exp_avg_sq());
  visit("max_exp_avg_sq", state.max_exp_avg_sq());
}
template <class Visit>
void visit_slots(torch::optim::AdagradParamState& state, Visit visit) {
  visit("step", state.step());
  visit("sum", state.sum());
}
template <class Visit>
void visit_slots(torch::optim::RMSpropParamState& state, Visit visit) {
  visit("step", state.step());
  visit("square_avg", state.square_avg());
  visit("momentum_buffer", state.momentum_buffer());
  visit("grad_avg", state.grad_avg());
}

using Slots = std::map<std::string, torch::Tensor>;

// A uniform interface to the optimizers' state types.
struct StateForm {
  std::set<std::string> slots;
  std::function<Slots(OptimizerParamState&)> read;
  std::function<std::unique_ptr<OptimizerParamState>(const Slots&)> make;
};

void read_slot(Slots& slots, const char* name, const torch::Tensor& value) {
  if (value.defined()) slots[name] = value;
}
void read_slot(Slots& slots, const char* name, int64_t value) {
  slots[name] = torch::tensor(value, torch::kLong);
}
void make_slot(const Slots& slots, const char* name, torch::Tensor& value) {
  if (const auto slot = slots.find(name); slot != slots.end()) value = slot->second;
}
void make_slot(const Slots& slots, const char* name, int64_t& value) {
  if (const auto slot = slots.find(name); slot != slots.end()) value = slot->second.item<int64_t>();
}

template <class State>
StateForm form() {
  std::set<std::string> names;
  State any;
  visit_slots(any, [&](const char* name, auto& /*value*/) { names.insert(name); });
  return {.slots = names,
          .read =
              [](OptimizerParamState& state) {
                Slots slots;
                visit_slots(static_cast<State&>(state),
                            [&](const char* name, auto& value) { read_slot(slots, name, value); });
                return slots;
              },
          .make = [](const Slots& slots) -> std::unique_ptr<OptimizerParamState> {
            auto state = std::make_unique<State>();
            visit_slots(*state,
                        [&](const char* name, auto& value) { make_slot(slots, name, value); });
            return state;
          }};
}

StateForm form_of(torch::optim::Optimizer& optimizer) {
  using namespace torch::optim;  // NOLINT: short names for the table
  if (dynamic_cast<SGD*>(&optimizer) != nullptr) return form<SGDParamState>();
  if (dynamic_cast<Adam*>(&optimizer) != nullptr) return form<AdamParamState>();
  if (dynamic_cast<AdamW*>(&optimizer) != nullptr) return form<AdamWParamState>();
  if (dynamic_cast<Adagrad*>(&optimizer) != nullptr) return form<AdagradParamState>();
  if (dynamic_cast<RMSprop*>(&optimizer) != nullptr) return form<RMSpropParamState>();
  throw std::invalid_argument(
      "Checkpoints: this optimizer's state cannot be saved; use SGD, Adam, AdamW, Adagrad or "
      "RMSprop");
}

// Whether the slot is a count of steps instead of a tensor with the parameter's shape.
bool is_figure(const torch::Tensor& slot) {
  return slot.dim() == 0 && slot.scalar_type() == torch::kLong;
}

std::string shape_text(const torch::Tensor& tensor) {
  std::ostringstream text;
  text << c10::toString(tensor.scalar_type()) << " " << tensor.sizes();
  return text.str();
}

std::string learning_rates(torch::optim::Optimizer& optimizer) {
  std::string text;
  for (auto& group : optimizer.param_groups()) {
    std::array<char, 40> figure{};
    (void)std::snprintf(figure.data(), figure.size(), "%.17g", group.options().get_lr());
    text += (text.empty() ? "" : " ") + std::string(figure.data());
  }
  return text;
}

void set_learning_rates(torch::optim::Optimizer& optimizer, const std::string& text) {
  std::istringstream figures(text);
  for (auto& group : optimizer.param_groups()) {
    std::string figure;
    if (figures >> figure) group.options().set_lr(std::strtod(figure.c_str(), nullptr));
  }
}

std::string rates_key(const std::string& optimizer) {
  return "muster/" + optimizer + "/lr";
}

// Leaves out undefined tensors, which frozen or lazy modules have.
void add_tensors(const torch::OrderedDict<std::string, torch::Tensor>& named,
                 const std::string& prefix, CollectedState& all, bool buffers) {
  for (const auto& item : named) {
    if (!item.value().defined()) continue;
    all.tensors[prefix + item.key()] = item.value();
    if (buffers) all.buffers.insert(prefix + item.key());
  }
}

CollectedState tensors_of(const torch::nn::Module& module, const std::string& name) {
  CollectedState all;
  add_tensors(module.named_parameters(), name + "/", all, false);
  add_tensors(module.named_buffers(), name + "/", all, true);
  return all;
}

class Differences {
 public:
  void add(const std::string& text) {
    if (++count_ <= kDifferencesShown) text_ += "\n  " + text;
  }
  [[nodiscard]] bool any() const { return count_ > 0; }
  [[nodiscard]] std::string text() const {
    if (count_ <= kDifferencesShown) return text_;
    return text_ + "\n  and " + std::to_string(count_ - kDifferencesShown) + " more";
  }

 private:
  std::string text_;
  size_t count_ = 0;
};

}  // namespace

bool is_own_value(const std::string& key) {
  return key.starts_with("muster/");
}

void TrackedState::refuse_taken(const std::string& name) const {
  bool taken = name.empty() || name.find('/') != std::string::npos || name == "rng";
  for (const Model& one : models_) taken = taken || one.name == name;
  for (const Optimizer& one : optimizers_) taken = taken || one.name == name;
  if (taken) {
    throw std::invalid_argument(
        "Checkpoints: \"" + name +
        "\" cannot be used as a name: it is taken, empty or \"rng\", or contains a /");
  }
}

void TrackedState::add(const std::string& name, std::shared_ptr<torch::nn::Module> model) {
  refuse_taken(name);
  models_.push_back({name, std::move(model)});
}

void TrackedState::add(const std::string& name, torch::optim::Optimizer& optimizer,
                       std::shared_ptr<torch::nn::Module> of_model) {
  refuse_taken(name);
  (void)form_of(optimizer);
  optimizers_.push_back({name, &optimizer, std::move(of_model)});
}

CollectedState TrackedState::collect() const {
  CollectedState all;
  for (const Model& model : models_) {
    CollectedState one = tensors_of(*model.module, model.name);
    all.tensors.merge(one.tensors);
    all.buffers.merge(one.buffers);
  }
  for (const Optimizer& one : optimizers_) {
    const StateForm form = form_of(*one.optimizer);
    const auto& states = one.optimizer->state();
    for (const auto& parameter : one.module->named_parameters()) {
      const auto state = states.find(parameter.value().unsafeGetTensorImpl());
      if (state == states.end()) continue;
      for (const auto& [slot, tensor] : form.read(*state->second)) {
        all.tensors[one.name + "/" + parameter.key() + "/" + slot] = tensor;
      }
    }
    all.values[rates_key(one.name)] = learning_rates(*one.optimizer);
  }
  return all;
}

// An optimizer has no state before its first step, so the tensors for it are checked against the
// parameters of its model.
void TrackedState::check(const NamedTensors& tensors) const {
  Differences differences;
  std::set<std::string> known;
  for (const Model& model : models_) {
    for (const auto& [name, tensor] : tensors_of(*model.module, model.name).tensors) {
      known.insert(name);
      const auto there = tensors.find(name);
      if (there == tensors.end()) {
        differences.add("it does not contain " + name + ", " + shape_text(tensor));
      } else if (there->second.sizes() != tensor.sizes() ||
                 there->second.scalar_type() != tensor.scalar_type()) {
        differences.add(name + " is " + shape_text(there->second) + " in it and " +
                        shape_text(tensor) + " in the model");
      }
    }
  }
  for (const Optimizer& one : optimizers_) {
    const std::set<std::string> slots = form_of(*one.optimizer).slots;
    for (const auto& parameter : one.module->named_parameters()) {
      const std::string prefix = one.name + "/" + parameter.key() + "/";
      for (auto it = tensors.lower_bound(prefix);
           it != tensors.end() && it->first.starts_with(prefix); ++it) {
        if (!slots.contains(it->first.substr(prefix.size()))) continue;
        known.insert(it->first);
        if (!is_figure(it->second) && it->second.sizes() != parameter.value().sizes()) {
          differences.add(it->first + " is " + shape_text(it->second) +
                          " in it and the parameter " + shape_text(parameter.value()));
        }
      }
    }
  }
  for (const auto& [name, tensor] : tensors) {
    if (!known.contains(name))
      differences.add("it has " + name + ", which this program does not have");
  }
  if (differences.any())
    throw std::runtime_error("belongs to a different model:" + differences.text());
}

void TrackedState::restore(const NamedTensors& tensors, const CheckpointValues& values) {
  check(tensors);
  torch::NoGradGuard no_grad;
  for (const Model& model : models_) {
    CollectedState mine = tensors_of(*model.module, model.name);
    for (auto& [name, tensor] : mine.tensors) tensor.copy_(tensors.at(name));
  }
  for (const Optimizer& one : optimizers_) {
    const StateForm form = form_of(*one.optimizer);
    auto& states = one.optimizer->state();
    states.clear();
    for (const auto& parameter : one.module->named_parameters()) {
      const std::string prefix = one.name + "/" + parameter.key() + "/";
      Slots slots;
      for (auto it = tensors.lower_bound(prefix);
           it != tensors.end() && it->first.starts_with(prefix); ++it) {
        slots[it->first.substr(prefix.size())] =
            is_figure(it->second) ? it->second : it->second.to(parameter.value().device()).clone();
      }
      if (!slots.empty()) {
        states[parameter.value().unsafeGetTensorImpl()] = form.make(slots);
      }
    }
    if (const auto rates = values.find(rates_key(one.name)); rates != values.end()) {
      set_learning_rates(*one.optimizer, rates->second);
    }
  }
}

}  // namespace muster
