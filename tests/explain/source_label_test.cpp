#include "explain/source_label.hpp"

#include <gtest/gtest.h>

namespace muster::explain {
namespace {

struct Case {
  const char* line;
  const char* host;
  int rank;
  const char* text;
};

TEST(Labels, OfEveryLauncherAreTakenOff) {
  for (const Case& one : {
           Case{"[n1:3] loss 2", "n1", 3, "loss 2"},
           Case{"[n[1-4]:0-31] loss 2", "", -1, "loss 2"},
           Case{"[n1:0-3] loss 2", "n1", -1, "loss 2"},
           Case{"[n1:0,2-3] loss 2", "n1", -1, "loss 2"},
           Case{"[1,3]<stderr>:Traceback", "", 3, "Traceback"},
           Case{"[prterun-n1-17@1,3]<stdout>: x", "", 3, "x"},
           Case{"[rank3]:[E1118 c10d] x", "", 3, "[E1118 c10d] x"},
           Case{"[default7]:  File", "", -1, " File"},
           Case{"[3] x", "", 3, "x"},
           Case{" 3: x", "", 3, "x"},
           Case{"worker-1: x", "worker-1", -1, "x"},
           Case{"n1: [rank3]: x", "n1", 3, "x"},
           Case{"[pod/train-0-abc/node] x", "train-0-abc", -1, "x"},
           Case{"worker-1  | x", "worker-1", -1, "x"},
           Case{"[engine] x", "", -1, "x"},
           // muster's label is right, whatever the program prints.
           Case{"[n2:11] [3] ValueError", "n2", 11, "ValueError"},
           Case{"[n2:11] [rank11]: x", "n2", 11, "x"},
           Case{"[n1:3] 57: loss nan", "n1", 3, "57: loss nan"},
           Case{"[n1:3] layer4: nan", "n1", 3, "layer4: nan"},
       }) {
    const SplitLine found = split_labels(one.line);
    EXPECT_EQ(found.origin.host, one.host) << one.line;
    EXPECT_EQ(found.origin.rank, one.rank) << one.line;
    EXPECT_EQ(found.text, one.text) << one.line;
  }
}

TEST(Labels, AreNotSeenInWhatOnlyLooksLikeThem) {
  for (const char* const line : {
           "[n1:04711] *** An error occurred in MPI_Send",
           "Error: no such file",
           "ValueError: 3",
           "srun: error: n1: task 3: Exited with exit code 1",
           "[2026-11-18 20:00:00,000] [INFO] x",
           "tensor([1, 2])",
           "python3: can't open file 'train.py'",
           "libmpi.so.40: cannot open shared object file",
           "mlx5_0: link is down",
           "[n1:00057] PMIX ERROR",
           "[1]  + 4711 killed",
           "",
       }) {
    const SplitLine found = split_labels(line);
    EXPECT_EQ(found.origin, Origin{}) << line;
    EXPECT_EQ(found.text, line);
  }
}

TEST(Labels, WithANumberThatNoRankHasAreAProcessOfOpenMpi) {
  EXPECT_EQ(split_labels("[n1:00021] mca_base", 6).origin, Origin{});
  EXPECT_EQ(split_labels("[n1:5] up", 6).origin, (Origin{"n1", 5}));
}

}  // namespace
}  // namespace muster::explain
