// host.sh on a machine that crashes or has a full disk, at every system call of the script and of
// the programs that it starts. The user's own lines are never lost, a later run finishes the work,
// and undo restores the files.
#include <cstdio>
#include <cstdlib>
#include <ostream>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "setup/host_script.hpp"
#include "sys/crash_states.hpp"
#include "sys/file.hpp"
#include "sys/process.hpp"
#include "sys/temp_folder.hpp"

namespace muster::setup {
namespace {

using test::Node;
using test::Tree;

constexpr const char* kLauncherKey = "ssh-ed25519 AAAAC3NzaC1+/x muster@launcher";
constexpr const char* kKeys = ".ssh/authorized_keys";
constexpr const char* kConfig = ".ssh/config";

Node file(std::string content, mode_t mode) {
  return {S_IFREG | mode, std::move(content)};
}
Node directory(mode_t mode) {
  return {S_IFDIR | mode, ""};
}

std::string mesh_of_two() {
  return mesh_script({.keys = "n1 from=\"198.18.0.1\",restrict ssh-ed25519 AAAAN1 x\n"
                              "n2 from=\"198.18.0.2\",restrict ssh-ed25519 AAAAN2 x\n",
                      .pins = "n1 n1 ssh-ed25519 AAAA1\nn2 n2 ssh-ed25519 AAAA2\n"},
                     false);
}

struct Case {
  const char* name;
  Tree before;
  std::vector<std::string> earlier;  // scripts that have already run
  std::string script;                // the script during which the crash happens
  Place place = Place::kHost;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

Tree users_files() {
  return {{"", directory(0755)},
          {".ssh", directory(0775)},
          {kKeys, file("ssh-rsa AAAA one\nssh-rsa BBBB two", 0664)},
          {kConfig, file("Host x\n  Port 7\n", 0664)}};
}

std::vector<Case> cases() {
  const Tree nothing = {{"", directory(0755)}};
  const std::string install = install_script(kLauncherKey, false);
  return {
      {"InstallIntoNothing", nothing, {}, install},
      {"Install", users_files(), {}, install},
      {"Mesh", users_files(), {install}, mesh_of_two()},
      {"Undo", users_files(), {install, mesh_of_two()}, undo_script(Place::kHost, false)},
      {"Prepare", users_files(), {}, prepare_script(false), Place::kLauncher},
      {"Include", users_files(), {prepare_script(false)}, include_script(false), Place::kLauncher},
      {"Identity", users_files(), {}, identity_script()},
      {"UndoOfNothing", nothing, {install}, undo_script(Place::kHost, false)}};
}

class HostCrash : public testing::TestWithParam<Case> {
 protected:
  // Replaces the process with the shell that runs the script.
  [[nodiscard]] test::Work shell(const std::string& script) const {
    return [this, script] {
      const int input = ::memfd_create("script", 0);
      (void)sys::write_all(input, script);
      (void)::lseek(input, 0, SEEK_SET);
      (void)::dup2(input, STDIN_FILENO);
      const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      (void)::dup2(nowhere, STDOUT_FILENO);
      (void)::dup2(nowhere, STDERR_FILENO);
      (void)::setenv("HOME", home_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
      return ::execlp("dash", "dash", nullptr);
    };
  }

  void run(const std::string& script, const std::string& when) const {
    const auto ended = sys::run({.argv = {"dash"},
                                 .env = {"HOME=" + home_},
                                 .input = std::make_shared<const std::string>(script)});
    ASSERT_TRUE(ended.has_value());
    ASSERT_TRUE(parse_script_report(ended->out).ended) << when << "\n" << ended->out << ended->err;
  }

  void start() const {
    test::write_tree(home_, GetParam().before);
    for (const std::string& script : GetParam().earlier) run(script, "before");
  }

  // Expects that each of the user's lines is still there, below or above ours.
  void expect_users_lines(const Tree& tree, const std::string& when) const {
    for (const char* path : {kKeys, kConfig}) {
      const auto old = GetParam().before.find(path);
      if (old == GetParam().before.end()) continue;
      const auto now = tree.find(path);
      ASSERT_NE(now, tree.end()) << path << " is gone: " << when;
      EXPECT_NE(now->second.content.find(old->second.content), std::string::npos)
          << path << " has lost lines: " << when << "\n"
          << now->second.content;
      const mode_t mode = now->second.mode;
      EXPECT_TRUE(mode == old->second.mode || mode == (old->second.mode & ~022U))
          << path << " has mode " << std::oct << mode << ": " << when;
    }
  }

  // Expects that the script completes its work and undo reverts it, and that undo alone works too.
  void expect_recovery(const Tree& crashed, const Tree& after, const std::string& when) const {
    test::write_tree(home_, crashed);
    ASSERT_NO_FATAL_FAILURE(run(GetParam().script, when));
    const Tree now = test::read_tree(home_);
    for (const char* path : {kKeys, kConfig}) {
      ASSERT_EQ(now.contains(path), after.contains(path)) << path << ": " << when;
      if (after.contains(path)) {
        EXPECT_EQ(now.at(path), after.at(path)) << path << ": " << when;
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_undo("run again and undone, " + when));
    test::write_tree(home_, crashed);
    ASSERT_NO_FATAL_FAILURE(expect_undo("undone, " + when));
  }

  void expect_undo(const std::string& when) const {
    run(undo_script(GetParam().place, false), when);
    Tree left = test::read_tree(home_);
    // If undo crashed right before it removed the empty .ssh, the second undo leaves that folder.
    if (!GetParam().before.contains(".ssh") && left.size() == 2) left.erase(".ssh");
    EXPECT_EQ(differences(left), "") << when;
  }

  // Returns the paths that differ from their state before all scripts.
  std::string differences(const Tree& tree) const {
    std::string text;
    Tree all = tree;
    all.insert(GetParam().before.begin(), GetParam().before.end());
    for (const auto& [path, node] : all) {
      const auto now = tree.find(path);
      const auto old = GetParam().before.find(path);
      if (now == tree.end()) text += path + " is gone\n";
      if (old == GetParam().before.end()) text += path + " was left\n";
      if (now == tree.end() || old == GetParam().before.end() || now->second == old->second)
        continue;
      text += fmt::format("{} has mode {:o}, not {:o}, and:\n{}\n", path, now->second.mode,
                          old->second.mode, now->second.content);
    }
    return text;
  }

  const sys::TempFolder temp_{"/dev/shm/"};  // syncing takes no time in memory
  const std::string home_ = temp_.path() + "/home";
};

TEST_P(HostCrash, LosesNothingAtAnyCall) {
  start();
  const auto watched = test::watch(home_, shell(GetParam().script));
  ASSERT_EQ(watched.status, 0);
  const Tree after = test::read_tree(home_);
  const std::size_t count = watched.states.size();
  const std::size_t step = test::crash_step(29);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [tree, when] = watched.states[i];
    expect_users_lines(tree, when);
    // Always includes the middle and the last state.
    if ((count - 1 - i) % step != 0 && i != count / 2) continue;
    expect_recovery(tree, after, when);
  }
  std::printf("%ld calls, %zu states\n", watched.calls, watched.states.size());
}

TEST_P(HostCrash, LosesNothingOnAFullDisk) {
  start();
  const Tree begun = test::read_tree(home_);
  const long calls = test::count_calls(home_, shell(GetParam().script), test::Trouble::full_disk);
  ASSERT_GT(calls, 0);
  const Tree after = test::read_tree(home_);
  const auto step = static_cast<long>(test::crash_step(29));
  for (long at = 1; at <= calls; at += step) {
    const std::string when = fmt::format("full disk from call {} on", at);
    test::write_tree(home_, begun);
    (void)test::run_in_trouble(home_, shell(GetParam().script), test::Trouble::full_disk, at);
    const Tree left = test::read_tree(home_);
    expect_users_lines(left, when);
    expect_recovery(left, after, when);
  }
}

INSTANTIATE_TEST_SUITE_P(Scripts, HostCrash, testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace muster::setup
