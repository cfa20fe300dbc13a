// Python tracebacks, found in the interleaved lines of many ranks. Pure.
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
  std::string said;     // its line, with the module of the type
  Frame frame = {};     // the innermost one of the user's own code, else the innermost of all
  bool is_users = false;
  bool is_ignored = false;    // by Python itself, as in __del__
  bool is_elsewhere = false;  // in a thread or process that the program started
  std::shared_ptr<const Exception> first = nullptr;  // of a chain, if this is its last one
  Origin origin = {};
  std::uint64_t line = 0;  // of the message, in the log
};

class Tracebacks {
 public:
  // Takes a line without its labels. Returns an exception that is known to be complete: the last of
  // its chain.
  std::optional<Exception> take(const Origin& origin, std::string_view text, std::uint64_t line);
  // At the end of a file: those after which nothing else came. Forgets what has not ended.
  [[nodiscard]] std::vector<Exception> rest();

 private:
  // A traceback that is being printed.
  struct Open {
    std::string prefix;  // what the program prints before "Traceback", such as a time
    std::optional<Frame> last;
    std::optional<Frame> users;
    int lines = 0;
    int others = 0;  // lines that do not belong to it
    std::string announced_by;
  };
  void begin(const Origin& origin, std::string_view prefix);
  void take_line(const Origin& origin, std::string_view text, std::uint64_t line);
  void end(const Origin& origin, std::string_view text, std::uint64_t line);
  std::optional<Exception> after_end(const Origin& origin, std::string_view text);

  std::map<Origin, std::string> announced_;  // the line above
  std::map<Origin, Open> open_;
  std::map<Origin, Exception> ended_;  // others may be chained to these
  std::map<Origin, std::shared_ptr<const Exception>> chained_;
};

// "ValueError: no such shard"
[[nodiscard]] std::string headline(const Exception& exception);

// Whether the file is the user's own, and not of an installed package or of Python itself.
[[nodiscard]] bool is_users_file(std::string_view file);

}  // namespace muster::explain
