#include "setup/bundle_writer.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file.hpp"
#include "sys/process.hpp"
#include "sys/temp_folder.hpp"

namespace muster::setup {
namespace {

class BundleFolder : public testing::Test {
 protected:
  static BundleOptions options() {
    return {.hosts = {"launcher", "worker1"},
            .owner = {::geteuid(), ::getegid()},
            .image = "it's/an image"};
  }
  [[nodiscard]] std::string content(const std::string& path) const {
    return sys::read_file(folder_ + "/" + path).value_or("");
  }
  [[nodiscard]] mode_t mode(const std::string& path) const {
    struct stat status{};
    ::lstat((folder_ + "/" + path).c_str(), &status);
    return status.st_mode & 07777;
  }
  // Returns the arguments for the container engine, one per line, and how the script ended.
  [[nodiscard]] sys::Ended run_script(const std::string& name, std::vector<std::string> env,
                                      std::vector<std::string> words = {}) const {
    const std::string engine = top_.path() + "/engine";
    // A container engine for which all networks exist and nothing needs to be removed. It prints
    // its arguments for any other command.
    (void)sys::write_file(engine,
                          "#!/bin/sh\ncase $1 in network|rm) exit 0 ;; esac\n"
                          "printf '%s\\n' \"$@\"\n",
                          0755);
    env.push_back("CONTAINER_ENGINE=" + engine);
    words.insert(words.begin(), folder_ + "/" + name);
    return *sys::run({.argv = std::move(words), .env = std::move(env)});
  }

  // Puts two builds of muster into the bundle. `uname -m` answers with the value of $MACHINE in an
  // environment that has the variable PATH that this returns.
  [[nodiscard]] std::string put_programs() const {
    for (const char* machine : {"x86_64", "aarch64"}) {
      (void)sys::write_file(folder_ + "/" + program_name(machine), machine, 0755);
    }
    (void)sys::write_file(top_.path() + "/uname", "#!/bin/sh\necho \"$MACHINE\"\n", 0755);
    return fmt::format("PATH={}:/usr/bin:/bin", top_.path());
  }

  const sys::TempFolder top_;
  const std::string folder_ = top_.path() + "/it's mine";
};

bool holds_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST_F(BundleFolder, HoldsOnlyEd25519KeysThatNobodyElseReads) {
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  EXPECT_EQ(mode("launcher"), 0700U);
  EXPECT_EQ(mode("workers/worker1"), 0700U);
  EXPECT_EQ(mode("runs"), 0700U);
  EXPECT_EQ(mode("launcher/id_ed25519"), 0600U);
  EXPECT_EQ(mode("workers/worker1/ssh_host_ed25519_key"), 0600U);
  EXPECT_EQ(content("launcher/id_ed25519.pub").find("ssh-ed25519 "), 0U);
  EXPECT_EQ(content("launcher/id_ed25519.pub"), content("workers/worker1/authorized_keys"));
  EXPECT_EQ("[worker1]:12345 " + content("workers/worker1/ssh_host_ed25519_key.pub"),
            content("launcher/known_hosts"));
  EXPECT_FALSE(sys::exists(folder_ + "/workers/worker1/id_ed25519"))
      << "workers never get the private key";
}

TEST_F(BundleFolder, EachWorkerHasAHostKeyOfItsOwn) {
  BundleOptions two = options();
  two.hosts.emplace_back("worker2");
  ASSERT_TRUE(write_bundle(folder_, two, false).has_value());
  EXPECT_NE(content("workers/worker1/ssh_host_ed25519_key.pub"),
            content("workers/worker2/ssh_host_ed25519_key.pub"));
}

TEST_F(BundleFolder, ASecondTimeChangesNothing) {
  const auto first = write_bundle(folder_, options(), false);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->changed.front(), kClusterKey);
  const std::string key = content("launcher/id_ed25519");
  const auto second = write_bundle(folder_, options(), false);
  ASSERT_TRUE(second.has_value());
  EXPECT_TRUE(second->changed.empty());
  EXPECT_TRUE(second->owner_set);
  EXPECT_EQ(content("launcher/id_ed25519"), key);
}

TEST_F(BundleFolder, IsOverwrittenOnlyByForceWhichKeepsTheKeys) {
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  const std::string key = content("launcher/id_ed25519");
  BundleOptions other = options();
  other.port = 2222;
  const auto refused = write_bundle(folder_, other, false);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().hint.find("--force"), std::string::npos);
  EXPECT_NE(content("workers/worker1/sshd_config").find("Port 12345"), std::string::npos);
  ASSERT_TRUE(write_bundle(folder_, other, true).has_value());
  EXPECT_NE(content("workers/worker1/sshd_config").find("Port 2222"), std::string::npos);
  EXPECT_EQ(content("launcher/id_ed25519"), key);
}

