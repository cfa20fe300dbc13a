// Finds Python tracebacks in the interleaved lines of many ranks. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/source_label.hpp"

namespace muster::explain {

struct Frame {
  std::string file;
  int line = 0;
  std::string function;
};

struct Exception {
  std::string type;     // "ValueError"
  std::string message;  // "" if it has none
  std::string said;     // the line with type and message, including the type's module
  Frame frame = {};     // the innermost frame in the user's code, or else the innermost of all
  bool is_users = false;
  bool is_ignored = false;    // ignored by Python, as in __del__
  bool is_elsewhere = false;  // in a thread or process started by the program
  // The first exception of a chain, if this is the last one of it.
  std::shared_ptr<const Exception> first = nullptr;
  Origin origin = {};
  std::uint64_t line = 0;  // line number of the message in the log
};

class Tracebacks {
 public:
  // Takes a line without its labels. Returns an exception once it is complete, which means that no
  // other is chained to it.
  std::optional<Exception> take(const Origin& origin, std::string_view text, std::uint64_t line);
  // Ends a file: returns the exceptions after which nothing else came, and forgets unfinished
  // tracebacks.
  [[nodiscard]] std::vector<Exception> rest();

 private:
  // A traceback of which more lines may follow.
  struct Open {
    std::string prefix;  // text before "Traceback" in its first line, such as a time
    std::optional<Frame> last;
    std::optional<Frame> users;
    int lines = 0;
    int others = 0;  // lines in it that do not belong to it
    std::string announced_by;
  };
  void begin(const Origin& origin, std::string_view prefix);
  void take_line(const Origin& origin, std::string_view text, std::uint64_t line);
  void end(const Origin& origin, std::string_view text, std::uint64_t line);
  std::optional<Exception> after_end(const Origin& origin, std::string_view text);

  std::map<Origin, std::string> announced_;  // the line above a traceback, by origin
  std::map<Origin, Open> open_;
  std::map<Origin, Exception> ended_;  // complete unless another one is chained to it
  std::map<Origin, std::shared_ptr<const Exception>> chained_;
};

// Returns "ValueError: no such shard".
[[nodiscard]] std::string headline(const Exception& exception);

// Whether the file is the user's own, and belongs neither to an installed package nor to Python.
[[nodiscard]] bool is_users_file(std::string_view file);

}  // namespace muster::explain
