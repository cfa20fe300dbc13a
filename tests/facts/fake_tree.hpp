// A folder of small files for a probe to read instead of /sys or /proc; gone after the test.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace muster::facts {

inline constexpr auto kDeadline = std::chrono::seconds(30);  // for a command that a probe asks

class FakeTree {
 public:
  FakeTree() {
    std::string pattern = testing::TempDir() + "/muster-facts-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;
  ~FakeTree() { std::filesystem::remove_all(root_); }

  [[nodiscard]] const std::string& root() const { return root_; }

  // Its path.
  std::string write(const std::string& name, const std::string& content, int mode = 0644) {
    const std::string path = root_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << content;
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
    return path;
  }

 private:
  std::string root_;
};

}  // namespace muster::facts
