// A log of any launcher, read piece by piece, as `muster explain` does.
#include <cstdint>
#include <string>
#include <string_view>

#include "catalogue/catalogue.hpp"
#include "explain/explanation.hpp"
#include "explain/text.hpp"
#include "require.hpp"

namespace muster::fuzz {
namespace {

const explain::Matcher& matcher() {
  static const explain::Matcher made(catalogue::failures());
  return made;
}

explain::Explanation explained(std::string_view log, std::size_t piece) {
  explain::Scan scan(matcher());
  scan.begin("log");
  for (std::size_t at = 0; at < log.size(); at += piece) scan.take(log.substr(at, piece));
  return explain::explain(scan.finish());
}

void read_log(std::string_view log) {
  const explain::Explanation found = explained(log, 7);
  const std::string text = explain::full_text(found, 80);
  require_printable(text);
  require(text == explain::full_text(explained(log, 1000), 80), "pieces make no difference");
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::read_log({reinterpret_cast<const char*>(data), size});
  return 0;
}
