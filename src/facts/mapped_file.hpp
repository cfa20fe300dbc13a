// A file's bytes, mapped and not read as a whole: of a library of 15 MB only the strings are
// looked at.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::facts {

// Private to us and read-only. A file that is cut shorter meanwhile ends the process (SIGBUS), so
// only for installed programs and libraries, which are replaced and not rewritten.
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
