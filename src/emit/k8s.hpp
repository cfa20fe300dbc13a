// A job in pods, written as an object that Kubernetes starts: a JobSet, or a TrainJob of Kubeflow's
// Trainer. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace muster::emit {

// Texts are as the user typed them; an empty one was not given.
struct K8sJob {
  enum class Kind { kJobSet, kTrainJob };

  Kind kind = Kind::kJobSet;
  std::string name = {};
  std::string name_space = {};
  std::string image = {};
  std::string pull_policy = {};  // "Always", "IfNotPresent" or "Never"
  std::string queue = {};        // of Kueue
  std::string runtime = {};      // that a TrainJob refers to; empty: "torch-distributed"
  int pods = 1;
  int ranks_per_pod = 0;  // 0: one per GPU, or one
  int gpus = 0;           // per pod
  std::string gpu_resource = "nvidia.com/gpu";
  std::vector<std::string> rdma = {};  // NAME=COUNT per pod
  std::string cpu = {};
  std::string memory = {};
  std::string shm = {};                     // size of /dev/shm
  std::string networks = {};                // additional ones, as Multus names them
  std::string interface = {};               // for NCCL and Gloo
  std::vector<std::string> claims = {};     // CLAIM:/PATH
  std::vector<std::string> variables = {};  // NAME=VALUE
  int max_restarts = 0;                     // of the whole JobSet
  int port = 29500;                         // at which the pods of a JobSet meet
  std::vector<std::string> program = {};    // one that begins with "muster" runs as it is
};

// The object as YAML. An Error names the flag whose value Kubernetes would refuse, and the reason.
[[nodiscard]] Result<std::string> to_yaml(const K8sJob& job);

}  // namespace muster::emit
