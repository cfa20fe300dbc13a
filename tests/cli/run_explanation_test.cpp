#include "cli/run_explanation.hpp"

#include <csignal>

#include <gtest/gtest.h>

#include "run/about.hpp"
#include "sys/file.hpp"
#include "sys/temp_folder.hpp"

namespace muster::cli {
namespace {

// The folder of a pod with ranks 4 and 5, where rank 5 failed.
class RunExplanation : public sys::FolderTest {
 protected:
  void SetUp() override {
    const run::Record record{.ranks = {{.rank = 4, .host = "n1"}, {.rank = 5, .host = "n2"}}};
    ASSERT_TRUE(run::write_about(folder_, run::about(record)));
    write("err", "");
  }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(sys::write_file(folder_ + "/" + name, text, 0600));
  }
  [[nodiscard]] std::vector<explain::Cause> causes(const run::FirstEnd& end) const {
    const run::Summary summary{.hosts = {"n1", "n2"},
                               .failed_rank = 5,
                               .failed_host = "n2",
                               .gave_up_ranks = {5},
                               .first_end = end};
    return explain_folder(folder_, summary, Reading::kEnds).value().explanation.causes;
  }
};

TEST_F(RunExplanation, OfAPodKnowsTheLabelsOfItsRanks) {
  write("err", "[n2:5] cannot open grid-1.txt\n");
  const auto found = causes({.status = 1 << 8});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].text, "cannot open grid-1.txt");
  EXPECT_EQ(found[0].ranks, std::vector<int>{5});
}

TEST_F(RunExplanation, ReadsTheKernelLogOfTheFailedHostApart) {
  write(kKernelFile,
        "n1 Out of memory: Killed process 57 (other)\nn2 Out of memory: Killed process 4711 (x)\n");
  const auto found = causes({.status = SIGKILL, .pid = 4711, .memory_ran_out = true});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].place.file, "kernel log of n2");
  EXPECT_EQ(found[0].values.at("pid"), "4711");
}

}  // namespace
}  // namespace muster::cli
