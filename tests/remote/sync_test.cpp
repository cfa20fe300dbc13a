#include "remote/sync.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <unistd.h>

#include "remote/has_word.hpp"
#include "remote/ssh.hpp"
#include "sys/temp_folder.hpp"

namespace muster::remote {
namespace {

TEST(RsyncWords, ASlashAtTheEndOfAPathChangesNothing) {
  const std::vector<std::string> ssh = {"ssh"};
  const auto bare = rsync_words({.from = "/data/job", .to = "/srv/job"}, ssh, "n1");
  EXPECT_EQ(bare, rsync_words({.from = "/data/job/", .to = "/srv/job/"}, ssh, "n1"));
  EXPECT_EQ(bare.back(), "n1:/srv/job/");
  EXPECT_EQ(bare[bare.size() - 2], "/data/job/");
  EXPECT_TRUE(has_word(bare, "--protect-args"));
}

TEST(RsyncWords, TimesAreComparedToTheNanosecond) {
  const std::vector<std::string> ssh = {"ssh"};
  EXPECT_TRUE(has_word(rsync_words({.from = "/a", .to = "/a", .exact = true}, ssh, "n1"),
                       "--modify-window=-1"));
  EXPECT_FALSE(has_word(rsync_words({.from = "/a", .to = "/a"}, ssh, "n1"), "--modify-window=-1"));
}

TEST(RsyncWords, OldVersionsAreNotAskedToCompareTimesExactly) {
  EXPECT_TRUE(compares_exactly("rsync  version 3.2.7  protocol version 31\n"));
  EXPECT_TRUE(
      compares_exactly("hello from the shell\nrsync  version 3.1.3  protocol version 31\n"));
  for (const char* const old :
       {"rsync  version 3.1.2  protocol version 31", "rsync version 2.6.9", "", "version 3."}) {
    EXPECT_FALSE(compares_exactly(old)) << old;
  }
}

TEST(RsyncWords, NothingIsRemovedUnlessAsked) {
  const std::vector<std::string> ssh = {"ssh"};
  EXPECT_FALSE(has_word(rsync_words({.from = "/a", .to = "/a"}, ssh, "n1"), "--delete"));
  EXPECT_TRUE(
      has_word(rsync_words({.from = "/a", .to = "/a", .remove = true}, ssh, "n1"), "--delete"));
}

// Tests both ways in which `run --sync` sends a project: rsync and tar.
class ListedPaths : public testing::TestWithParam<bool> {
 protected:
  static sys::Ended send(const SyncOptions& options) {
    // Like ssh: runs the command that follows the host's name.
    const std::vector<std::string> shell = {"sh", "-c", "eval \"$2\""};
    const auto words =
        GetParam() ? rsync_words(options, {}, "") : tar_words(options, shell, "host");
    auto ended = sys::run({.argv = words, .input = options.paths});
    return ended ? *ended : sys::Ended{.code = -1, .err = to_text(ended.error())};
  }
};

INSTANTIATE_TEST_SUITE_P(By, ListedPaths, testing::Bool(),
                         [](const auto& one) { return std::string(one.param ? "Rsync" : "Tar"); });

TEST_P(ListedPaths, AnyNameIsSentAndNewerFilesStay) {
  namespace fs = std::filesystem;
  const sys::TempFolder temp;
  const fs::path folder = temp.path();
  fs::create_directories(folder / "from/empty");
  fs::create_directories(folder / "to");
  const std::vector<std::string> names = {"#a", "-rf", ";b", "c\nd", "e ", "*", "checkpoint"};
  for (const std::string& one : names) std::ofstream(folder / "from" / one) << "from";
  std::ofstream(folder / "from/ignored") << "from";
  for (const char* const one : {"checkpoint", "only there"}) std::ofstream(folder / "to" / one);
  fs::last_write_time(folder / "from/checkpoint",
                      fs::last_write_time(folder / "to/checkpoint") - std::chrono::hours(1));
  std::vector<std::string> paths = names;
  paths.emplace_back("empty");
  const SyncOptions options{
      .from = folder / "from", .to = folder / "to", .exact = true, .paths = path_list(paths)};
  const sys::Ended ended = send(options);
  ASSERT_TRUE(ended.ok()) << ended.err;
  std::set<std::string> there;
  for (const auto& entry : fs::directory_iterator(folder / "to")) {
    there.insert(entry.path().filename());
  }
  std::set<std::string> expected(paths.begin(), paths.end());
  expected.insert("only there");
  EXPECT_EQ(there, expected);
  EXPECT_EQ(fs::file_size(folder / "to/-rf"), 4U);
  EXPECT_EQ(fs::file_size(folder / "to/checkpoint"), 0U);
  EXPECT_EQ(newer_there(ended.out), std::vector<std::string>{"checkpoint"});
  EXPECT_EQ(parse_stats(ended.out)->files, names.size() - 1);
  EXPECT_EQ(parse_stats(ended.out)->bytes, 4 * (names.size() - 1));
  EXPECT_EQ(parse_stats(send(options).out), Changes{}) << "the same already";
  // The file has the same size, and was probably changed in the same second.
  std::ofstream(folder / "from/-rf") << "edit";
  EXPECT_EQ(parse_stats(send(options).out)->files, 1U);
}

// What a rank has put in the place of a link or a folder stays there.
TEST_P(ListedPaths, LinksAndFoldersReplaceNothing) {
  namespace fs = std::filesystem;
  const sys::TempFolder temp;
  const fs::path folder = temp.path();
  fs::create_directories(folder / "from/empty");
  fs::create_directories(folder / "from/data");
  fs::create_directories(folder / "to/scratch");
  std::ofstream(folder / "from/data/readme") << "from";
  for (const char* const link : {"latest", "last.pt", "new"}) {
    fs::create_symlink("from", folder / "from" / link);
  }
  fs::create_symlink("there", folder / "to/latest");
  for (const char* const file : {"last.pt", "empty"})
    std::ofstream(folder / "to" / file) << "there";
  fs::create_symlink("scratch", folder / "to/data");
  const auto send_paths = [&](const std::vector<std::string>& paths, bool only_new) {
    return send({.from = folder / "from",
                 .to = folder / "to",
                 .paths = path_list(paths),
                 .only_new = only_new})
        .code;
  };
  EXPECT_EQ(send_paths({"empty", "last.pt", "latest", "new"}, true), 0);
  (void)send_paths({"data/readme"},
                   false);  // some versions of rsync follow the link, others refuse
  EXPECT_EQ(send_paths({"vanished"}, false), 0);
  EXPECT_EQ(fs::read_symlink(folder / "to/latest"), "there");
  EXPECT_EQ(fs::read_symlink(folder / "to/data"), "scratch");
  EXPECT_EQ(fs::read_symlink(folder / "to/new"), "from");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder / "to/last.pt")));
  EXPECT_TRUE(fs::is_regular_file(folder / "to/empty"));
}

