// A folder of small files that a probe reads instead of /sys or /proc. Removed after the test.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "sys/temp_folder.hpp"

namespace muster::facts {

inline constexpr auto kDeadline = std::chrono::seconds(30);  // for commands that a probe runs

class FakeTree {
 public:
  [[nodiscard]] const std::string& root() const { return folder_.path(); }

  // Returns the file's path.
  std::string write(const std::string& name, const std::string& content, int mode = 0644) {
    const std::string path = root() + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << content;
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
    return path;
  }

 private:
  sys::TempFolder folder_;
};

}  // namespace muster::facts
