#include "sys/hash.hpp"

#include <cerrno>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "sys/file.hpp"

namespace muster::sys {
namespace {

std::string hexadecimal(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

Result<Fd> open_regular(const std::string& path) {
  // O_NONBLOCK, because opening a FIFO would wait for its writer.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return unexpected(system_error("cannot open the file", path));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) {
    return unexpected(system_error("cannot examine the file", path));
  }
  if (S_ISREG(status.st_mode)) return fd;
  return unexpected(Error{.what = "this is not a regular file", .where = {.file = path}});
}

}  // namespace

std::string hash_text(std::string_view text) {
  return hexadecimal(XXH3_128bits(text.data(), text.size()));
}

Result<std::string> hash_file(const std::string& path) {
  MUSTER_TRY(const Fd fd, open_regular(path));
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  XXH3_128bits_reset(state.get());
  const bool is_read = read_pieces(fd.get(), [&](std::string_view piece) {
    return XXH3_128bits_update(state.get(), piece.data(), piece.size()) == XXH_OK;
  });
  if (!is_read) return unexpected(system_error("cannot read the file", path));
  return hexadecimal(XXH3_128bits_digest(state.get()));
}

}  // namespace muster::sys
