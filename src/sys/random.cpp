#include "sys/random.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace muster::sys {

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> random(bytes);
  // Fails only for more than 256 bytes, or where the kernel forbids it: then nothing would be
  // secret.
  if (::getentropy(random.data(), random.size()) != 0) {
    std::fputs("muster: the kernel gives no random numbers\n", stderr);
    std::abort();
  }
  return fmt::format("{:02x}", fmt::join(random, ""));
}

}  // namespace muster::sys
