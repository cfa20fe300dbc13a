#include "sys/random.hpp"

#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace muster::sys {

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> random(bytes);
  if (::getentropy(random.data(), random.size()) != 0) {
    // Fails for more than 256 bytes, or if the kernel forbids it.
    throw std::runtime_error("the kernel gives no random numbers");
  }
  return fmt::format("{:02x}", fmt::join(random, ""));
}

}  // namespace muster::sys
