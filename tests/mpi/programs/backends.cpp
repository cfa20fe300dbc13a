#include "backends.hpp"

#include <algorithm>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "muster/job.hpp"
#include "muster/mpi.hpp"

namespace tests {
namespace {

c10::intrusive_ptr<c10d::Store> g_store;

BackendPtr gloo_subgroup(const std::string& prefix, int rank, int size) {
  auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(60));
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(
      c10::make_intrusive<c10d::PrefixStore>(prefix, g_store), rank, size, options);
}

}  // namespace

BackendPtr world(const std::string& name, std::chrono::milliseconds timeout) {
  if (name == "mpi") return muster::mpi::backend({.timeout = timeout});
  const auto group = muster::join().group(name, {.timeout = timeout});
  g_store = group->getStore();
  return group->getBackend(c10::DeviceType::CPU);
}

std::vector<std::pair<std::string, BackendPtr>> groups(const std::string& name,
                                                       const BackendPtr& world) {
  const int size = world->getSize();
  const int me = world->getRank();
  std::vector<int> alike;
  std::vector<int> but_first;
  std::vector<int> backwards;
  for (int rank = 0; rank < size; ++rank) {
    if (rank % 2 == me % 2) alike.push_back(rank);
    if (rank > 0) but_first.push_back(rank);
    backwards.insert(backwards.begin(), rank);
  }
  std::vector<std::pair<std::string, BackendPtr>> all{{"of all", world}};
  const auto add = [&](const std::string& label, const std::vector<int>& ranks) {
    const auto at = std::ranges::find(ranks, me);
    if (at == ranks.end()) return;
    const int rank = static_cast<int>(at - ranks.begin());
    const auto prefix = label + std::to_string(ranks.front());
    all.emplace_back(label, name == "mpi"
                                ? world->split(nullptr, ranks, nullptr)
                                : gloo_subgroup(prefix, rank, static_cast<int>(ranks.size())));
  };
  if (size > 1) {
    add("of half", alike);
    add("of all but the first", but_first);
    add("backwards", backwards);
  }
  return all;
}

}  // namespace tests
