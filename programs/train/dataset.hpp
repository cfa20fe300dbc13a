// Images with labels, in memory, as stored in their files.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace muster::programs {

// A file that was read. All ranks must have read the same content.
struct DataFile {
  std::string name;
  std::string hash;  // XXH3, 128 bits, hexadecimal
};

struct ImageSet {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> pixels;  // image by image, plane by plane, row by row
  std::vector<uint8_t> labels;

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(labels.size()); }
  [[nodiscard]] int64_t image_bytes() const { return channels * height * width; }
  [[nodiscard]] const uint8_t* image(int64_t index) const {
    return pixels.data() + index * image_bytes();
  }
};

struct Dataset {
  std::string name;
  ImageSet train;
  ImageSet test;  // the held-out images
  int64_t classes = 10;
  std::vector<DataFile> files;
};

// A file has invalid content. The text names the file, the offset and what to do.
class BadFile : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Reads a whole regular file, and adds its name and hash to `files`.
[[nodiscard]] std::vector<uint8_t> read_data_file(const std::string& folder,
                                                  const std::string& name,
                                                  std::vector<DataFile>& files);

// Compares the files with checksums.json (name to hash) in that folder, if it exists.
void verify_checksums(const std::string& folder, const std::vector<DataFile>& files);

}  // namespace muster::programs
