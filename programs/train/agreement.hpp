// Makes ranks agree on errors, so that none is left waiting for a rank that has failed.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "muster/job.hpp"
#include "programs/train/dataset.hpp"

namespace muster::programs {

using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

// Thrown on all ranks with the same text, after a collective that all of them completed.
class AgreedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Rank 0 writes the text to standard error. The other ranks wait until it has: an engine kills all
// ranks when the first one exits with an error, and the message could be lost.
void say_agreed(const Group& group, const std::string& text);

// Collective, like all functions here. Calls `act` on every rank. If it throws on any rank, all
// ranks throw an AgreedError that names the failed ranks and their hosts.
void together(const Group& group, const std::function<void()>& act);

// Throws if a rank's copy of a file differs from rank 0's.
void check_same_files(const Group& group, const std::vector<DataFile>& files);

}  // namespace muster::programs
