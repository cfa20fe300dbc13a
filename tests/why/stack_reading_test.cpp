#include "why/stack_reading.hpp"

#include <gtest/gtest.h>

#include "verdict_cases.hpp"

namespace muster::why {
namespace {

using In = StackReading::In;

inspect::Stack native_stack(const std::vector<std::string>& functions) {
  inspect::Stack stack{.source = "eu-stack"};
  for (const std::string& function : functions) stack.frames.push_back({.function = function});
  return stack;
}

StackReading native_reading(const std::vector<std::string>& functions) {
  const inspect::Stack stack = native_stack(functions);
  return read_stacks({&stack, 1});
}

StackReading python_reading(const std::vector<inspect::Frame>& frames) {
  const inspect::Stack stack{.source = "py-spy", .python = true, .frames = frames};
  return read_stacks({&stack, 1});
}

TEST(ReadStacks, KnowsWhichCallsOfMpiWaitForOthers) {
  struct Row {
    const char* call;
    In in;
    const char* operation = "";
    bool is_message = false;
    bool spins = true;
  };
  for (const Row& row : {Row{"PMPI_Allreduce", In::kOperation, "MPI_Allreduce"},
                         Row{"MPI_Allreduce_c", In::kOperation, "MPI_Allreduce"},
                         Row{"MPI_Neighbor_alltoallv", In::kOperation, "MPI_Neighbor_alltoallv"},
                         Row{"MPI_Win_fence", In::kOperation, "MPI_Win_fence"},
                         Row{"MPI_Comm_split", In::kOperation, "MPI_Comm_split"},
                         Row{"MPI_Wait", In::kOperation, "MPI_Wait", true},
                         Row{"PMPI_Testall", In::kOperation, "MPI_Testall", true},
                         Row{"MPI_Iprobe", In::kOperation, "MPI_Iprobe", true},
                         Row{"PMPI_Init_thread", In::kRendezvous},
                         Row{"MPI_Finalize", In::kTeardown, "MPI_Finalize"},
                         Row{"MPI_File_write", In::kElsewhere, "", false, false},
                         Row{"MPI_File_write_all", In::kElsewhere, "", false, false},
                         Row{"MPI_Wtime", In::kElsewhere, "", false, false},
                         Row{"MPI_Comm_rank", In::kElsewhere, "", false, false},
                         Row{"MPI_Type_commit", In::kElsewhere, "", false, false}}) {
    SCOPED_TRACE(row.call);
    const StackReading reading = native_reading({"poll", row.call, "step()", "main"});
    EXPECT_EQ(reading.in, row.in);
    EXPECT_EQ(reading.operation, row.operation);
    EXPECT_EQ(is_point_to_point(reading.operation), row.is_message);
    EXPECT_EQ(reading.spins, row.spins);
    EXPECT_EQ(reading.place, "step() <- main()");
  }
}

TEST(ReadStacks, TellsWaitsThatSpin) {
  const auto spins = [](const char* function) {
    return native_reading({"sched_yield", function, "main"}).spins;
  };
  EXPECT_TRUE(spins("cudaStreamSynchronize"));
  EXPECT_TRUE(spins("cuEventSynchronize"));
  EXPECT_TRUE(spins("ncclCommInitRankConfig"));
  EXPECT_TRUE(spins("muster::mpi::Progress::wait"));
  EXPECT_FALSE(spins("gloo::transport::tcp::UnboundBuffer::waitRecv"));
  EXPECT_FALSE(spins("cudaLaunchKernel"));
  EXPECT_FALSE(spins("compute(int)"));
  const std::vector<inspect::Stack> both = {
      {.source = "py-spy", .python = true, .frames = {{"step", "/home/u/train.py", 3}}},
      native_stack({"cuStreamSynchronize", "_PyEval_EvalFrameDefault"})};
  EXPECT_TRUE(read_stacks(both).spins);
}

TEST(ReadStacks, TakesPollingOfAWorkForItsCollective) {
  const StackReading reading =
      native_reading({"PMPI_Test", "muster::mpi::Progress::wait", "step()", "main"});
  EXPECT_EQ(reading.in, In::kOperation);
  EXPECT_EQ(reading.operation, kUnnamedOperation);
}

TEST(ReadStacks, LeavesOutFramesOfLibraries) {
  EXPECT_EQ(
      native_reading({"void torch::autograd::f", "caffe2::g", "mpi_barrier_", "hop", "main"}).place,
      "hop() <- main()");
  // Since Python 3.11, os.path is a frozen module.
  const StackReading polls = python_reading(
      {{"exists", "<frozen genericpath>", 19}, {"wait_for_file", "/home/u/train.py", 7}});
  EXPECT_TRUE(polls.own_code_innermost);
  EXPECT_EQ(polls.place, "train.py:7 wait_for_file()");
  EXPECT_EQ(
      python_reading({{"f", "<__array_function__ internals>", 5}, {"g", "<string>", 1}}).place,
      "<string>:1 g()");
}

TEST(Judge, DoesNotTakeWritingAFileForAnotherOperation) {
  expect_verdicts({
      {"MPI_File_write",
       [] {
         Builder scene(3);
         for (const int rank : {1, 2}) scene.native(rank, {"poll", "PMPI_Barrier", "main"});
         scene.native(0, {"pwrite", "PMPI_File_write", "save()", "main"}).doing(0, "S", "sleep");
         return scene.without_recorder();
       },
       Kind::kNotEntered,
       true,
       {0},
       "rank 0 (n1) has not entered MPI_Barrier"},
  });
}

}  // namespace
}  // namespace muster::why
