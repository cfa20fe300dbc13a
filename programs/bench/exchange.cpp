#include "programs/bench/exchange.hpp"

#include <algorithm>

namespace muster::programs::bench {

std::vector<double> gather_number(Fabric& fabric, double own) {
  std::vector<double> all(static_cast<std::size_t>(fabric.size()));
  fabric.gather(&own, sizeof(own), all.data());
  return all;
}

std::vector<std::string> gather_texts(Fabric& fabric, const std::string& own) {
  const auto lengths = gather_number(fabric, static_cast<double>(own.size()));
  std::vector<std::string> texts(lengths.size());
  const auto longest = static_cast<std::size_t>(std::ranges::max(lengths));
  if (longest == 0) return texts;
  std::string padded = own;
  padded.resize(longest);
  std::string all(longest * lengths.size(), '\0');
  fabric.gather(padded.data(), longest, all.data());
  for (std::size_t i = 0; i < texts.size(); ++i)
    texts[i] = all.substr(i * longest, static_cast<std::size_t>(lengths[i]));
  return texts;
}

}  // namespace muster::programs::bench
