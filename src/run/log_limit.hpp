// Bounds what a run's directory stores of the output (`--log-limit`).
//
// The oldest output is dropped, at the beginning of each file. What is left keeps its position, so
// that the entries of log_order.hpp stay right: the file system frees the bytes before it (the file
// becomes sparse). The file `dropped` in the run's folder says where each file begins now. It is
// written before bytes are freed. So whoever reads bytes first and `dropped` afterwards knows which
// of these bytes are real.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/error.hpp"

namespace muster::run {

// By file, as a path in the run's folder such as "out" or "ranks/0.out": the position of its first
// byte that is left. Files that are not listed are whole.
using LogBegins = std::map<std::string, std::uint64_t>;

[[nodiscard]] LogBegins read_log_begins(const std::string& folder);
// The same for one file.
[[nodiscard]] std::uint64_t log_begin(const std::string& folder, const std::string& file);

class LogLimit {
 public:
  static constexpr std::uint64_t kSmallest = std::uint64_t{1} << 20;
  // Files of up to this size stay whole, so that the last words of each rank are left.
  static constexpr std::uint64_t kLeftOfEach = std::uint64_t{64} << 10;

  // `most` is in bytes, for all files together; 0: no limit.
  LogLimit(std::string folder, std::uint64_t most)
      : folder_(std::move(folder)), most_(most), look_at_(most) {}

  // Fails if the file system of the folder cannot free the beginning of a file.
  [[nodiscard]] Result<void> check() const;
  // Must be called after bytes were appended to a file.
  void wrote(const std::string& file, std::uint64_t bytes);

  // How much was dropped of the lines of all ranks, in bytes.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  struct Stored {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    [[nodiscard]] std::uint64_t size() const { return end - begin; }
  };

  void make_room();
  [[nodiscard]] std::uint64_t line_after(const std::string& file, std::uint64_t at) const;
  [[nodiscard]] bool note_begins() const;

  std::string folder_;
  std::uint64_t most_;
  std::uint64_t look_at_;     // make_room is called when more than this is stored
  std::uint64_t stored_ = 0;  // bytes of all files together
  std::map<std::string, Stored> files_;
};

// Says that the oldest `bytes` of the run's output are gone.
[[nodiscard]] std::string dropped_text(std::uint64_t bytes);

}  // namespace muster::run
