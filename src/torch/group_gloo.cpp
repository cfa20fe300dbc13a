#include <stdexcept>

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "torch/gloo_network.hpp"
#include "torch/group.hpp"
#include "torch/links.hpp"
#include "torch/store.hpp"

namespace muster {
namespace {

using c10d::ProcessGroupGloo;

constexpr std::chrono::seconds kUntilTold{3};

std::string own_address(const Job& job) {
  const bool one_host = job.local_size == job.size;
  if (one_host || !job.master || gloo::is_loopback(job.master->address)) return "127.0.0.1";
  return gloo::address_towards(job.master->address, job.master->port);
}

// Whether Gloo must get our address instead of the interface's name, because the master's address
// is IPv6. Given an interface, Gloo uses its first address, which is IPv4 if it has both.
bool is_towards_ipv6(const Job& job, const std::vector<std::string>& interfaces) {
  if (!job.master || job.master->address.find(':') == std::string::npos) return false;
  return interfaces.size() == 1 && gloo::has_address(interfaces.front(), own_address(job));
}

// Adds the devices that ProcessGroupGloo's functions create. Their type is declared only in Gloo's
// own headers, so they cannot be created here.
void add_devices(const Job& job, ProcessGroupGloo::Options& options) {
  const bool lazy = c10d::getDefaultGlooLazyInit();
  std::vector<std::string> interfaces;
  if (job.size > 1) interfaces = gloo::named_interfaces();
  if (is_towards_ipv6(job, interfaces)) interfaces.clear();
  for (const std::string& name : interfaces) {
    options.devices.push_back(ProcessGroupGloo::createDeviceForInterface(name, lazy));
  }
  if (options.devices.empty()) {
    options.devices.push_back(ProcessGroupGloo::createDeviceForHostname(own_address(job), lazy));
  }
}

}  // namespace

c10::intrusive_ptr<c10d::Backend::Options> gloo_options(const Job& job,
                                                        const GroupOptions& options) {
  auto gloo = ProcessGroupGloo::Options::create(options.timeout);
  add_devices(job, *gloo);
  return gloo;
}

BackendPointer gloo_backend(const Job& job, const GroupStore& store,
                            const c10::intrusive_ptr<c10d::Backend::Options>& gloo) {
  try {
    say_here(*store.open, job.rank);
    std::optional<GlooLinks> links;
    if (store.guard) links.emplace(*store.guard, store.group, job.rank);
    auto options = c10::static_intrusive_pointer_cast<ProcessGroupGloo::Options>(gloo);
    auto backend =
        c10::make_intrusive<ProcessGroupGloo>(store.trusted, job.rank, job.size, options);
    // Wait until all ranks are connected before rank 0, which serves the store, may continue.
    if (links) {
      prove_membership(*backend, store.guard->key(), options->devices.size(), *links);
    } else if (job.size > 1) {
      backend->barrier()->wait();
    }
    return backend;
  } catch (const MembershipError&) {
    throw;
  } catch (const std::exception& error) {
    const std::string refusal = store.guard ? store.guard->refusal() : "";
    // The store refused a value, but Gloo replaced its exception with one of its own.
    if (!refusal.empty()) throw NotOfThisJob(refusal);
    const std::optional<std::string> missing = who_is_missing(*store.open, job.size);
    if (!missing) {
      const std::string server = job.agent_store ? "torchrun's agent" : "rank 0";
      throw std::runtime_error(server + " has ended, and the group's key-value store with it: " +
                               reason(error) + "\n  hint: its own output shows why it ended");
    }
    say_told(*store.open, job.rank);
    if (job.rank == 0 && !job.agent_store) wait_until_told(*store.open, job.size, kUntilTold);
    if (missing->empty()) {
      throw std::runtime_error(
          "the ranks cannot reach each other over Gloo: " + reason(error) +
          "\n  hint: on every host, GLOO_SOCKET_IFNAME must be the interface of a network that all "
          "hosts share; muster check shows it and muster run sets it");
    }
    throw never_joined(*missing, reason(error));
  }
}

}  // namespace muster
