// The group of the test programs: RANK, WORLD_SIZE, MASTER_PORT, on this host.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace muster::test {

inline int environment_number(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) throw std::runtime_error(std::string(name) + " is not set");
  return std::stoi(value);
}

// `shown_as`: under which name the group's backend is known, whatever it is.
inline c10::intrusive_ptr<c10d::ProcessGroup> gloo_group(
    c10d::ProcessGroup::BackendType shown_as = c10d::ProcessGroup::BackendType::GLOO) {
  static const int rank = environment_number("RANK"), size = environment_number("WORLD_SIZE");
  static int groups = 0;
  static const auto store = [] {
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(environment_number("MASTER_PORT"));
    options.isServer = rank == 0;
    options.numWorkers = size;
    options.timeout = std::chrono::seconds(30);
    return c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  }();
  auto prefixed = c10::make_intrusive<c10d::PrefixStore>("group" + std::to_string(groups++), store);
  const auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(30));
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  auto backend = c10::make_intrusive<c10d::ProcessGroupGloo>(prefixed, rank, size, options);
  auto group = c10::make_intrusive<c10d::ProcessGroup>(prefixed, rank, size);
  group->setBackend(c10::DeviceType::CPU, shown_as, backend);
  group->setDefaultBackend(shown_as);
  return group;
}

}  // namespace muster::test
