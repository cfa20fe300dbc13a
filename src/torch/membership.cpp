#include "torch/membership.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <unistd.h>

#include "torch/own_connections.hpp"

namespace muster {
namespace {

using Bytes = SignedStore::Bytes;

constexpr auto kSession = "muster/session";
constexpr auto kNoKey = "no key";
constexpr std::size_t kRandomBytes = 20;
constexpr auto kStranger =
    "\n  hint: another user or another job connects to the ports of this job; start the job again, "
    "and check which other users run processes on its hosts";
constexpr auto kBetween =
    "\n  hint: if there is address translation between the hosts, unset MUSTER_JOB_KEY for all "
    "ranks; if there is none, somebody stands between them: check which other users run processes "
    "there";
constexpr auto kForward =
    "\n  hint: muster run gives the same one to all ranks; if you start ranks by other means "
    "inside a job, pass it on to all of them or unset it for all of them";

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (::getentropy(bytes.data(), bytes.size()) != 0) {
    throw std::runtime_error("the kernel gives no random numbers");
  }
  return bytes;
}

// The text that is signed for a value. It includes the name, so that the value is valid only under
// the name under which it was stored.
std::string signed_text(const std::string& name, const Bytes& value) {
  return "store " + std::to_string(name.size()) + " " + name +
         std::string(value.begin(), value.end());
}

// A matrix of bytes with one row per rank.
struct Rows {
  Rows(int ranks, std::size_t bytes)
      : tensor(at::zeros({ranks, static_cast<std::int64_t>(bytes)}, at::kByte)) {}

  void put(int rank, const std::string& bytes) {
    std::memcpy(tensor[rank].data_ptr(), bytes.data(), bytes.size());
  }
  [[nodiscard]] std::string row(int rank) const {
    const at::Tensor one = tensor[rank];
    return {static_cast<const char*>(one.data_ptr()), static_cast<std::size_t>(one.numel())};
  }

  at::Tensor tensor;
};

Rows exchange(c10d::Backend& backend, Rows sent) {
  Rows received(backend.getSize(), static_cast<std::size_t>(sent.tensor.size(1)));
  std::vector<std::int64_t> even;
  backend.alltoall_base(received.tensor, sent.tensor, even, even)->wait();
  return received;
}

Rows random_rows(int ranks) {
  Rows rows(ranks, kRandomBytes);
  for (int rank = 0; rank < ranks; ++rank) rows.put(rank, random_bytes(kRandomBytes));
  return rows;
}

// The random bytes that the ranks exchanged on one network.
struct Challenge {
  Rows sent;
  Rows received;
};

// What a rank sends to another: which connection it has opened to it, and a signature.
struct Proof {
  static constexpr std::size_t kBytes = kEndBytes + JobKey::kSignatureBytes;

  std::string opened;  // the rank's own end of that connection, padded with zeros; all 0: none
  std::string signature;

  static Proof of(const std::string& row) {
    return {row.substr(0, kEndBytes), row.substr(kEndBytes)};
  }
};

class Prover {
 public:
  Prover(c10d::Backend& backend, const JobKey& key, const Links& links, std::size_t network,
         Challenge challenge)
      : backend_(backend),
        key_(key),
        links_(links),
        network_(network),
        challenge_(std::move(challenge)),
        agreed_(links.agreed()) {}

  // Checks that the others have the key and that their connections really end at this process.
  void prove() {
    Rows shown(backend_.getSize(), Proof::kBytes);
    for (int other = 0; other < backend_.getSize(); ++other) {
      const std::string end = opened(other);
      shown.put(other, end + key_.sign(text("member", own(), other, end)));
    }
    const Rows received = exchange(backend_, shown);
    for (int other = 0; other < backend_.getSize(); ++other) {
      if (other != own()) check(other, Proof::of(received.row(other)));
    }
  }