TEST(TarWords, AConnectionThatBreaksChangesNothing) {
  namespace fs = std::filesystem;
  const sys::TempFolder temp;
  const fs::path folder = temp.path();
  fs::create_directories(folder / "from");
  fs::create_directories(folder / "to");
  std::ofstream(folder / "from/train.py") << std::string(1'000'000, 'x');
  const SyncOptions options{.from = folder / "from",
                            .to = folder / "to",
                            .paths = path_list(std::vector<std::string>{"train.py"})};
  const std::vector<std::string> shell = {"sh", "-c", "head -c 500000 | eval \"$2\""};
  const auto ended = sys::run({.argv = tar_words(options, shell, "host"), .input = options.paths});
  ASSERT_TRUE(ended.has_value());
  EXPECT_NE(ended->code, 0);
  EXPECT_TRUE(fs::is_empty(folder / "to"));
}

TEST(RsyncWords, AnAddressWithColonsIsBracketed) {
  const std::vector<std::string> ssh = {"ssh"};
  EXPECT_EQ(rsync_words({.from = "/a", .to = "/a"}, ssh, "fd00::1").back(), "[fd00::1]:/a/");
}

TEST(RsyncWords, ThisMachineIsNoRemotePlace) {
  const std::vector<std::string> ssh = {"ssh"};
  EXPECT_EQ(rsync_words({.from = "/a", .to = "/b"}, ssh, "").back(), "/b/");
  EXPECT_EQ(rsync_words({.from = "/a", .to = "n1:b"}, ssh, "").back(), "./n1:b/");
}

TEST(RsyncShell, RidesOnTheOpenConnectionWithCheckingOn) {
  const std::string line = rsync_shell(ssh_words({.user = "dev", .port = 2222}));
  EXPECT_EQ(line.find("ssh "), 0U);
  EXPECT_NE(line.find("-o StrictHostKeyChecking=yes"), std::string::npos);
  EXPECT_NE(line.find("ControlPath="), std::string::npos);
  EXPECT_NE(line.find("-l dev -p 2222"), std::string::npos);
}

TEST(RsyncShell, QuotesAsRsyncReadsThem) {
  const std::vector<std::string> words = {"ssh", "-o", "ControlPath=/home/o'neil x/%C"};
  EXPECT_EQ(rsync_shell(words), "ssh -o 'ControlPath=/home/o''neil x/%C'");
}

TEST(PrepareLine, AFolderNameIsNeverRunByTheShell) {
  const std::string name = "/tmp/no/such/$(touch /tmp/prepare_line_injected)'; exit 9; '";
  const SyncOptions options{.from = "/a", .to = name, .dry_run = true};
  const auto ended = sys::run({.argv = {"sh", "-c", prepare_line(options)}});
  ASSERT_TRUE(ended.has_value());
  EXPECT_NE(ended->code, 9);
  const auto injected = sys::run({.argv = {"test", "-e", "/tmp/prepare_line_injected"}});
  EXPECT_EQ(injected->code, 1);
}

