// The project folder that `run --sync` sends to the hosts: its files, and the mark that shows
// whether a host shares the very same folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace muster::remote {

struct Project {
  // Paths below the folder, sorted.
  std::vector<std::string> files = {};
  std::vector<std::string> others = {};  // symbolic links and empty folders
  std::uint64_t bytes = 0;
};

// Lists the folder without .git, __pycache__ and what .gitignore or .musterignore exclude;
// .musterignore takes precedence. In a git work tree the .gitignore files above the folder count
// too. Fails if a file cannot be read, if everything is excluded, or if the folder is the home
// folder or contains it. Cost: one look at each file.
[[nodiscard]] Result<Project> read_project(const std::string& folder);

// A file with a unique name in a local folder, removed on destruction. A host that sees the file
// shares the folder with this machine.
class SharedMark {
 public:
  explicit SharedMark(const std::string& folder);
  SharedMark(const SharedMark&) = delete;
  SharedMark& operator=(const SharedMark&) = delete;
  ~SharedMark();

  void remove();

  // The name of the file, without its folder; "" if it could not be created.
  [[nodiscard]] std::string name() const { return path_.substr(path_.rfind('/') + 1); }

 private:
  std::string path_;
};

}  // namespace muster::remote
