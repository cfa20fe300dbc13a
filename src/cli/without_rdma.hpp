// Switches RDMA off for measurements of `muster bench`.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster::cli {

// While an object of this class exists, our environment contains variables that switch off RDMA.
// Jobs that muster starts get them.
class WithoutRdma {
 public:
  WithoutRdma() {
    for (const auto& [name, value] : kOff) {
      const char* before = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
      before_.emplace_back(name, before == nullptr ? std::nullopt : std::optional(before));
      (void)::setenv(name, value, 1);  // NOLINT(concurrency-mt-unsafe)
    }
  }
  ~WithoutRdma() {
    for (const auto& [name, value] : before_) {
      if (value) {
        (void)::setenv(name.c_str(), value->c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
      } else {
        (void)::unsetenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
      }
    }
  }
  WithoutRdma(const WithoutRdma&) = delete;
  WithoutRdma& operator=(const WithoutRdma&) = delete;

 private:
  static constexpr std::pair<const char*, const char*> kOff[] = {
      {"NCCL_IB_DISABLE", "1"}, {"UCX_TLS", "tcp,self,sm"}, {"FI_PROVIDER", "tcp"}};
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

}  // namespace muster::cli
