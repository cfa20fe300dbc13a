// Where a rank reports its start, its program's output and its end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "agent/record.hpp"
#include "base/error.hpp"
#include "base/interface.hpp"
#include "sys/loop.hpp"

namespace muster::agent {

class RankVoice : public Interface {
 public:
  // `out` and `err` are the descriptors from which the program's output is read.
  virtual void start(const RankStart& start, int out, int err) = 0;
  virtual void output(sys::Stream stream, std::uint64_t at, std::string_view bytes) = 0;
  virtual void end(const RankEnd& end) = 0;

  // Whether more output can be taken now. If not, the program has to wait.
  [[nodiscard]] virtual bool has_room() const = 0;
  // The descriptor to poll for `events`, or -1.
  [[nodiscard]] virtual int descriptor() const = 0;
  [[nodiscard]] virtual short events() const = 0;
  // Must be called after each poll in which `events` occurred, or while there is no descriptor.
  virtual void go_on() = 0;
  // Since when nobody has been listening; nothing while somebody is.
  [[nodiscard]] virtual std::optional<std::chrono::steady_clock::time_point> alone_since()
      const = 0;
  // The PID of the process that listens; 0 if unknown.
  [[nodiscard]] virtual pid_t listener() const = 0;
  // Waits up to `patience` until everything is sent. False if something is left.
  [[nodiscard]] virtual bool finish(std::chrono::milliseconds patience) = 0;
};

// Reports to the warden of the run with this folder. The warden may start later than the rank.
[[nodiscard]] Result<std::unique_ptr<RankVoice>> speak_to_warden(
    const std::string& folder, std::chrono::milliseconds patience);

// Prints whole lines, each with the label, to our own stdout and stderr. For a rank that the user
// starts by hand.
[[nodiscard]] std::unique_ptr<RankVoice> speak_aloud(std::string label);

}  // namespace muster::agent
