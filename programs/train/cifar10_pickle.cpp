#include "programs/train/cifar10_pickle.hpp"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string_view>

namespace muster::programs {
namespace {

// The instructions of pickle protocol 2 that CIFAR-10's files use, with their names from Python's
// pickletools.
enum class Code : uint8_t {
  kProto = 0x80,
  kEmptyDict = '}',
  kEmptyList = ']',
  kMark = '(',
  kAppends = 'e',
  kSetItems = 'u',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kShortBinString = 'U',
  kBinString = 'T',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kBinInt = 'J',
  kGlobal = 'c',
  kTuple = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kReduce = 'R',
  kBuild = 'b',
  kNone = 'N',
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kStop = '.',
};

struct PickledPixels {
  int64_t images = 0;
  int64_t bytes_each = 0;
  // Fortran order: the first byte of every image, then the second of every image.
  bool column_after_column = false;
  std::span<const uint8_t> bytes;
};

struct PickledBatch {
  std::vector<uint8_t> labels;
  PickledPixels pixels;
};

class PickleReader {
 public:
  PickleReader(const std::string& path, std::span<const uint8_t> bytes)
      : path_(path), bytes_(bytes) {}

  [[nodiscard]] PickledBatch batch();

 private:
  [[noreturn]] void refuse(const std::string& what) const;
  std::span<const uint8_t> take(size_t count);
  [[nodiscard]] uint32_t take_number(size_t count);
  [[nodiscard]] Code peek();
  void expect(Code code);
  [[nodiscard]] std::span<const uint8_t> string();
  [[nodiscard]] int64_t number();
  [[nodiscard]] bool boolean();
  void expect_string(std::string_view text);
  void expect_number(int64_t value);
  void expect_global(std::string_view module_and_name);
  template <class Item>
  void list(Item item);
  [[nodiscard]] std::vector<uint8_t> labels();
  [[nodiscard]] PickledPixels array();
  void expect_type_of_bytes();
  void skip_value();

