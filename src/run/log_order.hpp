// The order in time of a run's stored output. Labelled lines are in the files `out` and `err` of
// the run's folder. After each write to one of them, an entry in the file `order` says when that
// was and where the file ends now. An entry that is missing costs nothing: the next one covers it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/file.hpp"
#include "sys/loop.hpp"

namespace muster::run {

struct OrderEntry {
  double unix_s = 0;
  sys::Stream stream = sys::Stream::kOut;
  std::uint64_t end = 0;  // of the stream's file, in bytes

  friend bool operator==(const OrderEntry&, const OrderEntry&) = default;
};

// "1763457000.123 out 4096" and a newline; and back, without the newline.
[[nodiscard]] std::string to_line(const OrderEntry& entry);
[[nodiscard]] std::optional<OrderEntry> parse_order_entry(std::string_view line);

// Reads a run's stored output in its order in time, each byte once, also while the run adds to it.
class StoredLog {
 public:
  // Gets a part of the output; false: it wants no more.
  using Take = std::function<bool(sys::Stream stream, std::string_view bytes)>;

  // `since_s`: output that is older is left out.
  explicit StoredLog(const std::string& folder, double since_s = 0);
  StoredLog(const StoredLog&) = delete;
  StoredLog& operator=(const StoredLog&) = delete;

  // What has come since the last call.
  void read_new(const Take& take);
  // What no entry covers, once the run has ended: muster was killed between two writes, its disk
  // was full, or it was an old muster that wrote no entries.
  void read_rest(const Take& take);

 private:
  struct File {
    std::string path;
    sys::Stream stream = sys::Stream::kOut;
    sys::Fd descriptor = {};
    std::uint64_t at = 0;      // read so far
    std::uint64_t wanted = 0;  // that entries cover
  };

  [[nodiscard]] bool read_entries();
  [[nodiscard]] bool follow(const OrderEntry& entry, const Take& take);
  [[nodiscard]] bool read_wanted(File& file, const Take& take);

  double since_s_;
  File out_;
  File err_;
  File order_;
  std::vector<char> part_ = std::vector<char>(65536);  // of a file, as it was read
  std::string entries_;      // read from the file, the last one perhaps incomplete
  File* pending_ = nullptr;  // the stream of the last entry
};

}  // namespace muster::run
