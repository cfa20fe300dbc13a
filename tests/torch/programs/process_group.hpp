// Groups of the test programs.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "muster/job.hpp"

namespace muster::test {

constexpr std::chrono::seconds kTimeout{30};

// Returns a group over Gloo. `shown_as` is the backend that the group claims to have.
inline c10::intrusive_ptr<c10d::ProcessGroup> gloo_group(
    c10d::ProcessGroup::BackendType shown_as = c10d::ProcessGroup::BackendType::GLOO) {
  const auto gloo = muster::join().group("gloo", {.timeout = kTimeout});
  auto group =
      c10::make_intrusive<c10d::ProcessGroup>(gloo->getStore(), gloo->getRank(), gloo->getSize());
  group->setBackend(c10::DeviceType::CPU, shown_as, gloo->getBackend(c10::DeviceType::CPU));
  group->setDefaultBackend(shown_as);
  return group;
}

}  // namespace muster::test
