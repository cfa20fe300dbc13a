// The kernel's log in /dev/kmsg.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::facts {

// Reads from the current position of the descriptor to the end. Each record is a line such as
// "4,1234,5678901,-;text". Fails if the log may not be read.
[[nodiscard]] Result<std::string> read_kernel_records(int kmsg);

// The texts of records that may explain why a program failed: memory that ran out, GPUs, hardware
// errors, disks and links. Returns the first and the last ones, at most kMostKernelLines. Pure.
constexpr std::size_t kMostKernelLines = 100;
constexpr std::size_t kLongestKernelLine = 400;
[[nodiscard]] std::vector<std::string> telling_kernel_lines(std::string_view records);

// Reads what the kernel logs from now on, if that is permitted.
class KernelWatch {
 public:
  explicit KernelWatch(const std::string& kmsg = "/dev/kmsg");
  // The lines since the previous call.
  [[nodiscard]] std::vector<std::string> new_telling_lines();

 private:
  sys::Fd kmsg_;
};

}  // namespace muster::facts
