#include "programs/train/cifar10_pickle.hpp"

#include <gtest/gtest.h>

namespace muster::programs {
namespace {

using namespace std::string_literals;

constexpr int kImageBytes = 3072;

std::string little_endian(uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string short_string(const std::string& text) {
  return "U" + little_endian(static_cast<uint32_t>(text.size()), 1) + text;
}

// The parts of a batch as pickle instructions. A test may replace each of them.
struct Parts {
  std::string labels =
      "](K\x03K\x09"
      "e(K\x00"s
      "e"s;
  std::string reconstruct = "cnumpy.core.multiarray\n_reconstruct\n";
  std::string shape = "K\x03M\x00\x0c\x86"s;
  std::string order = "\x89";
  std::string pixels = {};
  std::string end = "u.";
};

// Returns three images, in which byte `at` of image `i` is 50 * i + at % 50.
std::string three_images() {
  std::string pixels;
  for (int i = 0; i < 3; ++i) {
    for (int at = 0; at < kImageBytes; ++at) pixels += static_cast<char>(50 * i + at % 50);
  }
  return pixels;
}

std::string batch_of(const Parts& parts) {
  const std::string pixels = parts.pixels.empty() ? three_images() : parts.pixels;
  return "\x80\x02}q\x01("s + short_string("batch_label") + "q\x02" +
         short_string("training batch 1 of 5") + "q\x03" + short_string("labels") + "q\x04" +
         parts.labels + short_string("data") + parts.reconstruct + "q\x06" +
         "cnumpy\nndarray\nq\x07K\x00\x85U\x01"s + "b\x87R(K\x01" + parts.shape +
         "cnumpy\ndtype\nU\x02u1K\x00K\x01\x87Rq\x08(K\x03U\x01|NNN"s +
         "J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"s + parts.order + "T" +
         little_endian(static_cast<uint32_t>(pixels.size()), 4) + pixels + "tb" +
         short_string("filenames") + "](" + short_string("a.png") + "r\x00\x01\x00\x00"s +
         short_string("b.png") + short_string("c.png") + "e" + parts.end;
}

ImageSet read(const std::string& text) {
  ImageSet set{.channels = 3, .height = 32, .width = 32, .pixels = {}, .labels = {}};
  add_cifar10_pickle("/data/data_batch_1", {text.begin(), text.end()}, set);
  return set;
}

std::string refusal_of(const std::string& text) {
  try {
    (void)read(text);
  } catch (const BadFile& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Cifar10Pickle, IsRead) {
  const ImageSet set = read(batch_of({}));
  EXPECT_EQ(set.labels, (std::vector<uint8_t>{3, 9, 0}));
  const std::string pixels = three_images();
  EXPECT_EQ(set.pixels, (std::vector<uint8_t>{pixels.begin(), pixels.end()}));
}

TEST(Cifar10Pickle, InTheOtherOrderOfBytesHasTheSameImages) {
  std::string columns;
  for (int at = 0; at < kImageBytes; ++at) {
    for (int i = 0; i < 3; ++i) columns += static_cast<char>(50 * i + at % 50);
  }
  const ImageSet set = read(batch_of({.order = "\x88", .pixels = columns}));
  EXPECT_EQ(set.pixels, read(batch_of({})).pixels);
}

TEST(Cifar10Pickle, IsAddedToWhatIsThere) {
  ImageSet set = read(batch_of({}));
  const std::string text = batch_of({});
  add_cifar10_pickle("/data/data_batch_2", {text.begin(), text.end()}, set);
  EXPECT_EQ(set.size(), 6);
  EXPECT_EQ(set.pixels.size(), 6U * kImageBytes);
}

TEST(Cifar10Pickle, ThatIsCutOffIsRefused) {
  const std::string whole = batch_of({});
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    ASSERT_THROW((void)read(whole.substr(0, bytes)), BadFile) << bytes;
  }
}

TEST(Cifar10Pickle, ThatCallsSomethingIsRefused) {
  const std::string bare = refusal_of("cos\nsystem\n(S'touch /tmp/called'\ntR.");
  EXPECT_NE(bare.find("/data/data_batch_1: offset 0: the instruction is 0x63"), bare.npos) << bare;
  const std::string within = refusal_of(batch_of({.reconstruct = "cposix\nsystem\n"}));
  EXPECT_NE(within.find("names a function or type of Python"), within.npos) << within;
  EXPECT_NE(within.find("runs no pickle"), within.npos) << within;
}

TEST(Cifar10Pickle, WithPartsThatDoNotFitIsRefused) {
  const std::string label = refusal_of(batch_of({.labels = "](K\x0aK\x09K\x01"s + "e"}));
  EXPECT_NE(label.find("the label is 10, but labels are 0 to 9"), label.npos) << label;
  const std::string fewer = refusal_of(batch_of({.labels = "](K\x01K\x09"s + "e"}));
  EXPECT_NE(fewer.find("2 labels and an array of 3 x 3072 pixels in 9216 bytes"), fewer.npos)
      << fewer;
  const std::string none = refusal_of(batch_of({.labels = "]"}));
  EXPECT_NE(none.find("0 labels"), none.npos) << none;
  for (const std::string& shape :
       {"K\x02M\x00\x0c\x86"s, "K\x03M\x01\x0c\x86"s, "J\xff\xff\xff\xffM\x00\x0c\x86"s}) {
    const std::string said = refusal_of(batch_of({.shape = shape}));
    EXPECT_NE(said.find("do not belong together"), said.npos) << said;
  }
  const std::string more = refusal_of(batch_of({.end = "u.."}));
  EXPECT_NE(more.find("after the end of the pickle"), more.npos) << more;
}

// Whichever bit outside the pixels is flipped, the batch is either rejected or has three images.
TEST(Cifar10Pickle, WithOneByteChangedDoesNoHarm) {
  const std::string whole = batch_of({});
  const size_t pixels = whole.find(three_images());
  for (size_t at = 0; at < whole.size(); ++at) {
    if (at == pixels) at += 3 * kImageBytes;
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      try {
        const ImageSet set = read(changed);
        ASSERT_EQ(set.size(), 3) << at;
        ASSERT_EQ(set.pixels.size(), 3U * kImageBytes) << at;
      } catch (const BadFile&) {
        continue;
      }
    }
  }
}

}  // namespace
}  // namespace muster::programs
