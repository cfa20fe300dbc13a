// The chronological order of a run's stored output. The files `out` and `err` in the run's folder
// hold labelled lines. After each write to one of them, an entry in the file `order` records the
// time and the new size of that file. A missing entry does no harm, because the next one covers its
// bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/log_limit.hpp"
#include "sys/loop.hpp"

namespace muster::run {

struct OrderEntry {
  double unix_s = 0;
  sys::Stream stream = sys::Stream::kOut;
  std::uint64_t end = 0;  // size of the stream's file so far, in bytes

  friend bool operator==(const OrderEntry&, const OrderEntry&) = default;
};

// Returns "1763457000.123 out 4096" and a newline. parse_order_entry expects the line without its
// newline.
[[nodiscard]] std::string to_line(const OrderEntry& entry);
[[nodiscard]] std::optional<OrderEntry> parse_order_entry(std::string_view line);

// Reads a run's stored output in chronological order, each byte once, even while the run adds to
// it.
class StoredLog {
 public:
  // Gets a part of the output. Returns false when it wants no more.
  using Take = std::function<bool(sys::Stream stream, std::string_view bytes)>;

  // Skips output from before the Unix time `since_s`, in seconds; 0 skips nothing.
  explicit StoredLog(const std::string& folder, double since_s = 0);
  StoredLog(const StoredLog&) = delete;
  StoredLog& operator=(const StoredLog&) = delete;

  // Reads what was added since the last call.
  void read_new(const Take& take);
  // Reads the bytes that no entry covers. Call it once the run has ended. Such bytes exist if
  // muster was killed between two writes, the disk was full, or an older muster wrote no entries.
  void read_rest(const Take& take);

  // How many bytes could not be read because they had been dropped (see log_limit.hpp).
  [[nodiscard]] std::uint64_t dropped() const {
    return out_.stored.dropped() + err_.stored.dropped();
  }

 private:
  struct File {
    StoredFile stored;
    sys::Stream stream = sys::Stream::kOut;
    std::uint64_t wanted = 0;  // how far the entries cover it
    std::uint64_t gaps = 0;    // dropped bytes before the last byte that was taken
    char last = '\n';          // that byte
  };

  [[nodiscard]] bool read_entries();
  [[nodiscard]] std::size_t read_part(StoredFile& file, std::size_t most);
  [[nodiscard]] bool follow(const OrderEntry& entry, const Take& take);
  [[nodiscard]] bool read_wanted(File& file, const Take& take);

  std::string folder_;
  double since_s_;
  File out_;
  File err_;
  StoredFile order_;
  std::vector<char> part_ = std::vector<char>(65536);  // buffer for a part of a file
  std::string entries_;      // entries read from the file; the last one may be incomplete
  File* pending_ = nullptr;  // the file of the last entry, whose bytes are still to be read
};

}  // namespace muster::run
