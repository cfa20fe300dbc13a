#include "remote/project.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sys/temp_folder.hpp"

namespace muster::remote {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

class ProjectTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text = "x") {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }

  [[nodiscard]] Paths paths(const std::string& below = "") const {
    const auto project = read_project(folder_ / below);
    if (!project) return Paths{project.error().what};
    Paths all = project->files;
    all.insert(all.end(), project->others.begin(), project->others.end());
    std::sort(all.begin(), all.end());
    return all;
  }

  const sys::TempFolder temp_;
  const fs::path folder_ = temp_.path();
};

TEST_F(ProjectTest, HasFilesFoldersAndLinksButNoRepositoryAndNoPipes) {
  write("train.py", "12345");
  write("data/one");
  write(".git/config");
  write("library/.git", "gitdir: ../.git/modules/library");
  write("library/code.py");
  write("__pycache__/train.pyc");
  fs::create_directory(folder_ / "empty");
  fs::create_symlink("/nowhere", folder_ / "link");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_project(folder_)->files, (Paths{"data/one", "library/code.py", "train.py"}));
  EXPECT_EQ(read_project(folder_)->others, (Paths{"empty", "link"}));
  EXPECT_EQ(read_project(folder_)->bytes, 7U);
}

TEST_F(ProjectTest, LeavesOutWhatIgnoreFilesNameAndMusterignoreWins) {
  write(".gitignore", "*.pt\nlabels.csv\n/build/\n");
  write(".musterignore", "docs/\n!labels.csv\n");
  write("data/.gitignore", "*\n!keep\n");
  for (const char* path : {"a.pt", "labels.csv", "build/x", "docs/x", "data/keep", "data/big",
                           "data/labels.csv", "deep/build/x"}) {
    write(path);
  }
  EXPECT_EQ(paths(), (Paths{".gitignore", ".musterignore", "data/keep", "data/labels.csv",
                            "deep/build/x", "labels.csv"}));
}

TEST_F(ProjectTest, InAFolderOfAWorkTreeTheFilesAboveCount) {
  write(".git/config");
  write(".gitignore", "*.pt\n/sub/out\n");
  write("sub/a.pt");
  write("sub/out");
  write("sub/train.py");
  EXPECT_EQ(paths("sub"), (Paths{"train.py"}));
  fs::remove_all(folder_ / ".git");
  EXPECT_EQ(paths("sub"), (Paths{"a.pt", "out", "train.py"}));
}

TEST_F(ProjectTest, TakesAnyName) {
  for (const char* name : {"-rf", "a\nb", "#c", ";d", "e ", "*", "\xFF"}) write(name);
  EXPECT_EQ(paths(), (Paths{"#c", "*", "-rf", ";d", "a\nb", "e ", "\xFF"}));
}

TEST_F(ProjectTest, IsNeitherAHomeNorWhatHoldsOne) {
  EXPECT_EQ(read_project("/").error().code, ErrorCode::kUsage);
  const char* const before = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
  const std::string kept = before == nullptr ? "" : before;
  for (const fs::path& home : {folder_, folder_ / "home", folder_ / "deep/home"}) {
    fs::create_directories(home);
    (void)::setenv("HOME", home.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    EXPECT_EQ(paths().front(), "--sync would send everything below " + folder_.string());
  }
  (void)::setenv("HOME", (folder_.string() + "-other").c_str(),
                 1);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(paths(), Paths{"--sync finds no files to send in " + folder_.string()});
  write("train.py");
  EXPECT_TRUE(read_project(folder_));
  (void)::setenv("HOME", kept.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
}

TEST_F(ProjectTest, AMarkIsThereForAWhileAndNoPartOfIt) {
  std::string name;
  {
    const SharedMark mark(folder_);
    name = mark.name();
    EXPECT_TRUE(fs::exists(folder_ / name));
    write("train.py");
    EXPECT_EQ(paths(), Paths{"train.py"});
    EXPECT_NE(SharedMark(folder_).name(), name);
  }
  EXPECT_FALSE(fs::exists(folder_ / name));
  EXPECT_EQ(SharedMark("/no/such/folder").name(), "");
  write(name, "");  // left by an interrupted run
  fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_FALSE(SharedMark(folder_).name().empty());
  EXPECT_FALSE(fs::exists(folder_ / name));
}

}  // namespace
}  // namespace muster::remote
