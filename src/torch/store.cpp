#include "torch/store.hpp"

#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/endpoint.hpp"
#include "torch/master_socket.hpp"
#include "torch/membership.hpp"

namespace muster {
namespace {

constexpr int kNamedAtMost = 8;
constexpr std::chrono::milliseconds kLookAgain{20};

std::string seconds(std::chrono::milliseconds time) {
  const auto count = time.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
}

std::runtime_error no_master(const Job& job) {
  const auto is_set = [](const std::string& name) {
    return std::getenv(name.c_str()) != nullptr || std::getenv(("PET_" + name).c_str()) != nullptr;
  };
  const bool address = is_set("MASTER_ADDR");
  const bool port = is_set("MASTER_PORT");
  const char* missing = address ? "MASTER_PORT is not" : port ? "MASTER_ADDR is not" : "neither is";
  return std::runtime_error(
      "with Gloo the ranks find each other at MASTER_ADDR and MASTER_PORT, but " +
      std::string(missing) + " set (" + job.describe() +
      ")\n  hint: start the job with muster run, which sets them; or set MASTER_ADDR to rank 0's "
      "address and MASTER_PORT to a free port there, the same for all ranks (mpirun -x "
      "MASTER_ADDR=..., hydra: -genv MASTER_ADDR ...)");
}

std::runtime_error no_store(const Job& job, bool serves, std::chrono::milliseconds timeout,
                            const std::string& why) {
  const std::string where = endpoint_text(job.master->address, job.master->port);
  const std::string server = job.agent_store ? "torchrun's agent" : "rank 0";
  if (serves) {
    return std::runtime_error("rank 0 cannot listen for the other ranks at " + where + ": " + why +
                              "\n  hint: if another job uses the port, set another MASTER_PORT for "
                              "all ranks; muster run finds a free one");
  }
  return std::runtime_error(server + " does not answer at " + where + " within " +
                            seconds(timeout) + ": " + why +
                            "\n  hint: check that it is running, that this host reaches it at "
                            "MASTER_ADDR, and that no firewall blocks the port");
}

c10::intrusive_ptr<c10d::Store> connect(const Job& job, std::chrono::milliseconds timeout) {
  if (!job.master) throw no_master(job);
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(job.master->port);
  options.isServer = job.rank == 0 && !job.agent_store;
  options.numWorkers = static_cast<std::size_t>(job.size);
  options.waitWorkers = false;  // who_is_missing names the missing ranks instead
  options.timeout = timeout;
  try {
    if (options.isServer) options.masterListenFd = bind_master(job);
    auto store = c10::make_intrusive<c10d::TCPStore>(job.master->address, options);
    if (!job.agent_store) return store;
    // The agent's store outlives a failed attempt, so each attempt needs its own prefix.
    return c10::make_intrusive<c10d::PrefixStore>("attempt" + std::to_string(job.attempt), store);
  } catch (const std::exception& error) {
    throw no_store(job, options.isServer, timeout, reason(error));
  }
}

std::optional<JobKey> agree_on_key(const c10::intrusive_ptr<c10d::Store>& store, const Job& job,
                                   const std::optional<JobKey>& key) try {
  return session_key(store, job.rank, key);
} catch (const c10::Error& error) {
  throw never_joined("rank 0", reason(error));
}

struct SharedStore {
  c10::intrusive_ptr<c10d::Store> open;
  std::optional<JobKey> key;  // of this session
};

SharedStore make_shared_store(const Job& job, std::chrono::milliseconds timeout) {
  const auto key = JobKey::of_this_process();
  SharedStore made{.open = connect(job, timeout), .key = {}};
  made.key = agree_on_key(made.open, job, key);
  return made;
}

// The store is never destroyed: rank 0 serves it until the process ends, because other ranks may
// still read from it after rank 0's groups are gone.
const SharedStore& shared_store(const Job& job, std::chrono::milliseconds timeout) {
  static std::mutex mutex;
  static auto* const store = new SharedStore();
  const std::lock_guard lock(mutex);
  if (!store->open) *store = make_shared_store(job, timeout);
  return *store;
}

std::string key(const std::string& what, int rank) {
  return what + "/" + std::to_string(rank);
}

void say(c10d::Store& store, const std::string& what, int rank) {
  store.set(key(what, rank), std::vector<std::uint8_t>{1});
}

bool has_said(c10d::Store& store, const std::string& what, int rank) {
  return store.check({key(what, rank)});
}

}  // namespace

std::string reason(const std::exception& error) {
  const auto* torchs = dynamic_cast<const c10::Error*>(&error);
  return torchs != nullptr ? torchs->what_without_backtrace() : error.what();
}

std::runtime_error never_joined(const std::string& ranks, const std::string& why) {
  return std::runtime_error("these ranks did not join the group within the timeout: " + ranks +
                            "\n  hint: perhaps they have ended or never started (" + why + ")");
}

GroupStore store_of(const Job& job, const std::string& group, std::chrono::milliseconds timeout) {
  GroupStore store{.group = group, .open = {}, .trusted = {}, .guard = {}};
  if (job.size == 1) {
    store.open = store.trusted = c10::make_intrusive<c10d::HashStore>();
  } else {
    const SharedStore& shared = shared_store(job, timeout);
    store.open = store.trusted = c10::make_intrusive<c10d::PrefixStore>(group, shared.open);
    if (shared.key) {
      store.guard = c10::make_intrusive<SignedStore>(shared.open, *shared.key);
      store.trusted = c10::make_intrusive<c10d::PrefixStore>(group, store.guard);
    }
  }
  store.open->setTimeout(timeout);
  return store;
}

void say_here(c10d::Store& store, int rank) {
  say(store, "here", rank);
}

std::optional<std::string> who_is_missing(c10d::Store& store, int size) try {
  std::vector<int> missing;
  for (int rank = 0; rank < size; ++rank) {
    if (!has_said(store, "here", rank)) missing.push_back(rank);
  }
  std::string text;
  for (std::size_t i = 0; i < missing.size() && i < kNamedAtMost; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(missing[i]);
  }
  if (missing.size() > kNamedAtMost) {
    text += " and " + std::to_string(missing.size() - kNamedAtMost) + " more";
  }
  if (missing.empty()) return "";
  return (missing.size() == 1 ? "rank " : "ranks ") + text;
} catch (const std::exception&) {
  return std::nullopt;
}

void say_told(c10d::Store& store, int rank) noexcept try {
  say(store, "told", rank);
} catch (const std::exception&) {  // without the store, nobody waits for this rank either
}

void wait_until_told(c10d::Store& store, int size, std::chrono::milliseconds at_most) noexcept try {
  const auto end = std::chrono::steady_clock::now() + at_most;
  for (int rank = 0; rank < size; ++rank) {
    while (has_said(store, "here", rank) && !has_said(store, "told", rank)) {
      if (std::chrono::steady_clock::now() > end) return;
      std::this_thread::sleep_for(kLookAgain);
    }
  }
} catch (const std::exception&) {  // the error that led here is more important
}

}  // namespace muster
