#include "run/inspection.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sys/file.hpp"

namespace muster::run {
namespace {

class KeptInspections : public testing::Test {
 protected:
  KeptInspections() {
    std::string name = testing::TempDir() + "inspectionsXXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~KeptInspections() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string folder_of(int number) const {
    return fmt::format("{}/why-{}", folder_, number);
  }
  [[nodiscard]] std::string keep() const { return keep_inspection(folder_, {}, {}).value(); }

  std::string folder_;
};

TEST_F(KeptInspections, AreNumberedAndTheNewestIsFound) {
  EXPECT_EQ(newest_inspection(folder_), "");
  EXPECT_EQ(keep(), folder_of(1));
  EXPECT_EQ(keep(), folder_of(2));
  EXPECT_TRUE(sys::exists(folder_of(2) + "/" + kWhyText));
  EXPECT_EQ(newest_inspection(folder_), folder_of(2));
}

TEST_F(KeptInspections, OfTooManyTheOldestGoAndNoneIsOverwritten) {
  for (const int number : {3, 999, 1000, 1001}) {
    std::filesystem::create_directory(folder_of(number));
  }
  std::filesystem::create_directory(folder_ + "/why-notes");
  EXPECT_EQ(keep(), folder_of(1002));
  for (int i = 0; i < 99; ++i) (void)keep();
  EXPECT_EQ(newest_inspection(folder_), folder_of(1101));
  EXPECT_FALSE(sys::exists(folder_of(3)));
  EXPECT_FALSE(sys::exists(folder_of(1001)));
  EXPECT_TRUE(sys::exists(folder_of(1002)));
  EXPECT_TRUE(sys::exists(folder_ + "/why-notes"));
}

}  // namespace
}  // namespace muster::run
