#include "programs/train/cifar10.hpp"

#include <filesystem>

#include "programs/train/cifar10_pickle.hpp"

namespace muster::programs {
namespace {

constexpr int64_t kSide = 32;
constexpr int64_t kChannels = 3;
constexpr int64_t kPixels = kChannels * kSide * kSide;
constexpr int64_t kRecord = 1 + kPixels;  // the label, then the red, green and blue planes
constexpr int64_t kClasses = 10;

void read_records(const std::string& folder, const std::string& name, ImageSet& set,
                  std::vector<DataFile>& files) {
  const std::vector<uint8_t> bytes = read_data_file(folder, name, files);
  const std::string path = folder + "/" + name;
  const auto size = static_cast<int64_t>(bytes.size());
  if (size == 0 || size % kRecord != 0) {
    throw BadFile(path + " has " + std::to_string(size) +
                  " bytes, which is not a multiple of the record size " + std::to_string(kRecord) +
                  ": the file is cut off or not a CIFAR-10 batch, copy it again");
  }
  set.pixels.reserve(set.pixels.size() + bytes.size());
  for (int64_t at = 0; at < size; at += kRecord) {
    const uint8_t label = bytes[static_cast<size_t>(at)];
    if (label >= kClasses) {
      throw BadFile(path + ": offset " + std::to_string(at) + ": the label is " +
                    std::to_string(label) + ", but labels are 0 to 9");
    }
    set.labels.push_back(label);
    set.pixels.insert(set.pixels.end(), bytes.begin() + at + 1, bytes.begin() + at + kRecord);
  }
}

void read_pickle(const std::string& folder, const std::string& name, ImageSet& set,
                 std::vector<DataFile>& files) {
  const std::vector<uint8_t> bytes = read_data_file(folder, name, files);
  add_cifar10_pickle(folder + "/" + name, bytes, set);
}

// Returns the folder with the batches. If both versions are present, prefers the binary one: its
// images are the same, and it is faster to read.
std::string folder_with_batches(const std::string& given) {
  for (const char* const below : {"/cifar-10-batches-bin", "/cifar-10-batches-py"}) {
    if (std::filesystem::is_directory(given + below)) return given + below;
  }
  for (const char* const archive : {"/cifar-10-binary.tar.gz", "/cifar-10-python.tar.gz"}) {
    const bool unpacked = std::filesystem::exists(given + "/data_batch_1.bin") ||
                          std::filesystem::exists(given + "/data_batch_1");
    if (unpacked || !std::filesystem::exists(given + archive)) continue;
    throw BadFile(given + archive + " is not unpacked: tar -xzf " + given + archive + " -C " +
                  given);
  }
  return given;
}

}  // namespace

Dataset read_cifar10(const std::string& given) {
  const std::string folder = folder_with_batches(given);
  const bool pickled = !std::filesystem::exists(folder + "/data_batch_1.bin") &&
                       std::filesystem::exists(folder + "/data_batch_1");
  const ImageSet empty{.channels = kChannels, .height = kSide, .width = kSide};
  Dataset data{.name = "CIFAR-10", .train = empty, .test = empty, .classes = kClasses};
  const auto read = [&](const std::string& name, ImageSet& set) {
    if (pickled) return read_pickle(folder, name, set, data.files);
    read_records(folder, name + ".bin", set, data.files);
  };
  for (int i = 1; i <= 5; ++i) read("data_batch_" + std::to_string(i), data.train);
  read("test_batch", data.test);
  verify_checksums(folder, data.files);
  return data;
}

}  // namespace muster::programs
