// host.sh, run by the shells that hosts have, with a temporary home folder.
#include "setup/host_script.hpp"

#include <filesystem>
#include <map>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sys/file.hpp"
#include "sys/process.hpp"
#include "sys/temp_folder.hpp"

namespace muster::setup {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKey = "ssh-ed25519 AAAAC3NzaC1+/x muster@launcher";

class HostScript : public ::testing::TestWithParam<std::vector<std::string>> {
 protected:
  HostScript() { ::chmod(home_.c_str(), 0755); }

  void SetUp() override {
    auto probe = GetParam();
    probe.insert(probe.end(), {"-c", "true"});
    const auto ended = sys::run({.argv = probe});
    if (!ended || !ended->ok()) GTEST_SKIP() << GetParam().front() << " is not installed";
  }

  sys::Ended run_shell(const std::string& script) {
    const auto ended = sys::run({.argv = GetParam(),
                                 .env = {"HOME=" + home_},
                                 .input = std::make_shared<const std::string>(script)});
    EXPECT_TRUE(ended.has_value()) << "not started";
    return ended.value_or(sys::Ended{});
  }

  ScriptReport run(const std::string& script) {
    const sys::Ended ended = run_shell(script);
    EXPECT_TRUE(ended.err.empty()) << ended.err;
    ScriptReport report = parse_script_report(ended.out);
    EXPECT_TRUE(report.ended) << ended.out;
    return report;
  }

  // Like run(), for scripts that may fail and whose programs may print errors.
  ScriptReport run_noisy(const std::string& script) {
    return parse_script_report(run_shell(script).out);
  }

  void write(const std::string& path, std::string_view text, mode_t mode) {
    ASSERT_TRUE(sys::make_folders(fs::path(home_ + "/" + path).parent_path(), 0700).has_value());
    ASSERT_TRUE(sys::write_file(home_ + "/" + path, text, mode).has_value());
  }

  std::string read(const std::string& path) {
    return sys::read_file(home_ + "/" + path).value_or("?");
  }

  // Returns every path below the home folder with its mode and content.
  std::map<std::string, std::string> tree() {
    std::map<std::string, std::string> all;
    const auto mode = [](const fs::path& path) {
      return std::to_string(static_cast<unsigned>(fs::status(path).permissions()));
    };
    all["."] = mode(home_);
    for (const auto& entry : fs::recursive_directory_iterator(home_)) {
      all[entry.path()] = mode(entry.path());
      if (entry.is_regular_file()) all[entry.path()] += sys::read_file(entry.path()).value_or("");
    }
    return all;
  }

  MeshPart mesh() {
    return {.keys =
                "n1 from=\"198.18.0.1\",restrict ssh-ed25519 AAAAN1 x\n"
                "n2 from=\"198.18.0.2\",restrict ssh-ed25519 AAAAN2 x\n",
            .pins = "n1 n1 ssh-ed25519 AAAA1\nn2 n2 ssh-ed25519 AAAA2\n"};
  }

