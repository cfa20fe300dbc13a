// Files of a training: checkpoints, safetensors, data sets. Whatever they contain, reading them
// must throw std::runtime_error or return what was written.
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "own_folder.hpp"
#include "programs/train/cifar10.hpp"
#include "programs/train/cifar10_pickle.hpp"
#include "programs/train/idx.hpp"
#include "require.hpp"
#include "torch/checkpoint_manifest.hpp"
#include "torch/random_state.hpp"
#include "torch/tensor_header.hpp"
#include "torch/tensor_reader.hpp"

namespace muster::fuzz {
namespace {

// Catches the expected exception type only; any other ends the process.
template <class Read>
void allow_refusal(Read read) {
  try {
    read();
  } catch (const std::runtime_error& error) {
    require(*error.what() != '\0', "a refusal says what is wrong");
  }
}

// Gives the text a valid checksum, because without one the parser would reject it early.
std::string sealed(std::string_view text) {
  auto value = parse_json(text).value_or(nlohmann::json());
  if (!value.is_object()) return std::string(text);
  value.erase("checksum");
  const std::string plain = value.dump();
  value["checksum"] = checksum(plain.data(), plain.size());
  return value.dump();
}

void check_manifest(std::string_view text) {
  allow_refusal([&] {
    const std::string written = encode(decode_manifest(sealed(text)));
    require(encode(decode_manifest(written)) == written, "a manifest is read back");
  });
}

void check_shard(std::string_view text) {
  allow_refusal([&] {
    const Shard shard = decode_shard(sealed(text));
    require(!shard.file.empty() && shard.file.find('/') == std::string::npos, "inside the folder");
    require(decode_shard(encode(shard)) == shard, "a shard is read back");
  });
}

void check_header(std::string_view text) {
  allow_refusal([&] {
    const TensorHeader header = decode(text, std::nullopt);
    uint64_t next = 0;
    for (const TensorPlace& place : header.places) {
      require(place.begin == next && place.end >= place.begin, "tensors leave no gap");
      require(place.end - place.begin == bytes_of(place.type, place.shape), "all of its bytes");
      next = place.end;
    }
    const std::string written = encode(header);
    require(encode(decode(std::string_view(written).substr(8), next)) == written,
            "a header is read back");
  });
}

void check_tensor_file(std::string_view text) {
  const std::string path = own_folder().write("shard.safetensors", text);
  allow_refusal([&] {
    std::vector<std::string> tensors;
    std::map<std::string, std::string> metadata;
    const auto into = [&](const TensorPlace& place) {
      return tensors.emplace_back(place.end - place.begin, '\0').data();
    };
    const FileChecksums sums = read_tensor_file(path, into, &metadata);
    require(sums.bytes == text.size() && sums == read_checksums(path), "the same checksums");
    require(sums.tensors.size() == tensors.size(), "a checksum for each tensor");
  });
}

void check_random_state(std::string_view text) {
  allow_refusal([&] {
    std::string joined;
    for (const std::string& part : split_random_state(std::string(text))) {
      const uint64_t size = part.size();
      joined.append(reinterpret_cast<const char*>(&size), sizeof size).append(part);
    }
    require(joined == text, "no byte is left out");
  });
}

void require_good_images(const programs::ImageSet& set) {
  require(static_cast<int64_t>(set.pixels.size()) == set.size() * set.image_bytes(), "all pixels");
  for (const uint8_t label : set.labels) require(label < 10, "only known classes");
}

// Splits the text at each "|||" and writes the parts to the files in turn. A part that is left
// after the last file becomes checksums.json.
template <std::size_t N>
void write_files(const OwnFolder& folder, std::string_view text,
                 const std::array<const char*, N>& names) {
  for (const char* const name : names) {
    const std::size_t end = std::min(text.find("|||"), text.size());
    (void)folder.write(name, text.substr(0, end));
    text.remove_prefix(std::min(end + 3, text.size()));
  }
  if (!text.empty()) (void)folder.write("checksums.json", text);
}

void require_good_dataset(const programs::Dataset& data) {
  require_good_images(data.train);
  require_good_images(data.test);
}

void check_mnist(std::string_view text) {
  static const OwnFolder folder;
  write_files<4>(folder, text,
                 {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                  "t10k-labels-idx1-ubyte"});
  allow_refusal([&] { require_good_dataset(programs::read_mnist(folder.path())); });
  std::filesystem::remove(folder.path() + "/checksums.json");
}

// One batch is the input; the other batches are valid.
void check_cifar(std::string_view text) {
  static const OwnFolder folder;
  for (const char* const name :
       {"data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"}) {
    const std::string file = std::string(name) + ".bin";
    if (!std::filesystem::exists(folder.path() + "/" + file))
      (void)folder.write(file, std::string(3073, '\1'));
  }
  write_files<1>(folder, text, {"data_batch_1.bin"});
  allow_refusal([&] { require_good_dataset(programs::read_cifar10(folder.path())); });
  std::filesystem::remove(folder.path() + "/checksums.json");
}

void check_cifar_pickle(std::string_view text) {
  programs::ImageSet set{.channels = 3, .height = 32, .width = 32, .pixels = {}, .labels = {}};
  allow_refusal([&] {
    programs::add_cifar10_pickle("data_batch_1", {text.begin(), text.end()}, set);
    require(set.size() > 0, "a batch has images");
  });
  require_good_images(set);
}

constexpr std::array<Check, 8> kChecks = {check_manifest,    check_shard,        check_header,
                                          check_tensor_file, check_random_state, check_mnist,
                                          check_cifar,       check_cifar_pickle};

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return muster::fuzz::run_chosen(muster::fuzz::kChecks, data, size);
}
