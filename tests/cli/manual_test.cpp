#include "cli/manual.hpp"

#include <gtest/gtest.h>

#include "trainflags/help.hpp"

namespace muster::cli {
namespace {

class ManualTest : public testing::Test {
 protected:
  ManualTest() {
    app_.name("muster");
    CLI::App* lab = app_.add_subcommand("lab", "Simulate a cluster");
    up_ = lab->add_subcommand("up", "Make hosts");
    up_->formatter(trainflags::help_formatter());
    up_->set_help_flag();
    up_->add_option("-N,--nodes", nodes_, "How many")->type_name("N")->group("Hosts");
    up_->add_option("--within", nodes_, "Time to wait")->type_name("SECONDS");
    up_->add_flag("--dry-run", dry_run_, ".hidden \\n in roff");
    up_->footer("First words.\n\nExamples:\n  muster lab up -N 2");
  }
  [[nodiscard]] bool has(const std::string& part) const {
    return manual_page(*up_, "1.0").find(part) != std::string::npos;
  }

  CLI::App app_;
  CLI::App* up_ = nullptr;
  int nodes_ = 0;
  bool dry_run_ = false;
};

TEST_F(ManualTest, HasTheSectionsOfAManPage) {
  EXPECT_TRUE(has(".TH MUSTER\\-LAB\\-UP 1 \"\" \"muster 1.0\" \"muster\"\n"));
  EXPECT_TRUE(has(".SH NAME\nmuster\\-lab\\-up \\- Make hosts\n"));
  EXPECT_TRUE(has(".SH SYNOPSIS\n.B muster lab up [FLAGS]\n"));
  EXPECT_TRUE(has(".SH DESCRIPTION\nFirst words.\n"));
  EXPECT_TRUE(has(".SS Hosts\n.TP\n\\fB\\-N, \\-\\-nodes N\\fR\nHow many\n"));
  EXPECT_TRUE(has(".PP\nSECONDS may have a unit: 90, "));
  EXPECT_TRUE(has(".SH EXIT STATUS\n.TP\n\\fB0\\fR\nSuccess.\n"));
  EXPECT_TRUE(has(".SH EXAMPLES\n.PP\n.nf\n  muster lab up \\-N 2\n.fi\n"));
  EXPECT_TRUE(has(".SH SEE ALSO\n.BR muster\\-lab (1)\n"));
}

TEST_F(ManualTest, TextIsNeverARequestOfRoff) {
  EXPECT_TRUE(has("\n\\fB\\-\\-dry\\-run\\fR\n\\&.hidden \\en in roff\n"));
}

}  // namespace
}  // namespace muster::cli
