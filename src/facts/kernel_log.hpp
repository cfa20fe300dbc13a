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

// Returns the texts of the records that may explain why a program failed: memory ran out, or a GPU,
// other hardware, a disk or a network link failed. If there are more than kMostKernelLines, returns
// only the first and the last ones. Pure.
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
