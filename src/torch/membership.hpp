// Only ranks of the job may take part in it. Anybody who reaches the ports of its store and of Gloo
// can connect to them, so those who take part must know the job's key.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "torch/job_key.hpp"

namespace muster {

class NotOfThisJob : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Signs what it stores, and remembers it. Reading what a stranger stored, or what was stored under
// another name, throws NotOfThisJob. Counters (`add`) and the absence of a name are not protected:
// changing them can make a job fail, but nobody joins it that way.
class SignedStore : public c10d::Store {
 public:
  using Bytes = std::vector<std::uint8_t>;

  SignedStore(c10::intrusive_ptr<c10d::Store> store, JobKey key);

  [[nodiscard]] const JobKey& key() const { return key_; }
  // What get threw last, for callers that see it through somebody who replaces exceptions.
  [[nodiscard]] std::string refusal() const;
  // A digest of all values that were set, or else the first that were got. It is the same on all
  // ranks if they believe in the same addresses.
  [[nodiscard]] std::string digest() const;

  c10::intrusive_ptr<c10d::Store> clone() override;
  using c10d::Store::set;
  void set(const std::string& name, const Bytes& value) override;
  Bytes get(const std::string& name) override;
  std::int64_t add(const std::string& name, std::int64_t value) override;
  bool deleteKey(const std::string& name) override;
  bool check(const std::vector<std::string>& names) override;
  std::int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& names) override;
  void wait(const std::vector<std::string>& names,
            const std::chrono::milliseconds& timeout) override;
  const std::chrono::milliseconds& getTimeout() const noexcept override;
  void setTimeout(const std::chrono::milliseconds& timeout) override;
  bool hasExtendedApi() const override;

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  JobKey key_;
  mutable std::mutex mutex_;
  std::map<std::string, Bytes> known_;
  std::string refusal_;
};

// The key of this session, the time between the first and the last group of a process: it makes
// worthless what was signed earlier with the same key of the job. Rank 0 decides it and tells the
// others in the store. Nothing: the job has no key. Throws std::runtime_error if only one of this
// rank and rank 0 has a key.
[[nodiscard]] std::optional<JobKey> session_key(const c10::intrusive_ptr<c10d::Store>& store,
                                                int rank, const std::optional<JobKey>& key);

// Every rank shows every other that it has the key and that both agree on the same text, on each
// network that the group is connected by. The text is asked for when all ranks are connected.
// Throws NotOfThisJob if somebody else is connected as a rank.
void prove_membership(c10d::Backend& backend, const JobKey& key, std::size_t networks,
                      const std::function<std::string()>& agreed);

}  // namespace muster
