// Python tracebacks, found in the interleaved lines of many ranks. Pure.
#pragma once

#include <cstdint>
#include <map>
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
  Frame frame = {};     // the innermost one of the user's own code, else the innermost of all
  bool is_users = false;
  std::string before = {};  // the first exception of a chain: "KeyError: 'lr'"
  Origin origin = {};
  std::uint64_t line = 0;  // of the message, in the log
};

class Tracebacks {
 public:
  // Takes a line without its labels. Returns an exception that is known to be complete: the last of
  // its chain.
  std::optional<Exception> take(const Origin& origin, std::string_view text, std::uint64_t line);
  // Those after which nothing else came.
  [[nodiscard]] std::vector<Exception> rest();

 private:
  struct Open {
    std::size_t indent = 0;  // of "Traceback", as some programs indent it
    std::vector<Frame> frames;
    std::string before;
    int lines = 0;
  };
  void begin(const Origin& origin, std::size_t indent);
  void end(const Origin& origin, std::string_view text, std::uint64_t line);
  std::optional<Exception> after_end(const Origin& origin, std::string_view text);

  std::map<Origin, Open> open_;        // tracebacks that are being printed
  std::map<Origin, Exception> ended_;  // others may be chained to these
  std::map<Origin, std::string> chained_;
};

// "ValueError: no such shard"
[[nodiscard]] std::string headline(const Exception& exception);

// Whether the file is the user's own, and not of an installed package or of Python itself.
[[nodiscard]] bool is_users_file(std::string_view file);

}  // namespace muster::explain
