#include "why/verdict.hpp"

#include "base/printable.hpp"
#include "report/wrap.hpp"

namespace muster::why {
namespace {

constexpr std::size_t kWidth = 80;

}  // namespace

std::string verdict_text(const Verdict& verdict) {
  std::string text;
  for (const std::string& line : report::wrap(printable(verdict.headline), kWidth))
    text += line + "\n";
  for (const std::string& detail : verdict.details) {
    text += report::indented("  ", printable(detail), kWidth);
  }
  return text;
}

}  // namespace muster::why
