#include "setup/bundle_writer.hpp"

#include <algorithm>
#include <fstream>

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
  // The words the container engine would get, one a line, and how the script ended.
  [[nodiscard]] sys::Ended run_script(const std::string& name, std::vector<std::string> env) const {
    const std::string engine = top_.path() + "/engine";
    (void)sys::write_file(engine, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n", 0755);
    env.push_back("ENGINE=" + engine);
    return *sys::run({.argv = {folder_ + "/" + name}, .env = std::move(env)});
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
  EXPECT_EQ(mode("worker"), 0700U);
  EXPECT_EQ(mode("launcher/id_ed25519"), 0600U);
  EXPECT_EQ(mode("worker/ssh_host_ed25519_key"), 0600U);
  EXPECT_EQ(content("launcher/id_ed25519.pub").find("ssh-ed25519 "), 0U);
  EXPECT_EQ(content("launcher/id_ed25519.pub"), content("worker/authorized_keys"));
  EXPECT_EQ(
      "[launcher]:12345 " + content("worker/ssh_host_ed25519_key.pub"),
      content("launcher/known_hosts").substr(0, content("launcher/known_hosts").find('\n') + 1));
  EXPECT_FALSE(sys::exists(folder_ + "/worker/id_ed25519")) << "workers never get the private key";
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
  EXPECT_NE(content("worker/sshd_config").find("Port 12345"), std::string::npos);
  ASSERT_TRUE(write_bundle(folder_, other, true).has_value());
  EXPECT_NE(content("worker/sshd_config").find("Port 2222"), std::string::npos);
  EXPECT_EQ(content("launcher/id_ed25519"), key);
}

TEST_F(BundleFolder, PutsModesRightWithoutForce) {
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  ASSERT_EQ(::chmod((folder_ + "/worker/authorized_keys").c_str(), 0666), 0);
  ASSERT_EQ(::chmod((folder_ + "/launcher/id_ed25519").c_str(), 0644), 0);
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  EXPECT_EQ(mode("worker/authorized_keys"), 0600U);
  EXPECT_EQ(mode("launcher/id_ed25519"), 0600U);
}

TEST_F(BundleFolder, ALostHostKeyIsMadeAnewAndNeedsForceBecauseThePinsChange) {
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  ASSERT_EQ(::unlink((folder_ + "/worker/ssh_host_ed25519_key").c_str()), 0);
  EXPECT_FALSE(write_bundle(folder_, options(), false).has_value());
  ASSERT_TRUE(write_bundle(folder_, options(), true).has_value());
  const std::string pub = content("worker/ssh_host_ed25519_key.pub");
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
  all.workload = "/data/my $(job)";
  ASSERT_TRUE(write_bundle(folder_, all, false).has_value());
  const sys::Ended worker = run_script("run-worker.sh", {});
  ASSERT_TRUE(worker.ok()) << worker.err;
  for (const std::string& word : std::vector<std::string>{
           "--network=host", "--shm-size", "8g", folder_ + "/worker:/home/dev/.ssh",
           "/data/my $(job):/workload", "it's/an image",
           "exec /usr/sbin/sshd -D -e -f /home/dev/.ssh/sshd_config"}) {
    EXPECT_TRUE(holds_line(worker.out, word)) << word << "\n" << worker.out;
  }
  EXPECT_EQ(holds_line(worker.out, "/dev/dri"), sys::exists("/dev/dri"));
}

TEST_F(BundleFolder, TheLaunchersScriptTakesItsValuesFromTheEnvironment) {
  ASSERT_TRUE(write_bundle(folder_, options(), false).has_value());
  const sys::Ended bare = run_script("run-launcher.sh", {});
  ASSERT_TRUE(bare.ok()) << bare.err;
  EXPECT_TRUE(holds_line(bare.out, "MASTER_ADDR=launcher")) << bare.out;
  EXPECT_TRUE(holds_line(bare.out, folder_ + "/launcher:/home/dev/.ssh")) << bare.out;
  EXPECT_TRUE(holds_line(bare.out, "mpirun -l -ppn 1 -hosts launcher,worker1 hostname"));
  const sys::Ended set = run_script(
      "run-launcher.sh", {"COMMAND=python train.py", "IMAGE=other", "MASTER_ADDR=10.0.0.1"});
  EXPECT_TRUE(holds_line(set.out, "python train.py")) << set.out;
  EXPECT_TRUE(holds_line(set.out, "other")) << set.out;
  EXPECT_TRUE(holds_line(set.out, "MASTER_ADDR=10.0.0.1")) << set.out;
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
