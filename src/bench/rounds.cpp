#include "bench/rounds.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace muster::bench {

// The circle method of chess tournaments: one host keeps its seat, and the others move on by one
// seat after each round.
std::vector<Round> all_pairs(int hosts, int most) {
  const int seats = hosts + hosts % 2;
  const int count = seats - 1;
  const int wanted = most > 0 ? std::min(most, count) : count;
  std::vector<Round> rounds;
  for (int i = 0; hosts > 1 && i < wanted; ++i) {
    const int turn = static_cast<int>(static_cast<long>(i) * count / wanted);
    Round round;
    for (int seat = 0; seat < seats / 2; ++seat) {
      const int one = seat == 0 ? seats - 1 : (turn + seat) % count;
      const int other = (turn + count - seat) % count;
      if (one < hosts && other < hosts) round.emplace_back(std::minmax(one, other));
    }
    std::sort(round.begin(), round.end());
    rounds.push_back(std::move(round));
  }
  return rounds;
}

std::string to_words(const std::vector<Round>& rounds) {
  std::string words;
  for (const Round& round : rounds) {
    if (!words.empty()) words += ';';
    for (std::size_t i = 0; i < round.size(); ++i) {
      words += fmt::format("{}{}-{}", i == 0 ? "" : ",", round[i].first, round[i].second);
    }
  }
  return words;
}

std::vector<Round> pairs_that_fit(int hosts, int most) {
  constexpr std::size_t kLongestWord = 120'000;  // Linux allows 128 KiB per argument
  std::vector<Round> rounds = all_pairs(hosts, most);
  while (to_words(rounds).size() > kLongestWord) {
    rounds = all_pairs(hosts, static_cast<int>(rounds.size() * 3 / 4));
  }
  return rounds;
}

}  // namespace muster::bench
