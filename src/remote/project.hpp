// The project folder as `run --sync` brings it to the hosts: its files, and how a host tells that
// it has the very same folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace muster::remote {

struct Project {
  // Below the folder, sorted.
  std::vector<std::string> files = {};
  std::vector<std::string> others = {};  // links and empty folders
  std::uint64_t bytes = 0;
};

// Without .git, __pycache__ and what .gitignore or .musterignore exclude; where both have a say,
// .musterignore wins. In a git work tree the .gitignore files above the folder count too. Fails if
// a file cannot be read, if everything is excluded, or if the folder is the home folder or contains
// it.
// Cost: one look at each file.
[[nodiscard]] Result<Project> read_project(const std::string& folder);

// A file with a new name, in a folder here for as long as this lives. A host that sees it shares
// the folder with this machine.
class SharedMark {
 public:
  explicit SharedMark(const std::string& folder);
  SharedMark(const SharedMark&) = delete;
  SharedMark& operator=(const SharedMark&) = delete;
  ~SharedMark();

  void remove();

  // Empty if the file could not be made.
  [[nodiscard]] std::string name() const { return path_.substr(path_.rfind('/') + 1); }

 private:
  std::string path_;
};

}  // namespace muster::remote
