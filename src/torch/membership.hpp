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

// libmuster cannot check who takes part; `why` is the reason.
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
  // The message of the last exception that `get` threw; "" if there was none. For callers that see
  // only the exception with which Gloo replaced it.
  [[nodiscard]] std::string refusal() const;
  // The value that this process set under `name`, or else the first that it read; "" if there is
  // neither.
  [[nodiscard]] std::string known(const std::string& name) const;
  // A digest of all `known` values. It is the same on all ranks if they use the same addresses.
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

// Returns the key of this session, which lasts as long as the processes that are the ranks. It
// derives from the job key and from random bytes that rank 0 shares through the store, so that
// signatures of an earlier session with the same job key are not valid. Returns nothing if the job
// has no key. Throws std::runtime_error if this rank has a job key and rank 0 does not, or the
// reverse.
[[nodiscard]] std::optional<JobKey> session_key(const c10::intrusive_ptr<c10d::Store>& store,
                                                int rank, const std::optional<JobKey>& key);

// How this rank is connected to the others of its group.
class Links {
 public:
  virtual ~Links() = default;

  virtual void look() = 0;  // call this when all ranks are connected, before the functions below
  // A text that must be the same on all ranks of the group.
  [[nodiscard]] virtual std::string agreed() const = 0;
  // Our end of the connection that we opened to rank `other`; "" if that rank opened it.
  [[nodiscard]] virtual std::string opened(std::size_t network, int other) const = 0;
  // Whether we accepted a connection from `end`, which is padded with zeros to kEndBytes.
  [[nodiscard]] virtual bool accepted(std::size_t network, const std::string& end) const = 0;
};

// On each network that connects the group, every rank proves to every other that it has the key,
// and every two ranks make sure that nobody stands between them. Throws MembershipError if a check
// of this rank fails. If a check fails only on another rank, that rank leaves, and the broken
// exchange throws here.
void prove_membership(c10d::Backend& backend, const JobKey& key, std::size_t networks,
                      Links& links);

}  // namespace muster