  const sys::TempFolder temp_;
  const std::string home_ = temp_.path();
};

TEST_P(HostScript, InstallsIntoNothingOnceAndUndoLeavesNothing) {
  const auto before = tree();
  EXPECT_FALSE(run(install_script(kKey, true)).changes.empty());
  EXPECT_EQ(tree(), before);
  EXPECT_EQ(run(install_script(kKey, false)).changes.size(), 2U);
  EXPECT_EQ(read(".ssh/authorized_keys"), std::string(kKey) + "\n");
  EXPECT_EQ(fs::status(home_ + "/.ssh").permissions(), fs::perms::owner_all);
  const auto after = tree();
  EXPECT_TRUE(run(install_script(kKey, false)).changes.empty());
  EXPECT_EQ(tree(), after);
  (void)run(undo_script(Place::kHost, true));
  EXPECT_EQ(tree(), after);
  (void)run(undo_script(Place::kHost, false));
  EXPECT_EQ(tree(), before);
  EXPECT_TRUE(run(undo_script(Place::kHost, false)).changes.empty());
}

TEST_P(HostScript, KeepsALastLineWithoutNewlineWholeAndRestoresItExactly) {
  write(".ssh/authorized_keys", "ssh-rsa AAAA old", 0640);
  const auto before = tree();
  (void)run(install_script(kKey, false));
  EXPECT_EQ(read(".ssh/authorized_keys"), "ssh-rsa AAAA old\n" + std::string(kKey) + "\n");
  (void)run(undo_script(Place::kHost, false));
  EXPECT_EQ(tree(), before);
}

TEST_P(HostScript, PutsModesRightAndGivesThemBack) {
  write(".ssh/authorized_keys", "", 0666);
  ::chmod((home_ + "/.ssh").c_str(), 0777);
  ::chmod(home_.c_str(), 02775);
  const auto before = tree();
  EXPECT_EQ(run(install_script(kKey, false)).changes.size(), 4U);
  for (const char* path : {"", "/.ssh", "/.ssh/authorized_keys"}) {
    const auto open =
        fs::status(home_ + path).permissions() & (fs::perms::group_write | fs::perms::others_write);
    EXPECT_EQ(open, fs::perms::none) << path;
  }
  (void)run(undo_script(Place::kHost, false));
  EXPECT_EQ(tree(), before);
}

TEST_P(HostScript, GivesTheOwnerThePermissionsItNeedsAndTakesThemBack) {
  write(".ssh/authorized_keys", "ssh-rsa AAAA old\n", 0040);
  ::chmod((home_ + "/.ssh").c_str(), 0500);
  const auto mode = [this](const char* path) {
    return static_cast<unsigned>(fs::status(home_ + path).permissions());
  };
  EXPECT_EQ(run(install_script(kKey, true)).changes.size(), 3U);
  EXPECT_EQ(mode("/.ssh"), 0500U);
  EXPECT_EQ(run(install_script(kKey, false)).changes.size(), 3U);
  EXPECT_EQ(mode("/.ssh"), 0700U);
  EXPECT_EQ(mode("/.ssh/authorized_keys"), 0640U);
  EXPECT_TRUE(run(install_script(kKey, false)).changes.empty());
  (void)run(undo_script(Place::kHost, false));
  EXPECT_EQ(mode("/.ssh"), 0500U);
  EXPECT_EQ(mode("/.ssh/authorized_keys"), 0040U);
  ::chmod((home_ + "/.ssh").c_str(), 0700);
  ::chmod((home_ + "/.ssh/authorized_keys").c_str(), 0600);
  EXPECT_EQ(read(".ssh/authorized_keys"), "ssh-rsa AAAA old\n");
}

TEST_P(HostScript, UndoKeepsWhatTheUserDidSince) {
  write(".ssh/authorized_keys", "ssh-rsa AAAA old\n", 0600);
  (void)run(install_script(kKey, false));
  write(".ssh/authorized_keys", "# edited\n" + std::string(kKey) + "\nssh-rsa BBBB new\n", 0644);
  (void)run(undo_script(Place::kHost, false));
  EXPECT_EQ(read(".ssh/authorized_keys"), "# edited\nssh-rsa BBBB new\n");
}

TEST_P(HostScript, AUserWhoEditsBetweenTwoSetupsLosesNothing) {
  (void)run(install_script(kKey, false));
  write(".ssh/authorized_keys", std::string(kKey) + "\nssh-rsa BBBB mine\n", 0600);
  (void)run(install_script("ssh-ed25519 AAAASECOND two", false));
  (void)run(undo_script(Place::kHost, false));
  EXPECT_EQ(read(".ssh/authorized_keys"), "ssh-rsa BBBB mine\n");
}

TEST_P(HostScript, AUserWhoEditsAfterOnlyTheModeWasSetLosesNothing) {
  const std::string old = std::string(kKey) + "\n";
  write(".ssh/authorized_keys", old, 0664);
  ::chmod((home_ + "/.ssh/authorized_keys").c_str(), 0664);
  EXPECT_EQ(run(install_script(kKey, false)).changes.size(), 1U);
  write(".ssh/authorized_keys", old + "ssh-rsa BBBB mine\n", 0644);
  (void)run(mesh_script(mesh(), false));
  (void)run(undo_script(Place::kHost, false));
  EXPECT_EQ(read(".ssh/authorized_keys"), old + "ssh-rsa BBBB mine\n");
}

TEST_P(HostScript, AUserWhoCreatesTheFileAfterAFailedSetupLosesNothing) {
  const ScriptReport failed = run_noisy("sync() { return 1; }\n" + install_script(kKey, false));
  EXPECT_TRUE(failed.failure.has_value());
  EXPECT_FALSE(fs::exists(home_ + "/.ssh/authorized_keys"));
  write(".ssh/authorized_keys", "ssh-rsa BBBB mine\n", 0600);
  (void)run(install_script(kKey, false));
  (void)run(undo_script(Place::kHost, false));
  EXPECT_EQ(read(".ssh/authorized_keys"), "ssh-rsa BBBB mine\n");
}

// mv fails if the file is a bind mount or has chattr +a. There can be no draft if the user cannot
// write to the folder.
TEST_P(HostScript, AppendsWhereTheFileCannotBeReplaced) {
  const std::string after = "ssh-rsa AAAA old\n" + std::string(kKey) + "\n";
  write(".ssh/authorized_keys", "ssh-rsa AAAA old", 0600);
  (void)run("mv() { case $3 in */authorized_keys) return 1 ;; esac; command mv \"$@\"; }\n" +
            install_script(kKey, false));
  EXPECT_EQ(read(".ssh/authorized_keys"), after);
  EXPECT_FALSE(fs::exists(home_ + "/.ssh/authorized_keys.muster"));
  (void)run(undo_script(Place::kHost, false));
  EXPECT_EQ(read(".ssh/authorized_keys"), "ssh-rsa AAAA old\n");
  fs::create_directory(home_ + "/.ssh/authorized_keys.muster");
  EXPECT_TRUE(run_noisy(install_script(kKey, false)).ended);
  EXPECT_EQ(read(".ssh/authorized_keys"), after);
}

// Put before a script, this makes another program append a line while the script flushes its first
// draft.
constexpr const char* kOtherAppends = R"sh(
sync() {
  case $1 in *authorized_keys.muster) ;; *) return 0 ;; esac
  if mkdir "$HOME/appended" 2>/dev/null; then echo ssh-rsa BBBB other >>"$HOME/.ssh/authorized_keys"; fi
}
)sh";