  // Checks that prove() has succeeded on the others too. Until then, an attacker may stand between
  // us and a rank that has yet to find out.
  void confirm() {
    Rows shown(backend_.getSize(), JobKey::kSignatureBytes);
    for (int other = 0; other < backend_.getSize(); ++other) {
      shown.put(other, key_.sign(text("accepted", own(), other, "")));
    }
    const Rows received = exchange(backend_, shown);
    for (int other = 0; other < backend_.getSize(); ++other) {
      if (!key_.is_signature(received.row(other), text("accepted", other, own(), ""))) {
        throw stranger(other);
      }
    }
  }

 private:
  [[nodiscard]] int own() const { return backend_.getRank(); }

  [[nodiscard]] std::string opened(int other) const {
    std::string end = other == own() ? "" : links_.opened(network_, other);
    end.resize(kEndBytes, '\0');
    return end;
  }

  static NotOfThisJob stranger(int rank) {
    return NotOfThisJob("the process that is connected as rank " + std::to_string(rank) +
                        " does not belong to this job" + kStranger);
  }

  // The text that rank `from` signs for rank `to`. Contains the random bytes of both.
  [[nodiscard]] std::string text(const std::string& what, int from, int to,
                                 const std::string& end) const {
    const int other = from == own() ? to : from;
    const std::string ours = challenge_.sent.row(other);
    const std::string theirs = challenge_.received.row(other);
    return what + " " + std::to_string(network_) + " " + std::to_string(from) + " " +
           std::to_string(to) + " " + end + (from == own() ? ours + theirs : theirs + ours) +
           agreed_;
  }

  // Checks that the other rank has the key, and that nobody relays between us: one side must have
  // opened the connection, and the other side must have accepted that same connection.
  void check(int other, const Proof& proof) const {
    if (!key_.is_signature(proof.signature, text("member", other, own(), proof.opened))) {
      throw stranger(other);
    }
    const std::string nothing(kEndBytes, '\0');
    const bool we_opened = opened(other) != nothing;
    const bool they_opened = proof.opened != nothing;
    if (we_opened != they_opened && (we_opened || links_.accepted(network_, proof.opened))) return;
    throw NotOfThisJob("rank " + std::to_string(other) + " belongs to this job, but rank " +
                       std::to_string(own()) + " is not connected to it directly" + kBetween);
  }

  c10d::Backend& backend_;
  const JobKey& key_;
  const Links& links_;
  std::size_t network_;
  Challenge challenge_;
  std::string agreed_;
};

}  // namespace

CannotCheck::CannotCheck(const std::string& why)
    : MembershipError("libmuster cannot check who takes part in this job: " + why +
                      "\n  hint: to skip this check, unset MUSTER_JOB_KEY for all ranks") {}

SignedStore::SignedStore(c10::intrusive_ptr<c10d::Store> store, JobKey key)
    : store_(std::move(store)), key_(std::move(key)) {}

std::string SignedStore::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

std::string SignedStore::known(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(name);
  return found == known_.end() ? "" : std::string(found->second.begin(), found->second.end());
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
  return false;  // its append and multi-get functions would bypass the signatures
}

// An attacker gains nothing by showing a rank the signed value of an earlier session. Rank 0 knows
// the right session, and the rank takes part only if rank 0 proves that it has the same one.
std::optional<JobKey> session_key(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                  const std::optional<JobKey>& key) {
  std::string session = rank == 0 ? random_bytes(kRandomBytes) : "";
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

// The random bytes are new in every call, so that nobody can repeat an earlier proof, such as that
// of a rank that has ended since.
void prove_membership(c10d::Backend& backend, const JobKey& key, std::size_t networks,
                      Links& links) {
  std::vector<Challenge> challenges;
  for (std::size_t i = 0; i < networks; ++i) {  // Gloo uses its networks in turn, one per operation
    const Rows sent = random_rows(backend.getSize());
    challenges.push_back({sent, exchange(backend, sent)});
  }
  links.look();
  std::vector<Prover> provers;
  for (std::size_t i = 0; i < networks; ++i) {
    provers.emplace_back(backend, key, links, i, challenges[i]);
  }
  for (Prover& one : provers) one.prove();
  for (Prover& one : provers) one.confirm();
}

}  // namespace muster
