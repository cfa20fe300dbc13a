#include "why/verdict.hpp"

namespace muster::why {

std::string name_of(Kind) {
  return "unknown";
}
Verdict judge(const Scene&) {
  return {};
}
Verdict judge_slow(const Scene&) {
  return {};
}
std::string verdict_text(const Verdict& verdict) {
  return verdict.headline + "\n";
}
std::string evidence_text(const Scene&, const Verdict&) {
  return {};
}
std::string to_json(const Scene&) {
  return "{}";
}
std::string to_json(const Verdict&) {
  return "{}";
}

}  // namespace muster::why
