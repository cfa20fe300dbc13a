// A folder for one test; it is removed afterwards.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace muster::sys {

class TempFolder {
 public:
  TempFolder() : TempFolder(testing::TempDir()) {}
  // `parent` must end with a slash.
  explicit TempFolder(const std::string& parent) : path_(parent + "muster-test-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "cannot make " << path_;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// For tests that all need such a folder.
class FolderTest : public testing::Test {
 protected:
  const TempFolder temp_ = {};
  const std::string folder_ = temp_.path();
};

}  // namespace muster::sys