TEST_P(HostScript, KeepsALineThatAnotherProgramAppendsMeanwhile) {
  write(".ssh/authorized_keys", "ssh-rsa AAAA old\n", 0600);
  (void)run(kOtherAppends + install_script(kKey, false));
  EXPECT_EQ(read(".ssh/authorized_keys"),
            "ssh-rsa AAAA old\nssh-rsa BBBB other\n" + std::string(kKey) + "\n");
  (void)run(undo_script(Place::kHost, false));
  EXPECT_EQ(read(".ssh/authorized_keys"), "ssh-rsa AAAA old\nssh-rsa BBBB other\n");
}

TEST_P(HostScript, UndoKeepsALineThatAnotherProgramAppendsMeanwhile) {
  write(".ssh/authorized_keys", "ssh-rsa AAAA old\n", 0600);
  (void)run(install_script(kKey, false));
  const std::string undo = undo_script(Place::kHost, false);
  EXPECT_TRUE(run_noisy(kOtherAppends + undo).failure.has_value());
  (void)run(undo);
  EXPECT_EQ(read(".ssh/authorized_keys"), "ssh-rsa AAAA old\nssh-rsa BBBB other\n");
}

TEST_P(HostScript, TheSameKeyUnderAnotherCommentIsNotAddedAgain) {
  write(".ssh/authorized_keys", "ssh-ed25519 AAAAC3NzaC1+/x other\n", 0600);
  EXPECT_TRUE(run(install_script(kKey, false)).changes.empty());
  EXPECT_FALSE(fs::exists(home_ + "/.ssh/muster-undo"));
}

