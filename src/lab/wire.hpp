// A cable in user space: carries frames between two interfaces and delays and loses them.
// It is here because many kernels are built without netem.
#pragma once

#include <string>

#include "base/error.hpp"
#include "lab/shape.hpp"
#include "sys/file.hpp"

namespace muster::lab {

class Wire {
 public:
  // `one` leads to the host, `other` to the network. The shape's rate is the kernel's to keep. The
  // interfaces are of the calling process's network
  // namespace.
  [[nodiscard]] static Result<Wire> open(const std::string& one, const std::string& other,
                                         const Shape& shape);

  // Carries frames until the process ends.
  void carry();

 private:
  Wire(sys::Fd one, sys::Fd other, const Shape& shape);

  sys::Fd ends_[2];
  Shape shape_;
};

}  // namespace muster::lab
