#include "programs/bench/pattern.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <vector>

namespace muster::programs::bench {
namespace {

// Values repeat after this many places. The number is prime, so that equal parts of a buffer do not
// start with equal values.
constexpr std::size_t kPeriod = 4093;
constexpr std::size_t kMostValues = 1021;
// A float represents whole numbers up to this exactly.
constexpr std::size_t kExact = std::size_t{1} << 24;
constexpr float kNothing = -1;  // occurs in no result
constexpr std::size_t kPiece = std::size_t{1} << 16;

using Table = std::array<float, kPeriod>;

constexpr std::size_t kPlaceStep = 31;
constexpr std::size_t kRankStep = 17;
constexpr std::size_t kRoundStep = 7;

// The values are below this limit, so that the sum over all ranks is still exact in a float.
std::size_t values_for(int ranks) {
  std::size_t values =
      std::clamp<std::size_t>(kExact / static_cast<std::size_t>(ranks), 2, kMostValues);
  while (values % kPlaceStep == 0 || values % kRankStep == 0 || values % kRoundStep == 0) --values;
  return values;
}

std::size_t value_at(int rank, std::size_t place, int round, std::size_t values) {
  return (place * kPlaceStep + static_cast<std::size_t>(rank) * kRankStep +
          static_cast<std::size_t>(round) * kRoundStep) %
         values;
}

Table values_of(int rank, int ranks, int round) {
  const std::size_t values = values_for(ranks);
  Table table;
  for (std::size_t i = 0; i < kPeriod; ++i)
    table[i] = static_cast<float>(value_at(rank, i, round, values));
  return table;
}

Table sums_of(int ranks, int round) {
  const std::size_t values = values_for(ranks);
  // Any `values` consecutive ranks have each value once, because the step and `values` have no
  // common divisor.
  const std::size_t whole = static_cast<std::size_t>(ranks) / values * (values * (values - 1) / 2);
  const int rest = static_cast<int>(static_cast<std::size_t>(ranks) % values);
  Table table;
  for (std::size_t i = 0; i < kPeriod; ++i) {
    std::size_t sum = whole;
    for (int rank = 0; rank < rest; ++rank) sum += value_at(rank, i, round, values);
    table[i] = static_cast<float>(sum);
  }
  return table;
}

// Checks results piece by piece, because they may be in a device's memory.
class Checker {
 public:
  explicit Checker(Fabric& fabric) : fabric_(fabric), piece_(kPiece) {}

  // Checks that `count` elements of the result from `at` on equal those of the table from `place`
  // on.
  void expect(std::size_t at, std::size_t count, const Table& table, std::size_t place) {
    std::size_t row = place % kPeriod;
    for (std::size_t done = 0; done < count;) {
      const std::size_t now = std::min(kPiece, count - done);
      fabric_.read(at + done, {piece_.data(), now});
      for (std::size_t i = 0; i < now; ++i) {
        if (piece_[i] != table[row]) ++wrong_;
        if (++row == kPeriod) row = 0;
      }
      done += now;
    }
  }

  [[nodiscard]] std::int64_t wrong() const { return wrong_; }

 private:
  Fabric& fabric_;
  std::vector<float> piece_;
  std::int64_t wrong_ = 0;
};

void write_values(Fabric& fabric, std::size_t count, const Table& table) {
  std::vector<float> piece(std::min(kPiece, count));
  std::size_t row = 0;
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(kPiece, count - done);
    for (std::size_t i = 0; i < now; ++i) {
      piece[i] = table[row];
      if (++row == kPeriod) row = 0;
    }
    fabric.write(done, {piece.data(), now});
    done += now;
  }
}

std::int64_t count_wrong(Fabric& fabric, Operation operation, Shape shape, int round) {
  Checker checker(fabric);
  const int size = fabric.size();
  const auto ranks = static_cast<std::size_t>(size);
  const auto own = static_cast<std::size_t>(fabric.rank());
  switch (operation) {
    case Operation::kAllReduce:
      checker.expect(0, shape.from, sums_of(size, round), 0);
      break;
    case Operation::kReduceScatter:
      checker.expect(0, shape.to, sums_of(size, round), own * shape.to);
      break;
    case Operation::kAllGather:
      for (int rank = 0; rank < size; ++rank)
        checker.expect(static_cast<std::size_t>(rank) * shape.from, shape.from,
                       values_of(rank, size, round), 0);
      break;
    case Operation::kAllToAll:
      for (int rank = 0; rank < size; ++rank) {
        const std::size_t part = shape.to / ranks;
        checker.expect(static_cast<std::size_t>(rank) * part, part, values_of(rank, size, round),
                       own * part);
      }
      break;
    case Operation::kBroadcast:
      checker.expect(0, shape.from, values_of(0, size, round), 0);
      break;
    case Operation::kSendReceive:
      checker.expect(0, shape.to, values_of((fabric.rank() + size - 1) % size, size, round), 0);
      break;
    case Operation::kBarrier:
      break;
  }
  return checker.wrong();
}

}  // namespace

std::int64_t run_checked(Fabric& fabric, Operation operation, Shape shape, int round,
                         double& took_s) {
  fabric.fill(kNothing);
  write_values(fabric, shape.from, values_of(fabric.rank(), fabric.size(), round));
  const auto began = std::chrono::steady_clock::now();
  fabric.run(operation);
  took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return count_wrong(fabric, operation, shape, round);
}

}  // namespace muster::programs::bench
