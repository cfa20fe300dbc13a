// Decides whether output may still be written to the disk of the run's folder. Ranks that print
// without end must leave room for the run's record and for other programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace muster::run {

class DiskRoom {
 public:
  using IsNearlyFull = std::function<bool(const std::string& folder)>;
  // Frees some of what was written before, and returns how many bytes.
  using FreeSome = std::function<std::uint64_t()>;

  explicit DiskRoom(std::string folder, IsNearlyFull is_nearly_full = disk_is_nearly_full)
      : folder_(std::move(folder)), is_nearly_full_(std::move(is_nearly_full)) {}

  // Whether another `bytes` bytes fit. If the disk is nearly full, that is so if `free_some` frees
  // as many: they may be written without another look, so that no more is stored than before.
  [[nodiscard]] bool has(std::size_t bytes, const FreeSome& free_some = nullptr);

 private:
  [[nodiscard]] static bool disk_is_nearly_full(const std::string& folder);

  std::string folder_;
  IsNearlyFull is_nearly_full_;
  // How many more bytes may be written before the free space is checked. Most runs print less than
  // the initial value and never check.
  std::size_t before_look_ = std::size_t{16} << 20;
  bool is_short_ = false;
};

}  // namespace muster::run
