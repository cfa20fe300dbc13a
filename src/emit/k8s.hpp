// Writes a job as an object that Kubernetes runs in pods: a JobSet, or a TrainJob of Kubeflow's
// Trainer. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace muster::emit {

// Texts are as the user typed them. An empty text means that the option was not given.
struct K8sJob {
  enum class Kind { kJobSet, kTrainJob };

  Kind kind = Kind::kJobSet;
  std::string name = {};
  std::string name_space = {};
  std::string image = {};
  std::string pull_policy = {};  // "Always", "IfNotPresent" or "Never"
  std::string queue = {};        // a queue of Kueue
  std::string runtime = {};      // runtime to which a TrainJob refers; empty: "torch-distributed"
  int pods = 1;
  int ranks_per_pod = 0;  // 0: one per GPU, or one if there is none
  int gpus = 0;           // per pod
  std::string gpu_resource = "nvidia.com/gpu";
  std::vector<std::string> rdma = {};  // NAME=COUNT per pod
  std::string cpu = {};
  std::string memory = {};
  std::string shm = {};                     // size of /dev/shm, such as 16Gi
  std::string networks = {};                // additional networks, in Multus' form
  std::string interface = {};               // for NCCL and Gloo
  std::vector<std::string> claims = {};     // CLAIM:/PATH
  std::vector<std::string> variables = {};  // NAME=VALUE
  int max_restarts = 0;                     // restarts of the whole JobSet
  int port = 29500;                         // port of the rendezvous of a JobSet's pods
  std::vector<std::string> program = {};    // run by muster, unless it begins with "muster"
};

// Returns the object as YAML. An Error names the flag with a value that Kubernetes would reject,
// and why.
[[nodiscard]] Result<std::string> to_yaml(const K8sJob& job);

}  // namespace muster::emit
