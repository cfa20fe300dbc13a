// Maps a file into memory instead of reading it, because only the strings of a 15 MB library are
// examined.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::facts {

// A private read-only mapping. If the file is truncated meanwhile, access ends the process
// (SIGBUS). So use it only for installed programs and libraries, which are replaced and not
// rewritten.
class MappedFile {
 public:
  [[nodiscard]] static std::optional<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = {}; }
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::string_view bytes) : bytes_(bytes) {}
  std::string_view bytes_;
};

}  // namespace muster::facts
