// Every line of tests/catalogue/lines, quoted from real logs, shows the failure under which it is
// listed and no other cause.
#include <algorithm>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "explain/scanned.hpp"

namespace muster::explain {
namespace {

struct Quoted {
  std::string id;  // "healthy": the line must show no cause
  std::string line;
  std::set<std::string> also;
};

std::vector<Quoted> quoted_lines() {
  std::vector<Quoted> lines;
  for (const auto& file : std::filesystem::directory_iterator(MUSTER_LINES)) {
    const YAML::Node topic = YAML::LoadFile(file.path().string());
    for (const auto& entry : topic) {
      for (const YAML::Node& one : entry.second) {
        Quoted quoted{entry.first.as<std::string>(), one["line"].as<std::string>(), {}};
        for (const YAML::Node& also : one["also"]) quoted.also.insert(also.as<std::string>());
        lines.push_back(std::move(quoted));
      }
    }
  }
  return lines;
}

// Returns the failures that each line shows.
std::vector<std::set<const catalogue::Failure*>> seen_in(const std::vector<Quoted>& lines) {
  std::vector<std::set<const catalogue::Failure*>> seen;
  for (const Quoted& quoted : lines) {
    auto& of_line = seen.emplace_back();
    for (const SeenFailure& one : scanned(quoted.line).failures) of_line.insert(one.failure);
  }
  return seen;
}

TEST(QuotedLines, ShowTheirFailureAndNoOtherCause) {
  const auto lines = quoted_lines();
  ASSERT_GT(lines.size(), 700u);
  const auto seen = seen_in(lines);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Quoted& quoted = lines[i];
    const auto& found = seen[i];
    const bool is_healthy = quoted.id == "healthy";
    const bool is_seen = std::any_of(found.begin(), found.end(),
                                     [&](const auto* one) { return one->id == quoted.id; });
    EXPECT_TRUE(is_healthy || is_seen) << quoted.id << ": " << quoted.line;
    for (const catalogue::Failure* one : found) {
      if (one->kind != catalogue::Kind::kCause || one->id == quoted.id) continue;
      EXPECT_TRUE(quoted.also.contains(one->id)) << one->id << " is seen in: " << quoted.line;
    }
  }
}

TEST(QuotedLines, AreThereForEveryFailureThatALogCanShow) {
  std::set<std::string> quoted;
  for (const Quoted& line : quoted_lines()) quoted.insert(line.id);
  for (const catalogue::Failure& failure : catalogue::failures()) {
    EXPECT_TRUE(failure.patterns.empty() || quoted.contains(failure.id)) << failure.id;
  }
}

}  // namespace
}  // namespace muster::explain
