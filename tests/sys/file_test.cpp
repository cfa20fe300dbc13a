#include "sys/file.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/temp_folder.hpp"

namespace {

std::vector<std::string> synced;  // paths passed to fsync, in order

}  // namespace

// Notes the path, and takes the place of the C library's fsync().
extern "C" int fsync(int fd) {
  std::error_code none;
  synced.push_back(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), none));
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace muster::sys {
namespace {

using FileTest = FolderTest;

mode_t mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST_F(FileTest, WritesWithTheModeAskedForWhateverTheUmask) {
  const mode_t before = ::umask(0);
  ASSERT_TRUE(write_file(folder_ + "/key", "secret", 0600).has_value());
  ::umask(0077);
  ASSERT_TRUE(write_file(folder_ + "/public", "open", 0644).has_value());
  ::umask(before);
  EXPECT_EQ(mode_of(folder_ + "/key"), 0600U);
  EXPECT_EQ(mode_of(folder_ + "/public"), 0644U);
  EXPECT_EQ(read_file(folder_ + "/key").value(), "secret");
}

TEST_F(FileTest, SyncsTheFileAndThenTheFolderThatNamesIt) {
  synced.clear();
  ASSERT_TRUE(write_file(folder_ + "/key", "x", 0600).has_value());
  ASSERT_EQ(synced.size(), 2U);
  EXPECT_EQ(synced[0].rfind(folder_ + "/key.", 0), 0U);
  EXPECT_EQ(synced[1], folder_);
}

TEST_F(FileTest, ReplacesALinkInsteadOfWritingThroughIt) {
  ASSERT_TRUE(write_file(folder_ + "/target", "mine", 0600).has_value());
  ASSERT_EQ(::symlink("target", (folder_ + "/link").c_str()), 0);
  ASSERT_TRUE(write_file(folder_ + "/link", "new", 0600).has_value());
  EXPECT_EQ(read_file(folder_ + "/target").value(), "mine");
  EXPECT_EQ(read_file(folder_ + "/link").value(), "new");
}

TEST_F(FileTest, LeavesNothingBehindWhenItCannotWrite) {
  ASSERT_TRUE(make_folders(folder_ + "/taken/inside", 0700).has_value());
  const auto written = write_file(folder_ + "/taken", "x", 0600);  // a folder has this name
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().where.file, folder_ + "/taken");
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) entries += entry.exists();
  EXPECT_EQ(entries, 1);
}

TEST_F(FileTest, RefusesAFileLongerThanTheLimit) {
  ASSERT_TRUE(write_file(folder_ + "/long", std::string(100, 'x'), 0600).has_value());
  EXPECT_TRUE(read_file(folder_ + "/long", 100).has_value());
  EXPECT_FALSE(read_file(folder_ + "/long", 99).has_value());
  EXPECT_FALSE(read_file("/dev/zero", 1000).has_value());
}

TEST_F(FileTest, MakesFoldersWithTheirModeAndLeavesOldOnesAlone) {
  ASSERT_TRUE(make_folders(folder_ + "/a", 0755).has_value());
  ASSERT_TRUE(make_folders(folder_ + "/a/b/c", 0700).has_value());
  EXPECT_EQ(mode_of(folder_ + "/a"), 0755U);
  EXPECT_EQ(mode_of(folder_ + "/a/b"), 0700U);
  EXPECT_EQ(mode_of(folder_ + "/a/b/c"), 0700U);
}

TEST_F(FileTest, RefusesAPrivateFolderThatOthersCanEnter) {
  EXPECT_TRUE(make_private_folder(folder_ + "/mine").has_value());
  EXPECT_TRUE(make_private_folder(folder_ + "/mine").has_value());
  ASSERT_EQ(::chmod((folder_ + "/mine").c_str(), 0750), 0);
  EXPECT_FALSE(make_private_folder(folder_ + "/mine").has_value());
  ASSERT_EQ(::symlink("mine", (folder_ + "/link").c_str()), 0);
  EXPECT_FALSE(make_private_folder(folder_ + "/link").has_value());
}

class WriteAllTest : public ::testing::Test {
 protected:
  WriteAllTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read_ = Fd(ends[0]);
    write_ = Fd(ends[1]);
  }

  // Writes more than a pipe holds while another thread reads it, and returns what arrived. That
  // thread calls `before_read` before each read.
  std::string through_the_pipe(const std::string& sent, const std::function<void()>& before_read) {
    std::string arrived;
    std::thread reader([&] {
      char part[4096];
      while (true) {
        before_read();
        const ssize_t got = ::read(read_.get(), part, sizeof part);
        if (got <= 0) return;
        arrived.append(part, static_cast<std::size_t>(got));
      }
    });
    EXPECT_EQ(write_all(write_.get(), sent), sent.size());
    write_ = Fd();
    reader.join();
    return arrived;
  }

  static std::string long_text() {
    std::string text;
    for (int i = 0; text.size() < (1U << 20); ++i) text += std::to_string(i) + "\n";
    return text;
  }

  Fd read_;
  Fd write_;
};

std::atomic<int> interruptions = 0;

