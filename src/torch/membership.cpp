#include "torch/membership.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <unistd.h>

namespace muster {
namespace {

using Bytes = SignedStore::Bytes;

constexpr auto kSession = "muster/session";
constexpr auto kNoKey = "no key";
constexpr auto kRandomBytes = static_cast<std::int64_t>(JobKey::kSignatureBytes);
constexpr auto kStranger =
    "\n  hint: another user or another job connects to the ports of this job; start it again, and "
    "check which other users run processes on its hosts";
constexpr auto kForward =
    "\n  hint: muster run gives the same one to all ranks; if you start ranks by other means "
    "inside "
    "a job, pass it on to all of them or unset it for all of them";

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (::getentropy(bytes.data(), bytes.size()) != 0) {
    throw std::runtime_error("the kernel gives no random numbers");
  }
  return bytes;
}

// With the name: a value is good only where it was stored.
std::string signed_text(const std::string& name, const Bytes& value) {
  return "store " + std::to_string(name.size()) + " " + name +
         std::string(value.begin(), value.end());
}

// One row of bytes for each rank.
struct Rows {
  explicit Rows(int size) : tensor(at::zeros({size, kRandomBytes}, at::kByte)) {}

  void put(int rank, const std::string& bytes) {
    std::memcpy(tensor[rank].data_ptr(), bytes.data(), JobKey::kSignatureBytes);
  }
  [[nodiscard]] std::string row(int rank) const {
    return {static_cast<const char*>(tensor[rank].data_ptr()), JobKey::kSignatureBytes};
  }

  at::Tensor tensor;
};

Rows exchange(c10d::Backend& backend, Rows sent) {
  Rows received(backend.getSize());
  std::vector<std::int64_t> even;
  backend.alltoall_base(received.tensor, sent.tensor, even, even)->wait();
  return received;
}

Rows random_rows(int size) {
  Rows rows(size);
  for (int rank = 0; rank < size; ++rank) rows.put(rank, random_bytes(JobKey::kSignatureBytes));
  return rows;
}

// The random bytes that the ranks have sent each other on one network.
struct Challenge {
  Rows sent;
  Rows received;
};

std::string proof(const std::string& agreed, int from, int to, const std::string& of_from,
                  const std::string& of_to) {
  return "member " + std::to_string(agreed.size()) + " " + agreed + " " + std::to_string(from) +
         " " + std::to_string(to) + " " + of_from + of_to;
}

void prove(c10d::Backend& backend, const JobKey& key, const std::string& agreed,
           const Challenge& challenge) {
  const int own = backend.getRank();
  Rows proofs(backend.getSize());
  for (int other = 0; other < backend.getSize(); ++other) {
    proofs.put(other, key.sign(proof(agreed, own, other, challenge.sent.row(other),
                                     challenge.received.row(other))));
  }
  const Rows shown = exchange(backend, proofs);
  for (int other = 0; other < backend.getSize(); ++other) {
    if (key.is_signature(shown.row(other), proof(agreed, other, own, challenge.received.row(other),
                                                 challenge.sent.row(other)))) {
      continue;
    }
    throw NotOfThisJob("the process that is connected as rank " + std::to_string(other) +
                       " does not belong to this job" + kStranger);
  }
}

}  // namespace

SignedStore::SignedStore(c10::intrusive_ptr<c10d::Store> store, JobKey key)
    : store_(std::move(store)), key_(std::move(key)) {}

std::string SignedStore::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

std::string SignedStore::digest() const {
  const std::lock_guard lock(mutex_);
  std::string all = "known";
  for (const auto& [name, value] : known_) {
    all += " " + std::to_string(value.size()) + " " + signed_text(name, value);
  }
  return key_.sign(all);
}

c10::intrusive_ptr<c10d::Store> SignedStore::clone() {
  return c10::make_intrusive<SignedStore>(store_->clone(), key_);
}

