// Ensures that only the job's ranks take part in it. Anyone who can reach the ports of the store
// and of Gloo can connect to them, so participants must prove that they know the job's key.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "torch/job_key.hpp"

namespace muster {

// The group cannot be trusted.
class MembershipError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class NotOfThisJob : public MembershipError {
 public:
  using MembershipError::MembershipError;
};

// It is impossible to check who takes part; `why` is the reason.
class CannotCheck : public MembershipError {
 public:
  explicit CannotCheck(const std::string& why);
};

// Signs and remembers the values that it stores. Reading a value that a stranger stored, or that
// was stored under another name, throws NotOfThisJob. Counters (`add`) and the absence of a name
// are not protected. By changing those, an attacker can make a job fail but cannot join it.
class SignedStore : public c10d::Store {
 public:
  using Bytes = std::vector<std::uint8_t>;

  SignedStore(c10::intrusive_ptr<c10d::Store> store, JobKey key);

  [[nodiscard]] const JobKey& key() const { return key_; }
  // The last exception of `get`, for callers that only see the exception by which Gloo replaced it.
  [[nodiscard]] std::string refusal() const;
  // The value that was set, or else the first that was read; empty if there is none.
  [[nodiscard]] std::string known(const std::string& name) const;
  // A digest of all values that were set, or else the first that were read. It is the same on all
  // ranks if they use the same addresses.
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

// The key of this session, which is the time between the first and the last group of a process. It
// invalidates everything that was signed earlier with the same job key. Rank 0 chooses it and
// shares it through the store. Nothing if the job has no key. Throws std::runtime_error if only one
// of this rank and rank 0 has a job key.
[[nodiscard]] std::optional<JobKey> session_key(const c10::intrusive_ptr<c10d::Store>& store,
                                                int rank, const std::optional<JobKey>& key);

// How this rank is connected to the others of its group.
class Links {
 public:
  virtual ~Links() = default;

  virtual void look() = 0;  // call this when all ranks are connected, before the functions below
  // A text that must be the same on all ranks of the group.
  [[nodiscard]] virtual std::string agreed() const = 0;
  // Our end of the connection that we opened to this rank; empty if that rank opened it.
  [[nodiscard]] virtual std::string opened(std::size_t network, int other) const = 0;
  // Whether we accepted a connection from this end, which is padded with zeros to kEndBytes.
  [[nodiscard]] virtual bool accepted(std::size_t network, const std::string& end) const = 0;
};

// Every rank proves to every other that it has the key, on each network that connects the group,
// and both make sure that nobody is between them. Throws MembershipError if that fails on this or
// another rank.
void prove_membership(c10d::Backend& backend, const JobKey& key, std::size_t networks,
                      Links& links);

}  // namespace muster
