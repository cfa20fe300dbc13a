#include "run/disk_room.hpp"

#include <algorithm>
#include <cstdint>

#include <sys/statvfs.h>

namespace muster::run {
namespace {

constexpr std::size_t kLookAtDiskAfter = std::size_t{256} << 10;
constexpr std::uint64_t kLeftOnDisk = std::uint64_t{256} << 20;

}  // namespace

// Whether less of the disk is free than 5 % of its size or 256 MiB, whichever is smaller.
bool DiskRoom::disk_is_nearly_full(const std::string& folder) {
  constexpr std::uint64_t kPart = 20;
  struct statvfs disk = {};
  if (::statvfs(folder.c_str(), &disk) != 0) return false;
  const std::uint64_t left = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::uint64_t size = std::uint64_t{disk.f_blocks} * disk.f_frsize;
  return left < std::min(kLeftOnDisk, size / kPart);
}

bool DiskRoom::has(std::size_t bytes, const FreeSome& free_some) {
  if (before_look_ < bytes) {
    before_look_ = kLookAtDiskAfter + bytes;
    is_short_ = is_nearly_full_(folder_);
    const std::uint64_t freed = is_short_ && free_some ? free_some() : 0;
    if (freed >= bytes && freed > 0) {
      is_short_ = false;
      before_look_ = static_cast<std::size_t>(freed);
    }
  }
  before_look_ -= bytes;
  return !is_short_;
}

}  // namespace muster::run
