// The launcher's files of setup, and a bundle, on a machine that crashes or has a full disk at any
// system call of muster, ssh-keygen and host.sh.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "setup/bundle_writer.hpp"
#include "setup/launcher.hpp"
#include "sys/crash_states.hpp"
#include "sys/process.hpp"
#include "sys/temp_folder.hpp"

namespace muster::setup {
namespace {

using test::Tree;
using test::Trouble;

// Expects that `path` is absent or the same as in one of `wholes`.
void expect_whole(const Tree& tree, const std::string& path, std::initializer_list<Tree> wholes,
                  const std::string& when) {
  const auto now = tree.find(path);
  if (now == tree.end()) return;
  const bool is_whole = std::any_of(wholes.begin(), wholes.end(), [&](const Tree& whole) {
    return whole.contains(path) && whole.at(path) == now->second;
  });
  EXPECT_TRUE(is_whole) << path << " is broken: " << when << "\n" << now->second.content;
}

void expect_key_pair(const std::string& key) {
  const auto derived = sys::run({.argv = {"ssh-keygen", "-y", "-P", "", "-f", key}});
  ASSERT_TRUE(derived && derived->ok()) << key << " is not a key";
  EXPECT_EQ(sys::read_file(key + ".pub").value_or("").rfind(derived->out.substr(0, 80), 0), 0U);
}

class LauncherCrash : public testing::TestWithParam<std::vector<Entry>> {
 protected:
  void SetUp() override {
    // Setup refuses a HOME that differs from the account's. A `getent` that fails hides the
    // account.
    test::write_tree(temp_.path() + "/bin",
                     {{"", {S_IFDIR | 0700, ""}}, {"getent", {S_IFLNK, "/bin/false"}}});
    set("HOME", home_);
    set("PATH", temp_.path() + "/bin:" + old_path_);
    test::write_tree(home_, {{"", {S_IFDIR | 0755, ""}},
                             {".ssh", {S_IFDIR | 0700, ""}},
                             {".ssh/config", {S_IFREG | 0644, "Host x\n  Port 7"}}});
    before_ = test::read_tree(home_);
    if (!GetParam().empty()) {
      ASSERT_EQ(set_up(GetParam()), "");
    }
  }
  void TearDown() override {
    set("HOME", old_home_);
    set("PATH", old_path_);
  }

  static std::string variable(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? "" : value;
  }
  static void set(const char* name, const std::string& value) {
    (void)::setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }

  static Result<void> try_set_up(const std::vector<Entry>& entries) {
    MUSTER_TRY(Launcher launcher, Launcher::open());
    MUSTER_TRY(const sys::Fd lock, launcher.prepare());
    MUSTER_CHECK(launcher.ensure_key(launcher.cluster_key(), "muster"));
    MUSTER_CHECK(launcher.write_list(entries));
    return launcher.write_config(entries);
  }
  static std::string set_up(const std::vector<Entry>& entries) {
    const auto done = try_set_up(entries);
    return done ? "" : to_text(done.error());
  }

  // Expects that setup finds its list and completes its work, and that undo reverts it.
  void expect_recovery(const Tree& crashed, const std::string& when) const {
    test::write_tree(home_, crashed);
    const Launcher launcher = Launcher::open().value();
    const auto entries = launcher.read_entries();
    ASSERT_TRUE(entries) << when;
    EXPECT_TRUE(*entries == wanted_ || *entries == GetParam()) << when;
    ASSERT_EQ(set_up(wanted_), "") << when;
    EXPECT_EQ(launcher.read_entries().value(), wanted_) << when;
    EXPECT_EQ(sys::read_file(launcher.folder() + "/config").value(), config_text(wanted_)) << when;
    expect_key_pair(launcher.cluster_key());
    ASSERT_TRUE(Launcher::open().value().undo()) << when;
    EXPECT_EQ(test::read_tree(home_), before_) << when;
  }

