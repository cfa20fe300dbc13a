// Who printed a line, as the labels of launchers tell it. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::explain {

struct Origin {
  std::string host = {};  // empty: unknown
  int rank = -1;          // -1: unknown
  friend auto operator<=>(const Origin&, const Origin&) = default;
};

struct SplitLine {
  Origin origin = {};
  std::string_view text;
};

// Takes off the labels of muster ("[n1:3] "), Open MPI ("[1,3]<stderr>:"), torchrun ("[rank3]:"),
// hydra ("[3] "), srun ("3: "), pdsh and DeepSpeed ("n1: "), kubectl ("[pod/NAME/CONTAINER] ") and
// Compose ("NAME | "). `ranks`: how many the job has, if that is known: Open MPI writes
// "[host:pid]", which looks like a label of muster's.
[[nodiscard]] SplitLine split_labels(std::string_view line, int ranks = 0);

}  // namespace muster::explain
