// Bounds what a run's directory stores of the output (`--log-limit`).
//
// The oldest output is dropped, at the beginning of each file. What is left keeps its position, so
// that the entries of log_order.hpp stay right: the file system frees the bytes before it (the file
// becomes sparse). The file `dropped` in the run's folder says where each file begins now. It is
// written before bytes are freed. A reader that reads the bytes first and this file second knows
// which bytes are real; see StoredFile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <sys/types.h>

#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::run {

// By file, as a path in the run's folder such as "out" or "ranks/0.out": the position of its first
// byte that is left. Files that are not listed are whole.
using LogBegins = std::map<std::string, std::uint64_t>;

[[nodiscard]] LogBegins read_log_begins(const std::string& folder);
// The same for one file.
[[nodiscard]] std::uint64_t log_begin(const std::string& folder, const std::string& file);

// Reads a file of a run's folder without the bytes that were dropped, even if that happens while it
// reads.
class StoredFile {
 public:
  // The file may begin to exist later.
  StoredFile(std::string folder, std::string name)
      : folder_(std::move(folder)), name_(std::move(name)) {}

  // Reads up to `most` bytes from the position, or from the first byte after it that is left, and
  // moves the position behind them. Returns 0 at the end, and -1 if a read fails; errno has the
  // reason.
  [[nodiscard]] ssize_t read(char* to, std::size_t most);
  // How many bytes were left out because they had been dropped.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

  [[nodiscard]] bool open();  // whether the file exists and can be read
  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] std::uint64_t position() const { return at_; }
  void move_to(std::uint64_t position) { at_ = position; }

 private:
  std::string folder_;
  std::string name_;
  sys::Fd file_;
  std::uint64_t at_ = 0;
  std::uint64_t dropped_ = 0;
};

class LogLimit {
 public:
  static constexpr std::uint64_t kSmallest = std::uint64_t{1} << 20;
  // So much of each file is left at least, so that the last words of each rank are.
  static constexpr std::uint64_t kLeftOfEach = std::uint64_t{64} << 10;
  // Files of up to this size stay whole.
  static constexpr std::uint64_t kWhole = 2 * kLeftOfEach;

  // The smallest limit that muster can keep for so many ranks: two whole files per rank, the same
  // lines in the files of all ranks, and some room for new lines.
  [[nodiscard]] static std::uint64_t smallest(int ranks);

  // `most` is in bytes, for all files together; 0: no limit.
  LogLimit(std::string folder, std::uint64_t most)
      : folder_(std::move(folder)), most_(most), look_at_(most) {}

  // Fails if the limit is too small for so many ranks, or if the file system of the folder cannot
  // free the beginning of a file.
  [[nodiscard]] Result<void> check(int ranks) const;
  // Must be called after bytes were appended to a file.
  void wrote(const std::string& file, std::uint64_t bytes);
  // Drops old output because the disk is nearly full, and returns how many bytes. 0: there is no
  // limit, or nothing to drop.
  std::uint64_t free_some() { return most_ == 0 ? 0 : make_room(stored_); }

  // How much was dropped of the lines of all ranks, in bytes.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  struct Stored {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    [[nodiscard]] std::uint64_t size() const { return end - begin; }
  };

  std::uint64_t make_room(std::uint64_t most);
  [[nodiscard]] LogBegins plan(std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t line_after(const std::string& file, std::uint64_t at) const;
  [[nodiscard]] bool note(const LogBegins& dropped) const;

  std::string folder_;
  std::uint64_t most_;
  std::uint64_t look_at_;     // make_room is called when more than this is stored
  std::uint64_t stored_ = 0;  // bytes of all files together
  std::map<std::string, Stored> files_;
};

// Says that the oldest `bytes` of this output are gone. `output` is "this run's output" or such.
[[nodiscard]] std::string dropped_text(std::uint64_t bytes, const std::string& output);

}  // namespace muster::run