  const std::vector<Entry> wanted_ = {{.name = "n1"}, {.name = "n2", .user = "me"}};
  const std::string old_home_ = variable("HOME");
  const std::string old_path_ = variable("PATH");
  const sys::TempFolder temp_{"/dev/shm/"};
  const std::string home_ = temp_.path() + "/home";
  Tree before_;
};

TEST_P(LauncherCrash, LeavesFilesThatSetupAndUndoUnderstand) {
  const Tree old = test::read_tree(home_);
  const auto watched = test::watch(home_, [this] { return set_up(wanted_).empty() ? 0 : 1; });
  ASSERT_EQ(watched.status, 0);
  const Tree after = test::read_tree(home_);
  for (std::size_t i = 0; i < watched.states.size(); ++i) {
    const auto& [tree, when] = watched.states[i];
    for (const char* path : {"hosts", "config", "id_ed25519", "id_ed25519.pub"}) {
      expect_whole(tree, fmt::format(".ssh/muster/{}", path), {old, after}, when);
    }
    if (i % test::crash_step(13) == 0) expect_recovery(tree, when);
  }
  std::printf("%ld calls, %zu states\n", watched.calls, watched.states.size());
}

TEST_P(LauncherCrash, LosesNothingOnAFullDisk) {
  const Tree old = test::read_tree(home_);
  const auto work = [this] { return set_up(wanted_).empty() ? 0 : 1; };
  const long calls = test::count_calls(home_, work, Trouble::full_disk);
  ASSERT_GT(calls, 0);
  const auto step = static_cast<long>(test::crash_step(13));
  for (long at = 1; at <= calls; at += step) {
    test::write_tree(home_, old);
    (void)test::run_in_trouble(home_, work, Trouble::full_disk, at);
    expect_recovery(test::read_tree(home_), fmt::format("full disk from call {} on", at));
  }
}

INSTANTIATE_TEST_SUITE_P(Setup, LauncherCrash,
                         testing::Values(std::vector<Entry>{}, std::vector<Entry>{{.name = "n1"}}),
                         [](const auto& one) { return one.param.empty() ? "First" : "Second"; });

class BundleCrash : public testing::Test {
 protected:
  static std::string write(const std::string& folder) {
    const auto written =
        write_bundle(folder, {.hosts = {"n1", "n2"}, .owner = {::geteuid(), ::getegid()}}, false);
    return written ? "" : to_text(written.error());
  }
  void expect_recovery(const Tree& crashed, const std::string& when) const {
    test::write_tree(top_, crashed);
    ASSERT_EQ(write(folder_), "") << when;
    expect_key_pair(folder_ + "/launcher/id_ed25519");
    expect_key_pair(folder_ + "/workers/n2/ssh_host_ed25519_key");
    EXPECT_TRUE(sys::exists(folder_ + "/run-launcher.sh")) << when;
  }

  const sys::TempFolder temp_{"/dev/shm/"};
  const std::string top_ = temp_.path();
  const std::string folder_ = top_ + "/bundle";
};

TEST_F(BundleCrash, LeavesWholeFilesAndCanBeRepeated) {
  const auto watched = test::watch(top_, [this] { return write(folder_).empty() ? 0 : 1; });
  ASSERT_EQ(watched.status, 0);
  const Tree after = test::read_tree(top_);
  for (std::size_t i = 0; i < watched.states.size(); ++i) {
    const auto& [tree, when] = watched.states[i];
    for (const auto& [path, node] : after) {
      if (!S_ISREG(node.mode) || path.ends_with(".pub")) continue;
      expect_whole(tree, path, {after}, when);
    }
    if (i % test::crash_step(13) == 0) expect_recovery(tree, when);
  }
  std::printf("%ld calls, %zu states\n", watched.calls, watched.states.size());
}

TEST_F(BundleCrash, CanBeRepeatedAfterAFullDisk) {
  const auto work = [this] { return write(folder_).empty() ? 0 : 1; };
  const Tree before = test::read_tree(top_);
  const long calls = test::count_calls(top_, work, Trouble::full_disk);
  ASSERT_GT(calls, 0);
  const auto step = static_cast<long>(test::crash_step(13));
  for (long at = 1; at <= calls; at += step) {
    test::write_tree(top_, before);
    (void)test::run_in_trouble(top_, work, Trouble::full_disk, at);
    expect_recovery(test::read_tree(top_), fmt::format("full disk from call {} on", at));
  }
}

}  // namespace
}  // namespace muster::setup