void SignedStore::set(const std::string& name, const Bytes& value) {
  const std::string signature = key_.sign(signed_text(name, value));
  Bytes stored(signature.begin(), signature.end());
  stored.insert(stored.end(), value.begin(), value.end());
  store_->set(name, stored);
  const std::lock_guard lock(mutex_);
  known_[name] = value;
}

Bytes SignedStore::get(const std::string& name) {
  const Bytes stored = store_->get(name);
  const std::size_t size = std::min(stored.size(), JobKey::kSignatureBytes);
  const auto begin = stored.begin() + static_cast<std::ptrdiff_t>(size);
  Bytes value(begin, stored.end());
  const std::lock_guard lock(mutex_);
  if (key_.is_signature(std::string(stored.begin(), begin), signed_text(name, value))) {
    known_.emplace(name, value);
    return value;
  }
  refusal_ = "somebody who is not a rank of this job has written " + name +
             " to its key-value store" + kStranger;
  throw NotOfThisJob(refusal_);
}

std::int64_t SignedStore::add(const std::string& name, std::int64_t value) {
  return store_->add(name, value);
}

bool SignedStore::deleteKey(const std::string& name) {
  return store_->deleteKey(name);
}

bool SignedStore::check(const std::vector<std::string>& names) {
  return store_->check(names);
}

std::int64_t SignedStore::getNumKeys() {
  return store_->getNumKeys();
}

void SignedStore::wait(const std::vector<std::string>& names) {
  store_->wait(names);
}

void SignedStore::wait(const std::vector<std::string>& names,
                       const std::chrono::milliseconds& timeout) {
  store_->wait(names, timeout);
}

const std::chrono::milliseconds& SignedStore::getTimeout() const noexcept {
  return store_->getTimeout();
}

void SignedStore::setTimeout(const std::chrono::milliseconds& timeout) {
  store_->setTimeout(timeout);
}

bool SignedStore::hasExtendedApi() const {
  return false;  // it would append to values, or read several, without a look at signatures
}

// Making a rank believe in an earlier session gains nobody anything: rank 0 knows the right one,
// and that rank takes part only if rank 0 proves that it has the same.
std::optional<JobKey> session_key(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                  const std::optional<JobKey>& key) {
  std::string session = rank == 0 ? random_bytes(JobKey::kSignatureBytes) : "";
  if (rank == 0) {
    if (!key) store->set(kSession, std::string(kNoKey));
    if (key) c10::make_intrusive<SignedStore>(store, *key)->set(kSession, session);
  } else {
    const bool rank_0_has_key = store->get_to_str(kSession) != kNoKey;
    if (key && !rank_0_has_key) {
      throw std::runtime_error("rank " + std::to_string(rank) +
                               " has MUSTER_JOB_KEY in its environment, but rank 0 does not" +
                               kForward);
    }
    if (!key && rank_0_has_key) {
      throw std::runtime_error("rank 0 has MUSTER_JOB_KEY in its environment, but rank " +
                               std::to_string(rank) + " does not" + kForward);
    }
    if (key) session = c10::make_intrusive<SignedStore>(store, *key)->get_to_str(kSession);
  }
  if (!key) return std::nullopt;
  return JobKey(key->sign("session " + session));
}

// The random bytes make proofs worthless that were shown earlier, or by a rank that has ended
// since.
void prove_membership(c10d::Backend& backend, const JobKey& key, std::size_t networks,
                      const std::function<std::string()>& agreed) {
  std::vector<Challenge> challenges;
  for (std::size_t i = 0; i < networks; ++i) {  // Gloo takes them in turn, one for each operation
    const Rows sent = random_rows(backend.getSize());
    challenges.push_back({sent, exchange(backend, sent)});
  }
  for (std::size_t i = 0; i < networks; ++i) {
    prove(backend, key, std::to_string(i) + " " + agreed(), challenges[i]);
  }
}

}  // namespace muster