TEST(PrepareLine, SaysWhichRsyncThereIs) {
  const sys::TempFolder temp;
  const std::filesystem::path path = temp.path();
  std::filesystem::create_symlink("/bin/sh", path / "sh");
  std::filesystem::create_symlink("/usr/bin/head", path / "head");
  const SyncOptions options{.from = "/a", .to = "/a", .dry_run = true};
  const auto asked = [&](const std::string& before) {
    return sys::run({.argv = {"/bin/sh", "-c", before + "; " + prepare_line(options)}});
  };
  EXPECT_TRUE(is_rsync(asked("echo hello")->out));
  const auto without = asked("PATH=" + temp.path());
  EXPECT_EQ(without->code, 0) << without->err;
  EXPECT_FALSE(is_rsync(without->out));
}

TEST(PrepareLine, RecognisesAFolderThatIsShared) {
  std::string mark = testing::TempDir() + "mark-XXXXXX";
  ::close(::mkstemp(mark.data()));
  const std::size_t slash = mark.rfind('/');
  const auto code = [&](const std::string& name) {
    const SyncOptions options{
        .from = "/a", .to = mark.substr(0, slash), .dry_run = true, .shared_mark = name};
    return sys::run({.argv = {"sh", "-c", prepare_line(options)}})->code;
  };
  EXPECT_EQ(code(mark.substr(slash + 1)), kShared);
  EXPECT_EQ(code("not there"), 0);
  EXPECT_EQ(code(""), 0);
  std::filesystem::remove(mark);
}

TEST(TargetFolder, IsTheSamePathUnlessSaid) {
  EXPECT_EQ(*target_folder("/data/job", "", false), "/data/job");
  EXPECT_EQ(*target_folder("/data/job", "/srv//job/", false), "/srv/job");
  EXPECT_EQ(*target_folder("/data/job", "~/job", false), "job") << "relative to the home there";
}

TEST(TargetFolder, DeleteNeverClearsARootOrAHome) {
  for (const char* place : {"/", "~", ".", "//", "~/", "/x/..", ".."}) {
    EXPECT_FALSE(target_folder("/data/job", place, true).has_value()) << place;
    EXPECT_TRUE(target_folder("/data/job", place, false).has_value()) << place;
  }
}

constexpr auto kStats =
    "\nNumber of files: 12 (reg: 9, dir: 3)\n"
    "Number of created files: 4 (reg: 2, dir: 2)\n"
    "Number of deleted files: 1 (reg: 1)\n"
    "Number of regular files transferred: 3\n"
    "Total file size: 99999 bytes\n"
    "Total transferred file size: 1234567 bytes\n";

TEST(Stats, AreReadAndSaidInWords) {
  const Changes expected{.files = 3, .bytes = 1234567, .others = 2, .deleted = 1};
  EXPECT_EQ(parse_stats(kStats), expected);
  EXPECT_EQ(to_text(expected), "3 files (1.2 MB), 2 directories or links, 1 deleted");
  EXPECT_EQ(to_text(Changes{.files = 1, .bytes = 2, .others = 1}),
            "1 file (2 bytes), 1 directory or link");
  EXPECT_EQ(to_text(Changes{}), "the same already");
  EXPECT_FALSE(parse_stats("rsync: something else\n").has_value());
}

TEST(Stats, ADryRunsListingStandsBeforeThem) {
  EXPECT_EQ(listing(std::string("<f+++++++++ a/b\n") + kStats), "<f+++++++++ a/b\n");
  EXPECT_EQ(listing(kStats), "");
}

TEST(SyncFailure, KeepsTheFirstLine) {
  const Error error = sync_failure(
      "n1",
      {.code = 23, .err = "rsync: mkstemp \"/srv/x\" failed: Permission denied (13)\nmore\n"});
  EXPECT_NE(to_text(error).find("Permission denied (13)"), std::string::npos);
  EXPECT_EQ(sync_failure("n1", {.code = 255, .err = ""}).code, ErrorCode::kUnreachable);
}

TEST(SyncFailure, NoWordsOfAHostCanControlATerminal) {
  const std::string raw = "\x1b]0;t\a\u009b";
  EXPECT_TRUE(sync_failure("n1", {.code = 23, .err = raw}).cause->what == "?]0;t??");
  EXPECT_EQ(newer_there(raw + " is newer\n"), std::vector<std::string>{"?]0;t??"});
  EXPECT_EQ(listing(raw + "\nb\n" + kStats), "?]0;t??\nb\n");
}

}  // namespace
}  // namespace muster::remote
