// Finds out from the labels of launchers which rank or host printed a line. Pure.
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

// Removes the labels of muster ("[n1:3] "), Open MPI ("[1,3]<stderr>:"), torchrun ("[rank3]:"),
// hydra ("[3] "), srun ("3: "), pdsh and DeepSpeed ("n1: "), kubectl ("[pod/NAME/CONTAINER] ") and
// Compose ("NAME | "). `ranks` is the size of the job, or 0 if unknown. It helps to distinguish
// muster's labels from "[host:pid]", which Open MPI writes.
[[nodiscard]] SplitLine split_labels(std::string_view line, int ranks = 0);

}  // namespace muster::explain
