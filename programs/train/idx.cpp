#include "programs/train/idx.hpp"

#include <algorithm>

namespace muster::programs {
namespace {

constexpr uint32_t kImages = 0x803;  // unsigned bytes, three dimensions
constexpr uint32_t kLabels = 0x801;
constexpr int64_t kSide = 28;
constexpr int64_t kClasses = 10;

uint32_t big_endian(const std::vector<uint8_t>& bytes, size_t at) {
  return static_cast<uint32_t>(bytes[at]) << 24 | static_cast<uint32_t>(bytes[at + 1]) << 16 |
         static_cast<uint32_t>(bytes[at + 2]) << 8 | static_cast<uint32_t>(bytes[at + 3]);
}

std::string number(int64_t value) {
  return std::to_string(value);
}

// Returns the number of items, after checking the header against the length of the file.
int64_t check_header(const std::string& path, const std::vector<uint8_t>& bytes, uint32_t magic,
                     const std::vector<int64_t>& shape) {
  const size_t header = 8 + 4 * shape.size();
  if (bytes.size() < header) {
    throw BadFile(path + " ends within its header, after " +
                  number(static_cast<int64_t>(bytes.size())) + " bytes: copy it again");
  }
  if (big_endian(bytes, 0) != magic) {
    const bool packed = bytes[0] == 0x1f && bytes[1] == 0x8b;
    throw BadFile(
        path + ": offset 0: the magic number is " + number(big_endian(bytes, 0)) + ", not " +
        number(magic) +
        (packed ? ": this is a gzip file, gunzip it" : ": this is not the expected IDX file"));
  }
  int64_t item = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t given = big_endian(bytes, 8 + 4 * i);
    if (given != shape[i]) {
      throw BadFile(path + ": offset " + number(static_cast<int64_t>(8 + 4 * i)) +
                    ": images have a side of " + number(given) + ", not " + number(shape[i]));
    }
    item *= shape[i];
  }
  const int64_t count = big_endian(bytes, 4);
  const auto there = static_cast<int64_t>(bytes.size() - header);
  if (count == 0) throw BadFile(path + ": offset 4: the file holds no items");
  if (count * item != there) {  // cannot overflow: the count has 32 bits
    throw BadFile(path + ": offset 4: it claims " + number(count) + " items, which would need " +
                  number(count * item) + " bytes, but " + number(there) +
                  " follow: the file is cut off or damaged, copy it again");
  }
  return count;
}

ImageSet read_part(const std::string& folder, const std::string& part,
                   std::vector<DataFile>& files) {
  const std::string images = part + "-images-idx3-ubyte";
  const std::string labels = part + "-labels-idx1-ubyte";
  ImageSet set{.channels = 1, .height = kSide, .width = kSide};
  set.pixels = read_data_file(folder, images, files);
  const int64_t count = check_header(folder + "/" + images, set.pixels, kImages, {kSide, kSide});
  set.pixels.erase(set.pixels.begin(), set.pixels.begin() + 16);
  set.labels = read_data_file(folder, labels, files);
  const int64_t labelled = check_header(folder + "/" + labels, set.labels, kLabels, {});
  if (labelled != count) {
    throw BadFile(folder + ": " + images + " has " + number(count) + " images and " + labels + " " +
                  number(labelled) + " labels: they do not belong together");
  }
  set.labels.erase(set.labels.begin(), set.labels.begin() + 8);
  const auto bad = std::find_if(set.labels.begin(), set.labels.end(),
                                [](uint8_t label) { return label >= kClasses; });
  if (bad != set.labels.end()) {
    throw BadFile(folder + "/" + labels + ": offset " + number(8 + (bad - set.labels.begin())) +
                  ": the label is " + number(*bad) + ", but labels are 0 to 9");
  }
  return set;
}

}  // namespace

Dataset read_mnist(const std::string& folder) {
  Dataset data{.name = "MNIST", .classes = kClasses};
  data.train = read_part(folder, "train", data.files);
  data.test = read_part(folder, "t10k", data.files);
  verify_checksums(folder, data.files);
  return data;
}

}  // namespace muster::programs
