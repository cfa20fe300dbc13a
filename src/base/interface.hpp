#pragma once

namespace muster {

// Base of classes that are used through a pointer. Their objects cannot be copied or moved.
class Interface {
 public:
  Interface() = default;
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;
  virtual ~Interface() = default;
};

}  // namespace muster
