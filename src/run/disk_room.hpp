// Decides whether output may still be written to the disk of the run's folder. Ranks that print
// without end must leave room for the run's record and for other programs.
#pragma once

#include <cstddef>
#include <string>

namespace muster::run {

class DiskRoom {
 public:
  explicit DiskRoom(std::string folder) : folder_(std::move(folder)) {}

  // Whether another `bytes` bytes fit.
  [[nodiscard]] bool has(std::size_t bytes);

 private:
  std::string folder_;
  // How many more bytes may be written before the free space is checked. Most runs print less than
  // the initial value and never check.
  std::size_t before_look_ = std::size_t{16} << 20;
  bool is_short_ = false;
};

}  // namespace muster::run
