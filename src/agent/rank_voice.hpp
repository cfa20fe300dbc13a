// Where a rank says what it does and what its program writes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "agent/record.hpp"
#include "base/error.hpp"
#include "sys/loop.hpp"

namespace muster::agent {

class RankVoice {
 public:
  RankVoice() = default;
  RankVoice(const RankVoice&) = delete;
  RankVoice& operator=(const RankVoice&) = delete;
  virtual ~RankVoice() = default;

  virtual void start(const RankStart& start) = 0;
  virtual void output(sys::Stream stream, std::uint64_t at, std::string_view bytes) = 0;
  virtual void end(const RankEnd& end) = 0;

  // Whether more output can be taken now; while it cannot, the program is held up.
  [[nodiscard]] virtual bool has_room() const = 0;
  // To be waited for; -1: nothing. `events`: what for.
  [[nodiscard]] virtual int descriptor() const = 0;
  [[nodiscard]] virtual short events() const = 0;
  // After waiting.
  virtual void go_on() = 0;
  // Waits until everything was said, but not longer. False: not everything.
  [[nodiscard]] virtual bool finish(std::chrono::milliseconds patience) = 0;
};

// The warden of the run with this folder, which may be slower to begin than the rank.
[[nodiscard]] Result<std::unique_ptr<RankVoice>> speak_to_warden(
    const std::string& folder, std::chrono::milliseconds patience);

// Our own standard output and error, in whole lines, each with the label: for a rank that is
// started by hand.
[[nodiscard]] std::unique_ptr<RankVoice> speak_aloud(std::string label);

}  // namespace muster::agent