TEST_F(BundleFolder, PutsModesRightWithoutForce) {
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  ASSERT_EQ(::chmod((folder_ + "/workers/worker1/authorized_keys").c_str(), 0666), 0);
  ASSERT_EQ(::chmod((folder_ + "/launcher/id_ed25519").c_str(), 0644), 0);
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  EXPECT_EQ(mode("workers/worker1/authorized_keys"), 0600U);
  EXPECT_EQ(mode("launcher/id_ed25519"), 0600U);
}

TEST_F(BundleFolder, ALostHostKeyIsMadeAnewAndNeedsForceBecauseThePinsChange) {
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  ASSERT_EQ(::unlink((folder_ + "/workers/worker1/ssh_host_ed25519_key").c_str()), 0);
  EXPECT_FALSE(write_bundle(folder_, options(), false).has_value());
  ASSERT_TRUE(write_bundle(folder_, options(), true).has_value());
  const std::string pub = content("workers/worker1/ssh_host_ed25519_key.pub");
  EXPECT_NE(content("launcher/known_hosts").find(pub), std::string::npos);
}

TEST_F(BundleFolder, SshReadsTheLaunchersConfiguration) {
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  const auto ssh = sys::run({.argv = {"ssh", "-G", "-F", folder_ + "/launcher/config", "worker1"}});
  ASSERT_TRUE(ssh.has_value());
  EXPECT_TRUE(holds_line(ssh->out, "port 12345")) << ssh->out << ssh->err;
  EXPECT_TRUE(holds_line(ssh->out, "stricthostkeychecking true")) << ssh->out;
}

TEST_F(BundleFolder, TheScriptsStartTheContainerWithEveryWordInOnePiece) {
  BundleOptions all = options();
  all.workload = top_.path() + "/my $(job)";
  ASSERT_TRUE(sys::make_folders(all.workload, 0755).has_value());
  ASSERT_TRUE(write_bundle(folder_, all, false).has_value());
  const sys::Ended worker = run_script("run-worker.sh", {});
  ASSERT_TRUE(worker.ok()) << worker.err;
  for (const std::string& word :
       std::vector<std::string>{"--rm", "--network", "host", "--shm-size", "8g", "worker1",
                                folder_ + "/workers/worker1:/home/dev/.ssh",
                                all.workload + ":/workload", "it's/an image"}) {
    EXPECT_TRUE(holds_line(worker.out, word)) << word << "\n" << worker.out;
  }
  EXPECT_NE(worker.out.find("exec /usr/sbin/sshd -D -e -f /home/dev/.ssh/sshd_config"),
            std::string::npos);
  EXPECT_EQ(holds_line(worker.out, "/dev/dri"), sys::exists("/dev/dri"));
  EXPECT_FALSE(holds_line(worker.out, "--hostname")) << "the machine's name is the container's";
}

TEST_F(BundleFolder, TheWorkersScriptNamesItsContainersAndTheirAddresses) {
  BundleOptions own = options();
  own.hosts.emplace_back("worker2");
  own.network = "muster";
  own.subnet = "198.18.50.0/24";
  ASSERT_TRUE(write_bundle(folder_, own, false).has_value());
  const sys::Ended which = run_script("run-worker.sh", {});
  EXPECT_EQ(which.code, 2);
  EXPECT_NE(which.err.find("several workers"), std::string::npos) << which.err;
  const sys::Ended second = run_script(
      "run-worker.sh", {"DETACH=1", "NAME=mine", "SHM_SIZE=1g", "CONTAINER_FLAGS=--ulimit x=1"},
      {"worker2"});
  ASSERT_TRUE(second.ok()) << second.err;
  for (const char* word : {"-d", "mine", "1g", "198.18.50.4", "02:00:c6:12:32:04",
                           "launcher:198.18.50.2", "--ulimit", "x=1", "worker2"}) {
    EXPECT_TRUE(holds_line(second.out, word)) << word << "\n" << second.out;
  }
  EXPECT_FALSE(holds_line(second.out, "--rm"));
  const sys::Ended other = run_script("run-worker.sh", {"NETWORK=theirs"}, {"worker2"});
  EXPECT_TRUE(holds_line(other.out, "theirs")) << other.out;
  EXPECT_FALSE(holds_line(other.out, "--ip")) << "its addresses are not the bundle's";
  EXPECT_NE(run_script("run-worker.sh", {}, {"worker3"}).err.find("worker3 is missing"),
            std::string::npos);
}