  const std::string& path_;
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

void PickleReader::refuse(const std::string& what) const {
  throw BadFile(path_ + ": offset " + std::to_string(at_) + ": " + what +
                ": this is not a batch of CIFAR-10's Python version. Unpack the archive again, or "
                "use the binary version. (muster-train runs no pickle and reads only the layout of "
                "CIFAR-10's own files.)");
}

std::span<const uint8_t> PickleReader::take(size_t count) {
  if (count > bytes_.size() - at_) refuse("the file ends too early");
  const auto taken = bytes_.subspan(at_, count);
  at_ += count;
  return taken;
}

// Reads a little-endian number.
uint32_t PickleReader::take_number(size_t count) {
  uint32_t value = 0;
  unsigned shift = 0;
  for (const uint8_t byte : take(count)) {
    value |= static_cast<uint32_t>(byte) << shift;
    shift += 8;
  }
  return value;
}

// Returns the next instruction and skips BinPut and LongBinPut, which store a value for later use:
// these files never use a stored value.
Code PickleReader::peek() {
  while (at_ < bytes_.size()) {
    const auto code = static_cast<Code>(bytes_[at_]);
    if (code != Code::kBinPut && code != Code::kLongBinPut) return code;
    (void)take(code == Code::kBinPut ? 2 : 5);
  }
  refuse("the file ends too early");
}

void PickleReader::expect(Code code) {
  const Code found = peek();
  if (found != code) {
    char text[64];
    std::snprintf(text, sizeof text, "the instruction is 0x%02x, not 0x%02x",
                  static_cast<unsigned>(found), static_cast<unsigned>(code));
    refuse(text);
  }
  ++at_;
}

std::span<const uint8_t> PickleReader::string() {
  if (peek() == Code::kBinString) {
    ++at_;
    return take(take_number(4));
  }
  expect(Code::kShortBinString);
  return take(take_number(1));
}

int64_t PickleReader::number() {
  const Code code = peek();
  if (code == Code::kBinInt1 || code == Code::kBinInt2) {
    ++at_;
    return take_number(code == Code::kBinInt1 ? 1 : 2);
  }
  expect(Code::kBinInt);
  return static_cast<int32_t>(take_number(4));
}

bool PickleReader::boolean() {
  const bool value = peek() == Code::kNewTrue;
  expect(value ? Code::kNewTrue : Code::kNewFalse);
  return value;
}

void PickleReader::expect_string(std::string_view text) {
  const auto found = string();
  if (std::string_view(reinterpret_cast<const char*>(found.data()), found.size()) != text)
    refuse("the text before it is not '" + std::string(text) + "'");
}

void PickleReader::expect_number(int64_t value) {
  if (number() != value) refuse("the number before it is not " + std::to_string(value));
}

// Expects the name of an object in a Python module. The name is only compared, never looked up.
void PickleReader::expect_global(std::string_view module_and_name) {
  expect(Code::kGlobal);
  const auto found = take(std::min(module_and_name.size(), bytes_.size() - at_));
  if (std::string_view(reinterpret_cast<const char*>(found.data()), found.size()) !=
      module_and_name)
    refuse("the pickle names a function or type of Python that CIFAR-10's files do not name");
}

template <class Item>
void PickleReader::list(Item item) {
  expect(Code::kEmptyList);
  while (peek() == Code::kMark) {  // Python writes long lists in parts of a thousand items
    ++at_;
    while (peek() != Code::kAppends) item();
    ++at_;
  }
}

std::vector<uint8_t> PickleReader::labels() {
  std::vector<uint8_t> found;
  list([&] {
    const int64_t label = number();
    if (label < 0 || label > 9) {
      throw BadFile(path_ + ": offset " + std::to_string(at_) + ": the label is " +
                    std::to_string(label) + ", but labels are 0 to 9");
    }
    found.push_back(static_cast<uint8_t>(label));
  });
  return found;
}

void PickleReader::expect_type_of_bytes() {
  expect_global("numpy\ndtype\n");
  expect_string("u1");
  expect_number(0);
  expect_number(1);
  expect(Code::kTuple3);
  expect(Code::kReduce);
  expect(Code::kMark);
  expect_number(3);
  expect_string("|");
  for (int i = 0; i < 3; ++i) expect(Code::kNone);
  expect_number(-1);
  expect_number(-1);
  expect_number(0);
  expect(Code::kTuple);
  expect(Code::kBuild);
}

// Reads NumPy's form of an array: an empty array, then version, shape, type, order and bytes.
PickledPixels PickleReader::array() {
  PickledPixels pixels;
  expect_global("numpy.core.multiarray\n_reconstruct\n");
  expect_global("numpy\nndarray\n");
  expect_number(0);
  expect(Code::kTuple1);
  expect_string("b");
  expect(Code::kTuple3);
  expect(Code::kReduce);
  expect(Code::kMark);
  expect_number(1);
  pixels.images = number();
  pixels.bytes_each = number();
  expect(Code::kTuple2);
  expect_type_of_bytes();
  pixels.column_after_column = boolean();
  pixels.bytes = string();
  expect(Code::kTuple);
  expect(Code::kBuild);
  return pixels;
}

// Skips values that are not needed: the batch's name and the images' file names.
void PickleReader::skip_value() {
  if (peek() == Code::kEmptyList) return list([this] { (void)string(); });
  (void)string();
}

PickledBatch PickleReader::batch() {
  PickledBatch batch;
  expect(Code::kProto);
  if (take_number(1) != 2) refuse("the pickle's protocol is not 2");
  expect(Code::kEmptyDict);
  expect(Code::kMark);
  while (peek() != Code::kSetItems) {
    const auto key = string();
    const std::string_view name(reinterpret_cast<const char*>(key.data()), key.size());
    if (name == "labels") {
      batch.labels = labels();
    } else if (name == "data") {
      batch.pixels = array();
    } else {
      skip_value();
    }
  }
  expect(Code::kSetItems);
  expect(Code::kStop);
  if (at_ != bytes_.size()) refuse("there is something after the end of the pickle");
  return batch;
}

void check_sizes(const std::string& path, const PickledBatch& batch, int64_t image_bytes) {
  const PickledPixels& pixels = batch.pixels;
  const auto labels = static_cast<int64_t>(batch.labels.size());
  const auto bytes = static_cast<int64_t>(pixels.bytes.size());
  if (labels > 0 && pixels.images == labels && pixels.bytes_each == image_bytes &&
      bytes == labels * image_bytes) {
    return;
  }
  throw BadFile(path + " has " + std::to_string(labels) + " labels and an array of " +
                std::to_string(pixels.images) + " x " + std::to_string(pixels.bytes_each) +
                " pixels in " + std::to_string(bytes) +
                " bytes, which do not belong together: unpack the archive again");
}

}  // namespace

void add_cifar10_pickle(const std::string& path, const std::vector<uint8_t>& bytes, ImageSet& set) {
  const PickledBatch batch = PickleReader(path, bytes).batch();
  check_sizes(path, batch, set.image_bytes());
  const PickledPixels& pixels = batch.pixels;
  set.labels.insert(set.labels.end(), batch.labels.begin(), batch.labels.end());
  if (!pixels.column_after_column) {
    set.pixels.insert(set.pixels.end(), pixels.bytes.begin(), pixels.bytes.end());
    return;
  }
  for (int64_t image = 0; image < pixels.images; ++image) {
    for (int64_t at = 0; at < pixels.bytes_each; ++at)
      set.pixels.push_back(pixels.bytes[static_cast<size_t>(at * pixels.images + image)]);
  }
}

}  // namespace muster::programs