TEST_F(WriteAllTest, GoesOnAfterSignals) {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) { ++interruptions; };  // without SA_RESTART
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  const pthread_t writer = ::pthread_self();
  const std::string text = long_text();
  EXPECT_EQ(through_the_pipe(text, [&] { ::pthread_kill(writer, SIGUSR1); }), text);
  EXPECT_GT(interruptions, 0);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(WriteAllTest, WaitsForANonBlockingReader) {
  ASSERT_EQ(::fcntl(write_.get(), F_SETFL, O_NONBLOCK), 0);
  const std::string text = long_text();
  EXPECT_EQ(through_the_pipe(text, [] {}), text);
}

TEST_F(WriteAllTest, SaysThatTheReaderIsGone) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  read_ = Fd();
  EXPECT_EQ(write_all(write_.get(), "text"), 0U);
  EXPECT_EQ(errno, EPIPE);
  (void)std::signal(SIGPIPE, before);
}

TEST_F(WriteAllTest, NothingIsWrittenWhole) {
  EXPECT_EQ(write_all(-1, ""), 0U);
}

TEST_F(FileTest, WriteAllSaysHowMuchFitted) {
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 60, .rlim_max = before.rlim_max};
  const Fd file(::open((folder_ + "/small").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::size_t written = write_all(file.get(), std::string(100, 'x'));
  const int error = errno;
  ::setrlimit(RLIMIT_FSIZE, &before);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_EQ(written, 60U);
  EXPECT_EQ(error, EFBIG);
  EXPECT_EQ(read_file(folder_ + "/small").value(), std::string(60, 'x'));
}

// Whether user 4321 can read a file that it owns with this mode and group.
bool user_reads(const std::string& path, mode_t mode, gid_t group) {
  constexpr uid_t kUser = 4321;
  EXPECT_EQ(::chown(path.c_str(), kUser, group), 0);
  EXPECT_EQ(::chmod(path.c_str(), mode), 0);
  EXPECT_EQ(::seteuid(kUser), 0);
  const bool read = read_file(path, kMaxFileBytes, Writers::kOnlyUs).has_value();
  EXPECT_EQ(::seteuid(0), 0);
  return read;
}

TEST(ReadFile, ThatMakesUsRunCommandsOnlyWeMayHaveWritten) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const TempFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  const std::string path = folder.path() + "/muster.yaml";
  ASSERT_TRUE(write_file(path, "hosts: n1\n", 0644));
  EXPECT_TRUE(user_reads(path, 0644, 100));
  EXPECT_TRUE(user_reads(path, 0664, 4321));  // the user's own group
  EXPECT_FALSE(user_reads(path, 0664, 100));
  EXPECT_FALSE(user_reads(path, 0646, 4321));
}

TEST(ReadFile, ThatNobodyNamedFollowsNoLinkOfOthers) {
  const TempFolder folder;
  const std::string path = folder.path() + "/muster.yaml";
  ASSERT_TRUE(write_file(folder.path() + "/other.yaml", "hosts: n1\n", 0644));
  ASSERT_EQ(::symlink("other.yaml", path.c_str()), 0);
  EXPECT_TRUE(read_file(path, kMaxFileBytes, Writers::kOnlyUs).has_value());
  const auto text = read_file(path, kMaxFileBytes, Writers::kOnlyUsAndNoLink);
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().what,
            "this is a symbolic link in a directory that other users can change");
  EXPECT_TRUE(read_file(folder.path() + "/other.yaml", kMaxFileBytes, Writers::kOnlyUsAndNoLink)
                  .has_value());
}

TEST(FolderWriters, AreKnownByOwnerAndMode) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  const TempFolder folder;
  const auto writers = [&](uid_t owner, gid_t group, mode_t mode) {
    EXPECT_EQ(::chown(folder.path().c_str(), owner, group), 0);
    EXPECT_EQ(::chmod(folder.path().c_str(), mode), 0);
    return folder_writers(folder.path());
  };
  EXPECT_EQ(writers(0, 0, 0755), FolderWriters::kOnlyUs);
  EXPECT_EQ(writers(0, 0, 0775), FolderWriters::kOthers);
  EXPECT_EQ(writers(0, 0, 01777), FolderWriters::kEverybody);
  EXPECT_EQ(writers(4321, 4321, 0755), FolderWriters::kOthers);
  EXPECT_EQ(folder_writers(folder.path() + "/none"), FolderWriters::kEverybody);
}

TEST(ReadFile, TellsRootHowToUseAnotherUsersFile) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const TempFolder folder;
  const std::string path = folder.path() + "/muster.yaml";
  ASSERT_TRUE(write_file(path, "hosts: n1\n", 0644));
  ASSERT_EQ(::chown(path.c_str(), 4321, 4321), 0);
  const auto text = read_file(path, kMaxFileBytes, Writers::kOnlyUs);
  ASSERT_FALSE(text.has_value());
  EXPECT_NE(text.error().hint.find("chown root " + path), std::string::npos);
  EXPECT_NE(text.error().hint.find("--config <(cat " + path + ")"), std::string::npos);
}

}  // namespace
}  // namespace muster::sys
