// A cable in user space: it carries frames between two interfaces, and can delay or lose them.
// Needed because many kernels are built without netem.
#pragma once

#include <string>

#include "base/error.hpp"
#include "lab/shape.hpp"
#include "sys/file.hpp"

namespace muster::lab {

class Wire {
 public:
  // `one` leads to the host, and `other` to the network. The kernel enforces the shape's rate. The
  // interfaces must be in the network namespace of the calling process.
  [[nodiscard]] static Result<Wire> open(const std::string& one, const std::string& other,
                                         const Shape& shape);

  // Carries frames as long as the process lives.
  void carry();

 private:
  Wire(sys::Fd one, sys::Fd other, const Shape& shape);

  sys::Fd ends_[2];
  Shape shape_;
};

}  // namespace muster::lab