TEST_P(HostScript, WritesThroughALinkAndLeavesItALink) {
  write("dotfiles/keys", "ssh-rsa AAAA old\n", 0600);
  write(".ssh/x", "", 0600);
  fs::create_symlink("../dotfiles/keys", home_ + "/.ssh/authorized_keys");
  const auto before = tree();
  (void)run(install_script(kKey, false));
  EXPECT_NE(read("dotfiles/keys").find(kKey), std::string::npos);
  (void)run(undo_script(Place::kHost, false));
  EXPECT_TRUE(fs::is_symlink(home_ + "/.ssh/authorized_keys"));
  EXPECT_EQ(tree(), before);
}

TEST_P(HostScript, IncludesAtTheTopAndKeepsTheRestByteForByte) {
  const std::string old = "# mine\nHost *\n  Include muster/config";
  write(".ssh/config", old, 0644);
  const auto before = tree();
  (void)run(include_script(false));
  EXPECT_EQ(read(".ssh/config"), "Include muster/config\n" + old);
  EXPECT_TRUE(run(include_script(false)).changes.empty());
  (void)run(undo_script(Place::kLauncher, false));
  EXPECT_EQ(tree(), before);
}

TEST_P(HostScript, MeshIsInstalledGrowsAndGoes) {
  write(".ssh/config", "Host x\n  Port 7\n", 0600);
  const auto before = tree();
  (void)run(install_script(kKey, false));
  (void)run(mesh_script(mesh(), false));
  EXPECT_TRUE(run(mesh_script(mesh(), false)).changes.empty());
  EXPECT_EQ(read(".ssh/muster-mesh/known_hosts"), "n1 ssh-ed25519 AAAA1\nn2 ssh-ed25519 AAAA2\n");
  EXPECT_NE(read(".ssh/muster-mesh/config").find("Host n1 n2\n"), std::string::npos);
  EXPECT_NE(read(".ssh/muster-mesh/config").find("  KnownHostsCommand none\n"), std::string::npos);
  EXPECT_NE(read(".ssh/muster-mesh/config").find("  VerifyHostKeyDNS no\n"), std::string::npos);
  EXPECT_EQ(read(".ssh/config"), "Include muster-mesh/config\nHost x\n  Port 7\n");
  MeshPart more = mesh();
  more.keys =
      "n2 from=\"198.18.0.9\",restrict ssh-ed25519 AAAAN2 x\n"
      "n3 from=\"198.18.0.3\",restrict ssh-ed25519 AAAAN3 x\n";
  more.pins = "n3 n3 ssh-ed25519 AAAA3\n";
  (void)run(mesh_script(more, false));
  EXPECT_NE(read(".ssh/muster-mesh/config").find("Host n1 n2 n3\n"), std::string::npos);
  EXPECT_EQ(read(".ssh/authorized_keys"),
            std::string(kKey) +
                "\nfrom=\"198.18.0.1\",restrict ssh-ed25519 AAAAN1 x"
                "\nfrom=\"198.18.0.9\",restrict ssh-ed25519 AAAAN2 x"
                "\nfrom=\"198.18.0.3\",restrict ssh-ed25519 AAAAN3 x\n");
  (void)run(undo_script(Place::kHost, false));
  EXPECT_EQ(tree(), before);
}

TEST_P(HostScript, AHostsClaimToTheUsersOwnKeyTakesNoLineAway) {
  const std::string mine = "ssh-ed25519 AAAAMINE me\nfrom=\"*\" ssh-ed25519 AAAAMINE me\n";
  write(".ssh/authorized_keys", mine, 0600);
  MeshPart part = mesh();
  part.keys = "n1 from=\"198.18.0.1\",restrict ssh-ed25519 AAAAMINE me\n";
  (void)run(mesh_script(part, false));
  part.keys = "n1 from=\"198.18.0.7\",restrict ssh-ed25519 AAAAMINE me\n";
  (void)run(mesh_script(part, false));
  EXPECT_EQ(read(".ssh/authorized_keys"),
            mine + "from=\"198.18.0.7\",restrict ssh-ed25519 AAAAMINE me\n");
}

