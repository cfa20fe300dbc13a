// Functions that return what `muster explain` finds in a text.
#pragma once

#include <string>
#include <vector>

#include "catalogue/catalogue.hpp"
#include "explain/explanation.hpp"

namespace muster::explain {

// The matcher of the whole catalogue, made once.
inline const Matcher& whole_matcher() {
  static const Matcher matcher(catalogue::failures());
  return matcher;
}

inline Evidence scanned(const std::string& text, int ranks = 0) {
  Scan scan(whole_matcher(), ranks);
  scan.begin("log");
  scan.take(text);
  return scan.finish();
}

struct LogFile {
  const char* name;
  std::string text;
};

inline Evidence scanned(const std::vector<LogFile>& files) {
  Scan scan(whole_matcher());
  for (const LogFile& file : files) {
    scan.begin(file.name);
    scan.take(file.text);
  }
  return scan.finish();
}

inline Evidence kernel_log(const std::string& host, const std::string& lines) {
  Scan scan(whole_matcher());
  scan.begin("kernel log of " + host, {.host = host}, false);
  scan.take(lines);
  return scan.finish();
}

inline Explanation explained(const std::string& text, const RunKnowledge& run = {}) {
  return explain(scanned(text), run);
}

}  // namespace muster::explain
