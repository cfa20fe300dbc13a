#include "programs/bench/pattern.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace muster::programs::bench {
namespace {

constexpr std::size_t kCount = 5000;  // more than one period of the pattern

// One rank of many; the others do not exist. `run` puts a given result into the buffer.
class OneOfMany final : public Fabric {
 public:
  OneOfMany(int rank, int size, const std::vector<float>* result)
      : Fabric(rank, size), result_(result), data_(kCount) {}

  void allocate(Shape /*shape*/) override {}
  void fill(float value) override { std::ranges::fill(data_, value); }
  void write(std::size_t at, std::span<const float> values) override {
    std::ranges::copy(values, data_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void read(std::size_t at, std::span<float> values) override {
    std::copy_n(data_.begin() + static_cast<std::ptrdiff_t>(at), values.size(), values.begin());
  }
  void run(Operation /*operation*/) override {
    if (result_ != nullptr) data_ = *result_;
  }
  void send(const void*, std::size_t, int) override {}
  void receive(void*, std::size_t, int) override {}
  void largest(std::span<double>) override {}
  void from_first(std::span<std::int64_t>) override {}
  void gather(const void*, std::size_t, void*) override {}

  [[nodiscard]] const std::vector<float>& data() const { return data_; }

 private:
  const std::vector<float>* result_;
  std::vector<float> data_;
};

// Returns the result of an all-reduce that adds one rank after the other, in floats.
std::vector<float> float_sums(int ranks) {
  std::vector<float> sums(kCount);
  double took_s = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    OneOfMany fabric(rank, ranks, nullptr);
    static_cast<void>(run_checked(fabric, Operation::kBarrier, {.from = kCount}, 0, took_s));
    for (std::size_t i = 0; i < kCount; ++i) sums[i] += fabric.data()[i];
  }
  return sums;
}

TEST(Pattern, SumsOfManyRanksAreExact) {
  for (const int ranks : {1, 3, 1000, 2000, 10'000}) {
    const auto sums = float_sums(ranks);
    OneOfMany fabric(0, ranks, &sums);
    double took_s = 0;
    EXPECT_EQ(run_checked(fabric, Operation::kAllReduce, {.from = kCount}, 0, took_s), 0) << ranks;
  }
}

TEST(Pattern, OneWrongElementIsSeen) {
  constexpr int kRanks = 1021;  // as many ranks as the pattern has different values
  auto sums = float_sums(kRanks);
  sums.back() += 1;
  OneOfMany fabric(7, kRanks, &sums);
  double took_s = 0;
  EXPECT_EQ(run_checked(fabric, Operation::kAllReduce, {.from = kCount}, 0, took_s), 1);
}

}  // namespace
}  // namespace muster::programs::bench