TEST_P(HostScript, MakesAKeyOfItsOwnOnceAndTellsThePublicHalf) {
  const auto before = tree();
  const ScriptReport first = run(identity_script());
  EXPECT_EQ(first.public_key.rfind("ssh-ed25519 AAAA", 0), 0U);
  EXPECT_NE(read(".ssh/muster-mesh/own_ed25519").find("PRIVATE KEY"), std::string::npos);
  const ScriptReport second = run(identity_script());
  EXPECT_EQ(second.public_key, first.public_key);
  EXPECT_TRUE(second.changes.empty());
  (void)run(undo_script(Place::kHost, false));
  EXPECT_EQ(tree(), before);
}

TEST_P(HostScript, UndoLeavesAnotherLaunchersKeyAndTheLastOneRestoresAll) {
  const std::vector<std::string> mine = {"ssh-ed25519 AAAAGIVEN other", kKey};
  const std::vector<std::string> theirs = {"ssh-ed25519 AAAATHEIRS muster@elsewhere"};
  write(".ssh/authorized_keys", "ssh-rsa AAAA old", 0664);
  const auto before = tree();
  (void)run(install_script(kKey, false));
  (void)run(install_script(theirs[0], false));
  (void)run(mesh_script(mesh(), false));
  (void)run(undo_script(Place::kHost, false, mine));
  EXPECT_EQ(read(".ssh/authorized_keys").rfind("ssh-rsa AAAA old\n" + theirs[0] + "\nfrom=", 0),
            0U);
  EXPECT_TRUE(run(undo_script(Place::kHost, false, mine)).changes.empty());
  (void)run(undo_script(Place::kHost, false, theirs));
  EXPECT_EQ(tree(), before);
}

TEST_P(HostScript, HalfAScriptDoesNothing) {
  const auto before = tree();
  std::string script = install_script(kKey, false);
  script.resize(script.rfind("run_verb"));
  EXPECT_TRUE(run_shell(script).out.empty());
  EXPECT_EQ(tree(), before);
}

TEST_P(HostScript, IsHeardBehindAStartUpFileThatPrintsHalfALine) {
  (void)run("printf hello\n" + install_script(kKey, false));
  EXPECT_TRUE(run("printf hello\n" + install_script(kKey, false)).changes.empty());
}

// With a shared home folder, all hosts run it at the same time on the same files.
TEST_P(HostScript, ManyAtOnceAddTheKeyOnceAndTakeItOut) {
  const auto before = tree();
  const auto run_many = [this](const std::string& text) {
    const auto script = std::make_shared<const std::string>(text);
    const std::vector<sys::Command> commands(
        16, {.argv = GetParam(), .env = {"HOME=" + home_}, .input = script});
    for (const auto& ended : sys::run_all(commands, 16)) {
      EXPECT_TRUE(parse_script_report(ended->out).ended) << ended->out << ended->err;
    }
  };
  run_many(install_script(kKey, false));
  EXPECT_EQ(read(".ssh/authorized_keys"), std::string(kKey) + "\n");
  run_many(undo_script(Place::kHost, false));
  EXPECT_EQ(tree(), before);
}

// Put before a script, these functions make the TRIP_AT-th of its programs that handle files fail
// (TRIP=fail, as on a full disk; cat and grep first print a few bytes), or kill the script there
// (TRIP=die).
constexpr const char* kTripwire = R"sh(
trip() {
  read -r trips <"$HOME.trips"
  echo $((trips + 1)) >"$HOME.trips"
  [ $((trips + 1)) -eq "$TRIP_AT" ] || return 1
  if [ "$TRIP" = die ]; then kill -9 $$; exit 1; fi
}
cat() { if trip; then command cat "$@" | head -c 9; return 1; else command cat "$@"; fi; }
grep() { if trip; then command grep "$@" | head -c 9; return 2; else command grep "$@"; fi; }
cp() { if trip; then return 1; else command cp "$@"; fi; }
mv() { if trip; then return 1; else command mv "$@"; fi; }
sync() { if trip; then return 1; fi; }
)sh";

