#include "programs/train/dataset.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace muster::programs {
namespace {

// 64 GiB; real files of these kinds are much smaller.
constexpr int64_t kMostBytes = int64_t{1} << 36;

std::string hash_of(const std::vector<uint8_t>& bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

class OpenFile {
 public:
  // O_NONBLOCK, because opening a FIFO would wait for its writer.
  explicit OpenFile(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

std::vector<uint8_t> read_data_file(const std::string& folder, const std::string& name,
                                    std::vector<DataFile>& files) {
  const std::string path = folder + "/" + name;
  const OpenFile file(path);
  if (file.get() < 0) {
    const int why = errno;
    if (why == ENOENT && std::filesystem::exists(path + ".gz")) {
      throw BadFile(path + " does not exist, but " + name + ".gz does: unpack it with gunzip");
    }
    throw BadFile("cannot open " + path + ": " + std::strerror(why) +
                  "; --dataset-dir must name the directory of the data set on every host (muster "
                  "sync copies it)");
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw BadFile(path + " is not a regular file");
  }
  if (status.st_size > kMostBytes) throw BadFile(path + " is too large for this kind of file");
  std::vector<uint8_t> bytes(static_cast<size_t>(status.st_size));
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw BadFile("cannot read " + path + ": " + std::strerror(errno));
    if (got == 0) throw BadFile(path + " became shorter while it was read");
    have += static_cast<size_t>(got);
  }
  files.push_back({.name = name, .hash = hash_of(bytes)});
  return bytes;
}

void verify_checksums(const std::string& folder, const std::vector<DataFile>& files) {
  const std::string path = folder + "/checksums.json";
  std::ifstream stream(path);
  if (!stream) return;
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  const auto sums = parse_json(text).value_or(nlohmann::json());
  if (!sums.is_object()) {
    throw BadFile(path + " is not a JSON object of file names and hashes: correct or remove it");
  }
  for (const DataFile& file : files) {
    const auto found = sums.find(file.name);
    if (found == sums.end()) continue;
    if (found->is_string() && found->get<std::string>() == file.hash) continue;
    throw BadFile(folder + "/" + file.name + " has the XXH3-128 hash " + file.hash +
                  ", not the one in checksums.json: copy the file again");
  }
}

}  // namespace muster::programs
