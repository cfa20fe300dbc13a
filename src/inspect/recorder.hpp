// Queries the recorders in the ranks' processes, which are HTTP servers on local sockets.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "inspect/deadline.hpp"
#include "sys/file.hpp"

namespace muster::inspect {

enum class Answered { kYes, kNotInTime, kNo };

struct RecorderAnswer {
  Answered answered = Answered::kNo;
  std::string body = {};
};

// Parses an HTTP response. Returns nothing if it is incomplete but the rest may still arrive,
// because the connection has not ended.
[[nodiscard]] std::optional<RecorderAnswer> parse_http(std::string_view text, bool has_ended);

struct Recorder {
  std::string name;  // name of the recorder's socket in the folder
  pid_t pid = 0;     // PID of the listening process
};

class Recorders {
 public:
  // Finds the sockets in the folder on which processes in `ours` listen. Ignores others, because
  // any process could give false answers there.
  Recorders(const std::string& folder, std::span<const pid_t> ours);

  [[nodiscard]] const std::vector<Recorder>& list() const { return list_; }
  [[nodiscard]] RecorderAnswer ask(const std::string& name, std::string_view handler,
                                   Deadline deadline) const;

 private:
  sys::Fd folder_;
  std::vector<Recorder> list_;
};

}  // namespace muster::inspect