class BrokenHost : public HostScript {
 protected:
  ~BrokenHost() override { fs::remove(trips()); }
  std::string trips() const { return home_ + ".trips"; }

  void run_broken(const std::string& script, const std::string& how, int at) {
    auto command =
        sys::Command{.argv = GetParam(),
                     .env = {"HOME=" + home_, "TRIP=" + how, "TRIP_AT=" + std::to_string(at)},
                     .input = std::make_shared<const std::string>(kTripwire + script)};
    EXPECT_TRUE(sys::run(command).has_value());
    fs::remove(home_ + "/.ssh/muster-undo/lock");  // left by a script that was killed
  }
};

TEST_P(BrokenHost, LosesNoLineWhateverFails) {
  const std::string keys = "ssh-rsa AAAA one\nssh-rsa BBBB two\n";
  const std::string config = "Host x\n  Port 7\n";
  const auto expect_whole = [&](const std::string& when) {
    EXPECT_NE(read(".ssh/authorized_keys").find(keys), std::string::npos) << when;
    EXPECT_NE(read(".ssh/config").find(config), std::string::npos) << when;
  };
  bool reached = true;
  for (int at = 1; reached; ++at) {
    const std::string how = at % 2 == 0 ? "fail" : "die";
    const std::string when = how + " at " + std::to_string(at);
    fs::remove_all(home_ + "/.ssh");
    ASSERT_TRUE(sys::write_file(trips(), "0\n", 0600).has_value());
    write(".ssh/authorized_keys", keys, 0600);
    write(".ssh/config", config, 0600);
    run_broken(mesh_script(mesh(), false), how, at);
    expect_whole(when);
    run_broken(undo_script(Place::kHost, false), how, at);
    expect_whole(when);
    (void)run(undo_script(Place::kHost, false));
    EXPECT_EQ(read(".ssh/authorized_keys"), keys) << when;
    EXPECT_EQ(read(".ssh/config"), config) << when;
    reached = std::stoi(sys::read_file(trips()).value_or("0")) >= at;
  }
}

INSTANTIATE_TEST_SUITE_P(Shells, BrokenHost, ::testing::Values(std::vector<std::string>{"dash"}),
                         [](const auto& shell) { return shell.param.front(); });

TEST_P(HostScript, UndoKeepsLinesInAnotherEncoding) {
  const std::string other = "ssh-rsa AAAA M\xfcller\nssh-rsa CCCC\n";
  (void)run(install_script(kKey, false));
  write(".ssh/authorized_keys", other + kKey + "\n", 0600);
  (void)run("LC_ALL=C.UTF-8; export LC_ALL\n" + undo_script(Place::kHost, false));
  EXPECT_EQ(read(".ssh/authorized_keys"), other);
}

INSTANTIATE_TEST_SUITE_P(Shells, HostScript,
                         ::testing::Values(std::vector<std::string>{"dash"},
                                           std::vector<std::string>{"bash", "--posix"},
                                           std::vector<std::string>{"busybox", "sh"}),
                         [](const auto& shell) { return shell.param.front(); });

TEST(ScriptReport, BelievesOnlyItsOwnLines) {
  const ScriptReport report = parse_script_report(
      "Welcome\nmuster changed a\nxmuster changed b\nmuster address 198.18.0.1\n"
      "muster failed \x1b[31mno\n");
  EXPECT_EQ(report.changes, std::vector<std::string>{"a"});
  EXPECT_EQ(report.addresses, std::vector<std::string>{"198.18.0.1"});
  EXPECT_EQ(report.failure, "?[31mno");
  EXPECT_FALSE(report.ended);
}

}  // namespace
}  // namespace muster::setup
