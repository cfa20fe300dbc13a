#include "torch/membership.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

namespace muster {
namespace {

using Bytes = std::vector<std::uint8_t>;
using StorePointer = c10::intrusive_ptr<c10d::Store>;

constexpr auto kHint =
    "\n  hint: another user or another job connects to this job's ports; start the job again, and "
    "look who else runs processes on its hosts. If you start ranks by hand inside of muster run, "
    "unset MUSTER_JOB_KEY for all of them";

// The name too: a value is good only where it was stored.
std::string signed_text(const std::string& name, const Bytes& value) {
  return "store " + std::to_string(name.size()) + " " + name +
         std::string(value.begin(), value.end());
}

class SignedStore : public c10d::Store {
 public:
  SignedStore(StorePointer store, JobKey key) : store_(std::move(store)), key_(std::move(key)) {}

  StorePointer clone() override { return c10::make_intrusive<SignedStore>(store_->clone(), key_); }

  using c10d::Store::set;
  void set(const std::string& name, const Bytes& value) override {
    const std::string signature = key_.sign(signed_text(name, value));
    Bytes stored(signature.begin(), signature.end());
    stored.insert(stored.end(), value.begin(), value.end());
    store_->set(name, stored);
  }

  Bytes get(const std::string& name) override {
    Bytes stored = store_->get(name);
    const std::size_t size = std::min(stored.size(), JobKey::kSignatureBytes);
    const auto begin = stored.begin() + static_cast<std::ptrdiff_t>(size);
    Bytes value(begin, stored.end());
    if (!key_.is_signature(std::string(stored.begin(), begin), signed_text(name, value))) {
      throw NotOfThisJob("somebody who is not a rank of this job has written " + name +
                         " to its key-value store" + kHint);
    }
    return value;
  }

  std::int64_t add(const std::string& name, std::int64_t value) override {
    return store_->add(name, value);
  }
  bool deleteKey(const std::string& name) override { return store_->deleteKey(name); }
  bool check(const std::vector<std::string>& names) override { return store_->check(names); }
  std::int64_t getNumKeys() override { return store_->getNumKeys(); }
  void wait(const std::vector<std::string>& names) override { store_->wait(names); }
  void wait(const std::vector<std::string>& names,
            const std::chrono::milliseconds& timeout) override {
    store_->wait(names, timeout);
  }
  const std::chrono::milliseconds& getTimeout() const noexcept override {
    return store_->getTimeout();
  }
  void setTimeout(const std::chrono::milliseconds& timeout) override {
    store_->setTimeout(timeout);
  }
  bool hasExtendedApi() const override { return false; }  // several values at once, unsigned

 private:
  StorePointer store_;
  JobKey key_;
};

std::string proof(const std::string& group, std::size_t network, int from, int to) {
  return "member " + group + " " + std::to_string(network) + " " + std::to_string(from) + " " +
         std::to_string(to);
}

}  // namespace

StorePointer signed_store(StorePointer store, const JobKey& key) {
  return c10::make_intrusive<SignedStore>(std::move(store), key);
}

// Gloo uses its networks in turn, one for each operation. A proof names both ranks, and who
// connects knows the address from the signed store: so nobody can get a proof from one rank and
// show it to another.
void prove_membership(c10d::Backend& backend, const JobKey& key, const std::string& group,
                      std::size_t networks) {
  constexpr auto kBytes = static_cast<std::int64_t>(JobKey::kSignatureBytes);
  const int own = backend.getRank();
  const int size = backend.getSize();
  for (std::size_t network = 0; network < networks; ++network) {
    at::Tensor sent = at::empty({size, kBytes}, at::kByte);
    at::Tensor received = at::zeros({size, kBytes}, at::kByte);
    for (int other = 0; other < size; ++other) {
      const std::string mine = key.sign(proof(group, network, own, other));
      std::memcpy(sent[other].data_ptr(), mine.data(), mine.size());
    }
    std::vector<std::int64_t> even;
    backend.alltoall_base(received, sent, even, even)->wait();
    for (int other = 0; other < size; ++other) {
      const auto* data = static_cast<const char*>(received[other].data_ptr());
      if (key.is_signature(std::string(data, JobKey::kSignatureBytes),
                           proof(group, network, other, own))) {
        continue;
      }
      throw NotOfThisJob("the process that is connected as rank " + std::to_string(other) +
                         " does not belong to this job" + kHint);
    }
  }
}

}  // namespace muster
