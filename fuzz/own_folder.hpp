// A temporary folder for parsers that read files. It is removed when the process exits.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp

#include "require.hpp"

namespace muster::fuzz {

class OwnFolder {
 public:
  OwnFolder() : path_(std::filesystem::temp_directory_path() / "muster-test-XXXXXX") {
    require(::mkdtemp(path_.data()) != nullptr, "a folder can be made");
  }
  ~OwnFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

  // Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view content) const {
    std::string file = path_ + "/" + name;
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    stream.write(content.data(), static_cast<std::streamsize>(content.size()));
    return file;
  }

 private:
  std::string path_;
};

inline const OwnFolder& own_folder() {
  static const OwnFolder folder;
  return folder;
}

}  // namespace muster::fuzz
