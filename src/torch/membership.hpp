// Only ranks of the job may take part in it. Anybody who reaches the ports of its store and of Gloo
// can connect to them, so those who take part must know the job's key.
#pragma once

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

// Signs what it stores. Reading what a stranger stored, or what was stored under another name,
// throws NotOfThisJob. Counters (`add`) and the absence of a key are not protected: changing them
// delays a job or makes it fail.
[[nodiscard]] c10::intrusive_ptr<c10d::Store> signed_store(c10::intrusive_ptr<c10d::Store> store,
                                                           const JobKey& key);

// Every rank shows every other that it has the key, once on each network that the group is
// connected by. Throws NotOfThisJob if somebody else is connected as a rank; returns when all ranks
// are connected.
void prove_membership(c10d::Backend& backend, const JobKey& key, const std::string& group,
                      std::size_t networks);

}  // namespace muster
