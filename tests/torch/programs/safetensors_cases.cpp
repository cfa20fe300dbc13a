// Tensors in files, and files with false headers.
#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include "muster/safetensors.hpp"

namespace muster::test {
namespace {

namespace fs = std::filesystem;

class SafetensorsTest : public testing::Test {
 protected:
  SafetensorsTest() {
    std::string form = (fs::temp_directory_path() / "muster-test-safetensors.XXXXXX").string();
    folder = ::mkdtemp(form.data());
    path = folder + "/file.safetensors";
  }
  ~SafetensorsTest() override { fs::remove_all(folder); }
  SafetensorsTest(const SafetensorsTest&) = delete;
  SafetensorsTest& operator=(const SafetensorsTest&) = delete;

  void write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  void write_header(const std::string& json, const std::string& data) const {
    std::string length(8, '\0');
    for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
    write(length + json + data);
  }
  [[nodiscard]] std::string refusal() const {
    try {
      (void)load_safetensors(path);
      return "not refused";
    } catch (const std::runtime_error& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with(path + ": ")) << text;
      return text;
    }
  }

  std::string folder;
  std::string path;
};

TEST_F(SafetensorsTest, EveryTypeAndShapeComesBack) {
  NamedTensors tensors;
  for (const auto type :
       {torch::kDouble, torch::kFloat, torch::kHalf, torch::kBFloat16, torch::kLong, torch::kInt,
        torch::kShort, torch::kChar, torch::kByte, torch::kBool, torch::kComplexFloat}) {
    tensors[std::string("type ") + c10::toString(type)] = (torch::rand({3, 5}) * 100).to(type);
  }
  tensors["nothing in it"] = torch::empty({0, 4});
  tensors["one figure"] = torch::tensor(3.5);
  tensors["strides"] = torch::rand({4, 6}).t();
  tensors["part"] = torch::rand({10, 10}).slice(1, 2, 5);
  tensors["Grüße"] = torch::ones({1});
  save_safetensors(path, tensors, {{"format", "pt"}, {"by", "muster"}});
  const TensorFile file = load_safetensors(path);
  EXPECT_EQ(file.metadata, (Metadata{{"format", "pt"}, {"by", "muster"}}));
  ASSERT_EQ(file.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(file.tensors.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(torch::equal(file.tensors.at(name), tensor)) << name;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1) << "something is left over";
}

TEST_F(SafetensorsTest, FilesThatLieAreRefused) {
  const std::string four = R"("dtype":"F32","shape":[1])";
  const std::vector<std::pair<std::string, std::string>> headers = {
      {R"({"a":{)" + four + R"(,"data_offsets":[0,5]}})", "a has 5 bytes in the file but needs 4"},
      {R"({"a":{)" + four + R"(,"data_offsets":[4,8]}})", "a does not begin where"},
      {R"({"a":{)" + four + R"(,"data_offsets":[0,4]},"b":{)" + four + R"(,"data_offsets":[0,4]}})",
       "b does not begin where"},
      {R"({"a":{)" + four + R"(,"data_offsets":[4,0]}})", "a does not begin where"},
      {R"({"a":{)" + four + R"(,"data_offsets":[-4,0]}})", "a has no valid position"},
      {R"({"a":{)" + four + R"(,"data_offsets":[0]}})", "a has no valid position"},
      {R"({"a":{)" + four + R"(,"data_offsets":[0,4]}})", "its tensors have 4 bytes"},
      {R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", "the type F31 is not known"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "a has an impossible shape"},
      {R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "a has an impossible shape"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4611686018427387904],"data_offsets":[0,4]}})",
       "larger than any memory"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})",
       "a has an impossible shape"},
      {R"({"a":{"dtype":"F32","shape":[9223372036854775807],"data_offsets":[0,4]}})",
       "larger than any"},
      {R"({"a":3})", "not a safetensors header"},
      {R"([])", "not a JSON object"},
      {R"({"a":)", "not a safetensors header"},
      {R"({"__metadata__":{"a":3}})", "not a safetensors header"},
      {std::string(100'000, '['), "not a safetensors header"},
  };
  for (const auto& [json, complaint] : headers) {
    write_header(json, std::string(6, 'x'));
    EXPECT_NE(refusal().find(complaint), std::string::npos) << json.substr(0, 200) << "\n"
                                                            << refusal();
  }
  write("short");
  EXPECT_NE(refusal().find("5 bytes are too few for a safetensors file"), std::string::npos);
  write(std::string(8, '\xff') + "{}");
  EXPECT_NE(refusal().find("cut off or not a safetensors file"), std::string::npos);
  fs::remove(path);
  EXPECT_NE(refusal().find("No such file"), std::string::npos);
  fs::create_directory(path);
  EXPECT_NE(refusal().find("is not a file"), std::string::npos);
}

// Whatever changes, the worst result must be an exception.
TEST_F(SafetensorsTest, RandomChangesOfTheHeaderDoNoHarm) {
  save_safetensors(path, {{"a", torch::rand({2, 3})}, {"b", torch::ones({4}, torch::kLong)}});
  std::ifstream file(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  std::mt19937 random(1);
  int refused = 0;
  constexpr int kRounds = 2'000;
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = whole;
    for (int changes = 0; changes < 1 + round % 4; ++changes) {
      bytes[random() % (whole.size() - 56)] = static_cast<char>(random());
    }
    write(bytes);
    try {
      (void)load_safetensors(path);
    } catch (const std::runtime_error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, kRounds / 2);
}

TEST_F(SafetensorsTest, AFileThatCannotBeWrittenIsNamedAndTheOldOneStays) {
  save_safetensors(path, {{"a", torch::ones({2})}});
  EXPECT_THROW(save_safetensors(path, {{"a", torch::ones({2}).to_sparse()}}), std::runtime_error);
  EXPECT_TRUE(torch::equal(load_safetensors(path).tensors.at("a"), torch::ones({2})));
  try {
    save_safetensors(folder + "/none/there", {{"a", torch::ones({2})}});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("/none/there"), std::string::npos) << error.what();
  }
}

// In a directory that all users may write to, such as /tmp, another user could guess the name of a
// temporary file and put a link there.
TEST_F(SafetensorsTest, ALinkPlantedBesideTheFileIsNotFollowed) {
  const std::string victim = folder + "/victim";
  std::ofstream(victim) << "precious";
  fs::create_symlink(victim, path + ".tmp-" + std::to_string(::getpid()));
  save_safetensors(path, {{"a", torch::ones({2})}});
  std::string text;
  std::ifstream(victim) >> text;
  EXPECT_EQ(text, "precious");
  EXPECT_FALSE(fs::is_symlink(path));
  EXPECT_TRUE(torch::equal(load_safetensors(path).tensors.at("a"), torch::ones({2})));
}

}  // namespace
}  // namespace muster::test
