// The log of the kernel, as /dev/kmsg hands it out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::facts {

// From where the descriptor is to the end. Each record is a line such as "4,1234,5678901,-;text".
// An Error where it may not be read.
[[nodiscard]] Result<std::string> read_kernel_records(int kmsg);

// The texts of records that may explain why a program failed: memory that ran out, GPUs, hardware
// errors, disks and links. At most kMostKernelLines: the first and the last ones. Pure.
constexpr std::size_t kMostKernelLines = 100;
constexpr std::size_t kLongestKernelLine = 400;
[[nodiscard]] std::vector<std::string> telling_kernel_lines(std::string_view records);

// What the kernel says from now on, if it may be read.
class KernelWatch {
 public:
  explicit KernelWatch(const std::string& kmsg = "/dev/kmsg");
  // Since the last call.
  [[nodiscard]] std::vector<std::string> new_telling_lines();

 private:
  sys::Fd kmsg_;
};

}  // namespace muster::facts
