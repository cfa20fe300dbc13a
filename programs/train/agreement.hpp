// What the ranks find out together, so that none is left waiting for one that has failed.
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

// All ranks throw it with the same text, after a collective that all of them have finished.
class AgreedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Rank 0 writes the text to standard error. The other ranks wait for that, because an engine kills
// all ranks, and with them the message, when the first one exits with an error.
void say_agreed(const Group& group, const std::string& text);

// Collective, like all here: calls `act` on every rank. Where it throws on any, all throw an
// AgreedError that names the ranks and their hosts.
void together(const Group& group, const std::function<void()>& act);

// Throws where a rank has another copy of a file than rank 0 has.
void check_same_files(const Group& group, const std::vector<DataFile>& files);

}  // namespace muster::programs
