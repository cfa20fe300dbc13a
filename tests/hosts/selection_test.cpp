#include "hosts/selection.hpp"

#include <gtest/gtest.h>

#include "hosts/expression.hpp"
#include "hosts/refusal.hpp"

namespace muster::hosts {
namespace {

Selection select(std::string_view text) {
  return parse_selection({.text = text, .name = "--include"}).value();
}

std::vector<Host> hosts(std::string_view text) {
  return parse_expression(text).value();
}

TEST(Selection, IncludesInTheOrderOfTheHostsAndKeepsSlots) {
  EXPECT_EQ(include(hosts("b:2,a:4,c"), select("a,b")).value(), hosts("b:2,a:4"));
  EXPECT_EQ(include(hosts("n[1-9]"), select("n[7-8]")).value(), hosts("n[7-8]"));
}

TEST(Selection, Excludes) {
  EXPECT_EQ(exclude(hosts("n[1-4]:2"), select("n[2-3]")).value(), hosts("n1:2,n4:2"));
}

TEST(Selection, TakesDeepSpeedsSeparator) {
  EXPECT_EQ(include(hosts("worker-[0-3]"), select("worker-0@worker-2")).value(),
            hosts("worker-0,worker-2"));
}

TEST(Selection, NamesAHostThatIsNotThere) {
  EXPECT_EQ(refusal(include(hosts("n[1-4]"), select("n2,n7"))),
            "--include: n7 is not in the host list\n  hint: the hosts are n[1-4]");
  EXPECT_EQ(refusal(exclude(hosts("n[1-4]"), select("n[3-6]"))),
            "--include: n[5-6] are not in the host list\n  hint: the hosts are n[1-4]");
}

TEST(Selection, RefusesToLeaveNobody) {
  EXPECT_EQ(refusal(exclude(hosts("a,b"), select("a,b"))), "--include: no host is left");
}

TEST(Selection, RefusesPartsOfHosts) {
  EXPECT_EQ(refusal(parse_selection({.text = "a@b:0,2", .name = "--include"})),
            "--include:1:4: --include and --exclude take host names without ':'\n"
            "  hint: set slots in the host list (-H node1:2) and GPUs with "
            "CUDA_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace muster::hosts