TEST_F(BundleFolder, TheScriptsRefuseWhatWouldFailLaterWithoutAReason) {
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  const sys::Ended workload = run_script("run-worker.sh", {"WORKLOAD=/no/such/folder"});
  EXPECT_EQ(workload.code, 2);
  EXPECT_NE(workload.err.find("/no/such/folder is not a directory"), std::string::npos);
  ASSERT_EQ(::chmod((folder_ + "/workers/worker1").c_str(), 0755), 0);
  const sys::Ended open = run_script("run-worker.sh", {});
  EXPECT_EQ(open.code, 2);
  EXPECT_NE(open.err.find("sudo chmod 700"), std::string::npos) << open.err;
  if (::geteuid() != 0) return;  // only root can change owners
  ASSERT_EQ(::chown((folder_ + "/workers/worker1/authorized_keys").c_str(), 12, 12), 0);
  const sys::Ended owner = run_script("run-worker.sh", {});
  EXPECT_EQ(owner.code, 2);
  EXPECT_NE(owner.err.find("sudo chown -R 0:0"), std::string::npos) << owner.err;
}

TEST_F(BundleFolder, TheLaunchersScriptTakesItsValuesFromTheEnvironment) {
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  const std::string path = put_programs();
  const sys::Ended bare = run_script("run-launcher.sh", {path, "MACHINE=x86_64"});
  ASSERT_TRUE(bare.ok()) << bare.err;
  EXPECT_TRUE(holds_line(bare.out, "MASTER_ADDR=launcher")) << bare.out;
  EXPECT_TRUE(holds_line(bare.out, folder_ + "/launcher:/home/dev/.ssh")) << bare.out;
  EXPECT_TRUE(holds_line(bare.out, folder_ + "/runs:/runs")) << "runs outlive the container";
  EXPECT_TRUE(holds_line(bare.out, "exec muster exec -H launcher,worker1 hostname")) << bare.out;
  const sys::Ended set = run_script(
      "run-launcher.sh",
      {path, "MACHINE=x86_64", "COMMAND=python train.py", "IMAGE=other", "MASTER_ADDR=10.0.0.1"});
  EXPECT_TRUE(holds_line(set.out, "python train.py")) << set.out;
  EXPECT_TRUE(holds_line(set.out, "other")) << set.out;
  EXPECT_TRUE(holds_line(set.out, "MASTER_ADDR=10.0.0.1")) << set.out;
}

TEST_F(BundleFolder, TheLauncherGetsTheMusterForItsMachineAndAllOthersForTheHosts) {
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  const std::string path = put_programs();
  for (const std::string machine : {"x86_64", "aarch64"}) {
    const sys::Ended ended = run_script("run-launcher.sh", {path, "MACHINE=" + machine});
    ASSERT_TRUE(ended.ok()) << ended.err;
    EXPECT_TRUE(holds_line(ended.out, folder_ + "/muster-" + machine + ":/usr/local/bin/muster:ro"))
        << ended.out;
    for (const std::string build : {"muster-x86_64", "muster-aarch64"}) {
      EXPECT_TRUE(holds_line(
          ended.out, fmt::format("{0}/{1}:/usr/local/libexec/muster/{1}:ro", folder_, build)))
          << ended.out;
    }
  }
}

TEST_F(BundleFolder, WithoutAMusterForTheMachineTheLauncherDoesNotStart) {
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  const sys::Ended ended = run_script("run-launcher.sh", {put_programs(), "MACHINE=riscv64"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_NE(ended.err.find("no muster for this machine's architecture, riscv64; make the bundle "
                           "again with a muster from a package"),
            std::string::npos)
      << ended.err;
}

TEST_F(BundleFolder, AProgramIsCopiedOnlyIfItDiffers) {
  const std::string from = top_.path() + "/from";
  const std::string to = top_.path() + "/to";
  ASSERT_TRUE(sys::write_file(from, "1", 0644).has_value());
  EXPECT_TRUE(copy_program(from, to).value_or(false));
  EXPECT_FALSE(copy_program(from, to).value_or(true));
  ASSERT_TRUE(sys::write_file(from, "2", 0644).has_value());
  EXPECT_TRUE(copy_program(from, to).value_or(false));
  EXPECT_EQ(sys::read_file(to).value_or(""), "2");
  struct stat status{};
  ASSERT_EQ(::stat(to.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755U);
  EXPECT_FALSE(copy_program(top_.path() + "/missing", to).has_value());
}

TEST_F(BundleFolder, WithoutAnImageTheScriptsAskForOne) {
  BundleOptions bare = options();
  bare.image.clear();
  ASSERT_TRUE(write_bundle(folder_, bare, false).has_value());
  const sys::Ended ended = run_script("run-worker.sh", {});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("IMAGE"), std::string::npos);
}

TEST_F(BundleFolder, DoesNotChangeAFileBehindALink) {
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  const std::string victim = top_.path() + "/victim";
  ASSERT_TRUE(sys::write_file(victim, "x", 0644).has_value());
  const std::string key = folder_ + "/launcher/id_ed25519";
  ASSERT_EQ(::unlink(key.c_str()), 0);
  ASSERT_EQ(::symlink(victim.c_str(), key.c_str()), 0);
  EXPECT_FALSE(write_bundle(folder_, options(), true).has_value());
  struct stat status{};
  ASSERT_EQ(::stat(victim.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0644U);
}

}  // namespace
}  // namespace muster::setup
