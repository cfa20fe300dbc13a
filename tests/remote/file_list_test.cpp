#include "remote/file_list.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "sys/process.hpp"
#include "sys/temp_folder.hpp"

namespace muster::remote {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

std::string digest(const fs::path& folder, const std::string& locale = "C") {
  const auto list = list_files(folder.string());
  EXPECT_TRUE(list.has_value());
  const auto ended = sys::run({.argv = {"sh", "-c", digest_line(folder.string())},
                               .env = {"LC_ALL=" + locale},
                               .input = list->paths});
  EXPECT_TRUE(ended && ended->ok());
  return parse_digest("hello from the shell\n" + ended->out);
}

class FileLists : public testing::Test {
 protected:
  sys::TempFolder temp_;
  fs::path one_ = fs::path(temp_.path()) / "one's $(x)";
  fs::path two_ = fs::path(temp_.path()) / "-two";
};

TEST_F(FileLists, EqualFilesHaveEqualHashes) {
  for (const fs::path& folder : {one_, two_}) {
    for (const char* const name : {"a", "b/c", "-rf", "new\nline", "back\\slash", " "}) {
      write(folder / name, name);
    }
  }
  const std::string hash = digest(one_);
  EXPECT_EQ(hash.size(), 64U);
  EXPECT_EQ(hash, digest(two_));
  write(two_ / "b/c", "C/B");
  EXPECT_NE(hash, digest(two_));
}

TEST_F(FileLists, TheHashIsTheSameInAllLocales) {
  for (const char* const name : {"\351 b", "\303\251 b", "a"}) write(one_ / name, name);
  EXPECT_EQ(digest(one_, "C"), digest(one_, "C.UTF-8"));
}

TEST_F(FileLists, AMissingProgramIsNoticed) {
  write(one_ / "a", "a");
  const fs::path programs = fs::path(temp_.path()) / "bin";
  fs::create_directory(programs);
  const std::string script = "for p in sh xargs sed sha256sum; do ln -s $(command -v $p) " +
                             programs.string() + "; done; rm " + programs.string() +
                             "/$1; PATH=" + programs.string() + "; export PATH; " +
                             digest_line(one_.string());
  const auto paths = list_files(one_.string())->paths;
  for (const std::string program : {"xargs", "sed", "sha256sum"}) {
    const auto ended = sys::run({.argv = {"sh", "-c", script, "sh", program}, .input = paths});
    EXPECT_EQ(ended->code, kMissingProgram) << program;
    EXPECT_EQ(ended->err, program + " is not installed\n");
    fs::remove_all(programs);
    fs::create_directory(programs);
  }
}

TEST_F(FileLists, AMissingFileChangesTheHash) {
  write(one_ / "a", "a");
  write(one_ / "b", "");
  const auto list = list_files(one_.string());
  const auto hash = [&] {
    return parse_digest(
        sys::run({.argv = {"sh", "-c", digest_line(one_.string())}, .input = list->paths})->out);
  };
  const std::string before = hash();
  fs::remove(one_ / "b");
  EXPECT_NE(before, hash());
}

TEST_F(FileLists, OnlyRegularFilesAreListed) {
  write(one_ / "b", "22");
  write(one_ / "a/c", "333");
  fs::create_symlink("b", one_ / "link");
  fs::create_directory_symlink("a", one_ / "folder");
  write(one_ / ".muster-partial/d", "1");
  write(one_ / "a/.muster-partial/d", "1");
  const auto list = list_files(one_.string());
  ASSERT_EQ(list->files.size(), 2U);
  EXPECT_EQ(list->files[0].path, "a/c");
  EXPECT_EQ(list->bytes, 5U);
  EXPECT_EQ(*list->paths, std::string("./a/c\0./b\0", 10));
}

TEST_F(FileLists, AFolderThatCannotBeReadIsAnError) {
  const auto list = list_files((one_ / "missing").string());
  ASSERT_FALSE(list.has_value());
  EXPECT_EQ(list.error().where.file, (one_ / "missing").string());
}

TEST_F(FileLists, ChangesAreNamed) {
  for (const char* const name : {"changed", "gone", "same"}) write(one_ / name, name);
  const auto before = list_files(one_.string());
  fs::remove(one_ / "gone");
  write(one_ / "new", "");
  const auto time = fs::last_write_time(one_ / "changed");
  write(one_ / "changed", "CHANGED");
  fs::last_write_time(one_ / "changed", time);  // cannot hide the change
  const auto now = list_files(one_.string());
  EXPECT_EQ(changed_files(*before, *now), (std::vector<std::string>{"changed", "gone", "new"}));
  EXPECT_TRUE(changed_files(*now, *now).empty());
}

TEST(ParseDigest, OnlyAHashIsOne) {
  const std::string hash(64, 'a');
  EXPECT_EQ(parse_digest(hash + "  -\n"), hash);
  EXPECT_EQ(parse_digest("sha256sum: not found\n"), "");
  EXPECT_EQ(parse_digest(hash.substr(1) + "  -\n"), "");
  EXPECT_EQ(parse_digest(""), "");
}

}  // namespace
}  // namespace muster::remote
