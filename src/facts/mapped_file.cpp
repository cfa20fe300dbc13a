#include "facts/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "sys/file.hpp"

namespace muster::facts {

std::optional<MappedFile> MappedFile::open(const std::string& path) {
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) || status.st_size <= 0) return std::nullopt;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (bytes == MAP_FAILED) return std::nullopt;
  return MappedFile({static_cast<const char*>(bytes), size});
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());  // NOLINT: it was never written
}

}  // namespace muster::facts
