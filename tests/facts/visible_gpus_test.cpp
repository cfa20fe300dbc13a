#include "facts/visible_gpus.hpp"

#include <gtest/gtest.h>

namespace muster::facts {
namespace {

std::vector<Gpu> four(const char* vendor) {
  std::vector<Gpu> gpus(4);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    gpus[i].vendor = vendor;
    gpus[i].uuid = std::string("GPU-") + static_cast<char>('a' + i) + "0000000";
    gpus[i].pci = std::to_string(i);
  }
  return gpus;
}

// Returns the visible GPUs in their order, such as "2 0".
std::string visible(const std::vector<Gpu>& gpus, const GpuVariables& variables) {
  std::string text;
  for (const VisibleGpu& one : visible_gpus(gpus, variables)) {
    text += (text.empty() ? "" : " ") + (one.gpu == nullptr ? "?" : one.gpu->pci);
    if (!one.mig.empty()) text += "/" + one.mig;
  }
  return text;
}

TEST(VisibleGpus, follow_cuda_visible_devices) {
  const std::vector<Gpu> gpus = four("NVIDIA");
  const std::pair<const char*, const char*> cases[] = {
      {"2,0", "2 0"},     {"", ""},     {"-1", ""},   {"0,9,1", "0"},
      {"NoDevFiles", ""}, {" 3 ", "3"}, {"1,x", "1"}, {"GPU-c,GPU-a", "2 0"},
      {"GPU-z", ""},      {"gpu", ""}};
  for (const auto& [value, expected] : cases) {
    EXPECT_EQ(visible(gpus, {{"CUDA_VISIBLE_DEVICES", value}}), expected) << value;
  }
  EXPECT_EQ(visible(gpus, {}), "0 1 2 3");
  EXPECT_EQ(visible(gpus, {{"HIP_VISIBLE_DEVICES", "1"}}), "0 1 2 3");
}

TEST(VisibleGpus, of_amd_are_chosen_twice) {
  const std::vector<Gpu> gpus = four("AMD");
  EXPECT_EQ(visible(gpus, {{"ROCR_VISIBLE_DEVICES", "3,2"}, {"HIP_VISIBLE_DEVICES", "1"}}), "2");
  EXPECT_EQ(visible(gpus, {{"CUDA_VISIBLE_DEVICES", "1"}}), "1");
  EXPECT_EQ(visible(gpus, {{"CUDA_VISIBLE_DEVICES", "1"}, {"HIP_VISIBLE_DEVICES", "0,3"}}), "0 3");
}

TEST(VisibleGpus, leave_out_a_gpu_with_a_problem) {
  std::vector<Gpu> gpus = four("NVIDIA");
  gpus[1].problem = "lost";
  EXPECT_EQ(visible(gpus, {}), "0 2 3");
  EXPECT_EQ(visible(gpus, {{"CUDA_VISIBLE_DEVICES", "1"}}), "2");
}

TEST(VisibleGpus, count_a_mig_device_as_one) {
  std::vector<Gpu> gpus = four("NVIDIA");
  gpus[0].mig = true;
  gpus[0].mig_devices = {{"1g.10gb", "MIG-1a"}, {"1g.10gb", "MIG-2b"}};
  gpus[1].mig = true;  // MIG is on, but no MIG devices were created
  EXPECT_EQ(visible(gpus, {}), "0/MIG-1a 0/MIG-2b 2 3");
  EXPECT_EQ(visible(gpus, {{"CUDA_VISIBLE_DEVICES", "MIG-2b"}}), "0/MIG-2b");
  EXPECT_EQ(visible(gpus, {{"CUDA_VISIBLE_DEVICES", "0:1"}}), "0/MIG-2b");
  EXPECT_EQ(visible(gpus, {{"CUDA_VISIBLE_DEVICES", "MIG-GPU-a0000000/7/0"}}), "0/MIG-1a");
  EXPECT_EQ(count_gpus(gpus, {}), 4);
}

// If nvidia-smi does not answer, a list of names still determines the number of ranks.
TEST(VisibleGpus, may_have_names_that_the_host_cannot_look_up) {
  std::vector<Gpu> gpus = four("NVIDIA");
  for (Gpu& gpu : gpus) gpu.uuid.clear();
  EXPECT_EQ(visible(gpus, {{"CUDA_VISIBLE_DEVICES", "GPU-c,GPU-a"}}), "? ?");
  EXPECT_EQ(visible(gpus, {{"CUDA_VISIBLE_DEVICES", "MIG-1,MIG-2,MIG-3,x"}}), "? ? ?");
  EXPECT_EQ(visible(gpus, {{"CUDA_VISIBLE_DEVICES", "none,GPU-a"}}), "");
  EXPECT_EQ(gpu_of_rank(gpus, {{"CUDA_VISIBLE_DEVICES", "GPU-c,GPU-a"}}, 1), nullptr);
  std::string endless = "GPU-0";
  for (int i = 0; i < 1000; ++i) endless += ",GPU-0";
  EXPECT_EQ(count_gpus(gpus, {{"CUDA_VISIBLE_DEVICES", endless}}), 28);
  for (Gpu& gpu : gpus) gpu.mig = false;
  EXPECT_EQ(visible(gpus, {{"CUDA_VISIBLE_DEVICES", "MIG-1"}}), "");
  std::vector<Gpu> amd = four("AMD");
  amd[0].uuid.clear();
  EXPECT_EQ(visible(amd, {{"ROCR_VISIBLE_DEVICES", "GPU-z,GPU-y,3"}, {"HIP_VISIBLE_DEVICES", "1"}}),
            "?");
  EXPECT_EQ(visible(amd, {{"ROCR_VISIBLE_DEVICES", "GPU-z"}, {"HIP_VISIBLE_DEVICES", "GPU-z"}}),
            "?");
}

TEST(OwnDevice, is_given_to_each_rank_where_cuda_shows_only_the_first) {
  std::vector<Gpu> gpus = four("NVIDIA");
  EXPECT_EQ(own_device(gpus, {}, 1), "");  // whole GPUs: the program chooses one
  gpus[0].mig = true;
  gpus[0].mig_devices = {{"1g.10gb", "MIG-1a"}, {"1g.10gb", "MIG-2b"}};
  EXPECT_EQ(own_device(gpus, {}, 1), "MIG-2b");
  EXPECT_EQ(own_device(gpus, {}, 2), "GPU-b0000000");
  EXPECT_EQ(own_device(gpus, {}, 5), "");
  EXPECT_EQ(own_device(gpus, {{"CUDA_VISIBLE_DEVICES", "MIG-2b,MIG-1a"}}, 1), "MIG-1a");
  // There is nothing to choose: one device is visible, no visible GPU has MIG devices, or Slurm
  // assigned the GPUs.
  EXPECT_EQ(own_device(gpus, {{"CUDA_VISIBLE_DEVICES", "MIG-2b"}}, 1), "");
  EXPECT_EQ(own_device(gpus, {{"CUDA_VISIBLE_DEVICES", "1,2"}}, 1), "");
  EXPECT_EQ(own_device(gpus, {{"SLURM_GPUS_PER_TASK", "1"}}, 1), "");
}

TEST(CountGpus, is_what_slurm_grants) {
  const std::vector<Gpu> gpus = four("NVIDIA");
  const std::pair<GpuVariables, int> cases[] = {
      {{}, 4},
      {{{"SLURM_STEP_GPUS", "0,3"}}, 2},
      {{{"SLURM_JOB_GPUS", "0,1,2"}}, 3},
      {{{"SLURM_JOB_GPUS", "0,1,2"}, {"SLURM_STEP_GPUS", "1"}}, 1},
      {{{"SLURM_GPUS_ON_NODE", "2"}}, 2},
      {{{"SLURM_GPUS_ON_NODE", "8"}}, 4},
      {{{"SLURM_GPUS_ON_NODE", "4"}, {"CUDA_VISIBLE_DEVICES", "1"}}, 1},
      // One of four tasks, each of which sees only its own GPU.
      {{{"SLURM_GPUS_PER_TASK", "1"}, {"SLURM_GPUS_ON_NODE", "4"}, {"CUDA_VISIBLE_DEVICES", "0"}},
       4},
      {{{"SLURM_GPUS_PER_TASK", "h100:2"}, {"SLURM_GPUS_ON_NODE", "4"}}, 2},
      {{{"SLURM_TRES_PER_TASK", "cpu=8,gres/gpu=2"}, {"SLURM_GPUS_ON_NODE", "4"}}, 2},
      {{{"SLURM_TRES_PER_TASK", "cpu=8"}}, 4},
  };
  for (const auto& [variables, expected] : cases) {
    EXPECT_EQ(count_gpus(gpus, variables), expected)
        << (variables.empty() ? "" : variables.begin()->second);
  }
  EXPECT_EQ(count_gpus({}, {{"SLURM_GPUS_PER_TASK", "1"}, {"SLURM_GPUS_ON_NODE", "4"}}), 0);
}

std::string of_rank(const std::vector<Gpu>& gpus, const GpuVariables& variables, int rank) {
  const Gpu* const gpu = gpu_of_rank(gpus, variables, rank);
  return gpu == nullptr ? "none" : gpu->pci;
}

TEST(GpuOfRank, is_the_one_that_the_rank_takes) {
  const std::vector<Gpu> gpus = four("NVIDIA");
  EXPECT_EQ(of_rank(gpus, {}, 3), "3");
  EXPECT_EQ(of_rank(gpus, {}, 4), "none");
  EXPECT_EQ(of_rank(gpus, {{"CUDA_VISIBLE_DEVICES", "3,1"}}, 1), "1");
  EXPECT_EQ(of_rank(gpus, {{"CUDA_VISIBLE_DEVICES", "2"}}, 1),
            "2");  // its wrapper script gave it this one
  EXPECT_EQ(of_rank(gpus, {{"CUDA_VISIBLE_DEVICES", ""}}, 0), "none");
  EXPECT_EQ(of_rank(gpus, {{"CUDA_VISIBLE_DEVICES", "0"}, {"SLURM_GPUS_PER_TASK", "1"}}, 2), "2");
  EXPECT_EQ(of_rank(gpus, {{"CUDA_VISIBLE_DEVICES", "0,1"}, {"SLURM_GPUS_PER_TASK", "2"}}, 1), "2");
}

}  // namespace
}  // namespace muster::facts
