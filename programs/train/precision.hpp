// While an Autocast object exists, this thread computes in bfloat16 wherever PyTorch considers that
// safe.
#pragma once

#include <ATen/autocast_mode.h>
#include <torch/types.h>

namespace muster::programs {

class [[nodiscard]] Autocast {
 public:
  Autocast(bool wanted, torch::DeviceType device)
      : wanted_(wanted),
        device_(device),
        before_(at::autocast::is_autocast_enabled(device)),
        type_before_(at::autocast::get_autocast_dtype(device)) {
    if (!wanted_) return;
    at::autocast::increment_nesting();
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::set_autocast_enabled(device_, true);
  }
  // Also clears the cache of cast weights, because the next step changes the weights.
  ~Autocast() {
    if (!wanted_) return;
    at::autocast::set_autocast_enabled(device_, before_);
    at::autocast::set_autocast_dtype(device_, type_before_);
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool wanted_;
  torch::DeviceType device_;
  bool before_;
  at::ScalarType type_before_;
};

}  // namespace muster::programs
