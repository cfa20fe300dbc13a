#include "remote/leg.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "remote/ssh.hpp"
#include "sys/process.hpp"
#include "sys/temp_folder.hpp"

namespace muster::remote {
namespace {

namespace fs = std::filesystem;

SyncOptions job() {
  return {.from = "/here/job",
          .to = "/srv/job",
          .remove = true,
          .paths = path_list(std::vector<std::string>{"a", "b"})};
}

TEST(LegLine, TheTokenIsInNoArgumentList) {
  const LegSecret secret = make_leg_secret();
  EXPECT_EQ(secret.token.size(), 32U);
  EXPECT_NE(secret.token, make_leg_secret().token);
  const auto shell = ssh_words({.user = "dev", .port = 2222});
  for (const std::string& line : {leg_line(job(), shell, "n2", secret), put_token_line(secret),
                                  clean_up_line(secret, false), clean_up_line(secret, true)}) {
    EXPECT_EQ(line.find(secret.token), std::string::npos);
    EXPECT_NE(line.find(secret.id), std::string::npos);
  }
  EXPECT_EQ(leg_input(job(), secret), secret.token + "\n" + *job().paths);
}

TEST(LegLine, HostKeysAreCheckedAndNothingIsForwarded) {
  const std::string line =
      leg_line(job(), ssh_words({.user = "dev", .port = 2222}), "n2", make_leg_secret());
  for (const char* const part :
       {"StrictHostKeyChecking=yes", "BatchMode=yes", "ForwardAgent=no", "-l dev -p 2222",
        "--partial-dir=", "--timeout=", "ProxyCommand=false", "n2:/srv/job/"}) {
    EXPECT_NE(line.find(part), std::string::npos) << part;
  }
  for (const char* const part : {"--delete", "/here/job", "ControlMaster=auto", "\\", "\n"}) {
    EXPECT_EQ(line.find(part), std::string::npos) << part;
  }
}

// Runs a leg whose ssh is a script. It gets the options, "--", the host and a command.
class Legs : public testing::Test {
 protected:
  Legs() {
    fs::create_directories(temp_.path() + "/job");
    for (const char* const name : {"a", "b", "own"}) {
      std::ofstream(temp_.path() + "/job/" + name) << name;
    }
  }

  // `answer` is what the other machine does when it is asked for the token.
  [[nodiscard]] sys::Ended run(const std::string& answer) const {
    const std::string ssh = temp_.path() + "/ssh";
    std::ofstream(ssh) << "#!/bin/sh\ncase \"$*\" in *'-- n2 cat '*) " << answer << ";; esac\n";
    fs::permissions(ssh, fs::perms::owner_all);
    SyncOptions options = job();
    options.to = temp_.path() + "/job";
    const std::vector<std::string> shell = {ssh};
    // The input stays open until the leg has ended.
    const std::string script = "{ cat; until [ -e " + temp_.path() +
                               "/end ]; do sleep 0.01; done; } | { " +
                               leg_line(options, shell, "n2", secret_) + "; code=$?; touch " +
                               temp_.path() + "/end; exit $code; }";
    const auto ended =
        sys::run({.argv = {"sh", "-c", script},
                  .input = std::make_shared<const std::string>(leg_input(options, secret_))});
    fs::remove(temp_.path() + "/end");
    EXPECT_TRUE(ended.has_value());
    EXPECT_FALSE(fs::exists("/tmp/muster-from-" + secret_.id));
    return ended.value_or(sys::Ended{.code = -1});
  }

  sys::TempFolder temp_;
  LegSecret secret_ = make_leg_secret();
};

TEST_F(Legs, AMachineWithoutTheTokenGetsNothing) {
  EXPECT_EQ(run("exit 1").code, kOtherMachine);
  EXPECT_EQ(run("echo").code, kOtherMachine);
  EXPECT_EQ(run("echo " + make_leg_secret().token + "; exit 0").code, kOtherMachine);
}

TEST_F(Legs, AFailedLoginIsTold) {
  const sys::Ended ended = run("echo 'dev@n2: Permission denied (publickey).' >&2; exit 255");
  EXPECT_EQ(ended.code, kNoLogin);
  EXPECT_NE(leg_failure({.ended = ended}).find("cannot log in"), std::string::npos);
}

// Cleans up while a process with the variable of the leg's connection runs, and one without it.
// Returns the exit code of the first, and whether the second is alive. `clean` runs before it.
std::string cleaned_up(const std::string& clean) {
  const LegSecret secret = make_leg_secret();
  const std::string folder = "/tmp/muster-to-" + secret.id;
  fs::create_directory(folder);
  const std::string own = "SSH_CONNECTION=" + secret.id;
  std::ofstream(folder + "/connection") << own << "\n";
  const auto ended = sys::run({.argv = {"sh", "-c",
                                        "own=" + own +
                                            "; sleep 100 & other=$!; env $own sleep 100 & its=$!; "
                                            "until grep -q sleep /proc/$its/comm; do :; done; " +
                                            clean + clean_up_line(secret, true) +
                                            "; kill -9 $its 2>/dev/null; wait $its; echo $?; "
                                            "kill $other && echo alive"}});
  EXPECT_FALSE(fs::exists(folder));
  return ended->out;
}

TEST(CleanUp, EndsTheProcessesOfTheConnectionOnly) {
  EXPECT_EQ(cleaned_up(""), "143\nalive\n");
}

TEST(CleanUp, EndsNothingIfItsOwnConnectionLooksTheSame) {
  EXPECT_EQ(cleaned_up("export $own; "), "137\nalive\n");
}

TEST(LegFailure, EqualReasonsHaveEqualWords) {
  EXPECT_EQ(leg_failure({.ended = sys::Ended{.code = 23, .err = "rsync: no space\nmore\n"}}),
            "rsync between the hosts failed: exit code 23: rsync: no space");
  EXPECT_EQ(leg_failure({.ended = sys::Ended{.code = 255, .timed_out = true}}),
            "the transfer between the hosts took too long");
  EXPECT_EQ(leg_failure({.ended = unexpected(Error{.what = "it is gone"})}),
            "the connection to the sending host failed: it is gone");
}

}  // namespace
}  // namespace muster::remote
