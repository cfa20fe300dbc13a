#include "emit/k8s.hpp"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

namespace muster::emit {
namespace {

K8sJob small_job() {
  return {.name = "pi", .image = "example.org/pi:1", .pods = 2, .program = {"python3", "pi.py"}};
}

K8sJob large_job() {
  K8sJob job = small_job();
  job.name_space = "team";
  job.queue = "research";
  job.gpus = 8;
  job.rdma = {"rdma/rdma=1"};
  job.cpu = "32";
  job.memory = "256Gi";
  job.shm = "64Gi";
  job.networks = "kube-system/roce";
  job.interface = "net1";
  job.claims = {"scratch:/scratch"};
  job.variables = {"NCCL_DEBUG=INFO"};
  return job;
}

std::string text_of(const K8sJob& job) {
  const auto text = to_yaml(job);
  return text ? *text : "refused: " + text.error().what;
}

// Returns why the job is rejected.
std::string refusal(const K8sJob& job) {
  const auto text = to_yaml(job);
  return text ? "accepted" : text.error().what;
}

YAML::Node container_of(const K8sJob& job) {
  const YAML::Node job_set = YAML::Load(text_of(job));
  return job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
                [0];
}

std::string value_of(const YAML::Node& variables, const std::string& name) {
  for (const YAML::Node& one : variables) {
    if (one["name"].as<std::string>() == name) return one["value"].as<std::string>();
  }
  return "not set";
}

TEST(JobSet, ReadsLikeOneWrittenByHand) {
  EXPECT_EQ(text_of(small_job()),
            R"(# Written by muster emit k8s. To start the job: kubectl create -f FILE
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: pi
spec:
  replicatedJobs:
    - name: node
      replicas: 1
      template:
        spec:
          parallelism: 2
          completions: 2
          completionMode: Indexed
          backoffLimit: 0
          template:
            spec:
              restartPolicy: Never
              containers:
                - name: node
                  image: "example.org/pi:1"
                  command: [muster, run, "--", python3, pi.py]
                  env:
                    - name: PET_NNODES
                      value: "2"
                    - name: PET_NODE_RANK
                      valueFrom:
                        fieldRef:
                          fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']"
                    - name: PET_NPROC_PER_NODE
                      value: "1"
                    - name: PET_MASTER_ADDR
                      value: pi-node-0-0.pi
                    - name: PET_MASTER_PORT
                      value: "29500"
)");
}

TEST(JobSet, HasOneRankPerGpuUnlessToldOtherwise) {
  K8sJob job = large_job();
  EXPECT_EQ(value_of(container_of(job)["env"], "PET_NPROC_PER_NODE"), "8");
  job.ranks_per_pod = 4;
  EXPECT_EQ(value_of(container_of(job)["env"], "PET_NPROC_PER_NODE"), "4");
}

TEST(JobSet, AsksForDevicesAndTheRightToLockMemory) {
  const YAML::Node container = container_of(large_job());
  EXPECT_EQ(container["resources"]["limits"]["nvidia.com/gpu"].as<std::string>(), "8");
  EXPECT_EQ(container["resources"]["limits"]["rdma/rdma"].as<std::string>(), "1");
  EXPECT_EQ(container["resources"]["requests"]["cpu"].as<std::string>(), "32");
  EXPECT_EQ(container["securityContext"]["capabilities"]["add"][0].as<std::string>(), "IPC_LOCK");
  EXPECT_FALSE(container_of(small_job())["securityContext"]);
}

TEST(JobSet, TellsNcclAndGlooTheInterface) {
  const YAML::Node variables = container_of(large_job())["env"];
  EXPECT_EQ(value_of(variables, "NCCL_SOCKET_IFNAME"), "=net1");
  EXPECT_EQ(value_of(variables, "GLOO_SOCKET_IFNAME"), "net1");
  EXPECT_EQ(value_of(variables, "NCCL_DEBUG"), "INFO");
}

TEST(JobSet, IsRestartedAsAWhole) {
  K8sJob job = small_job();
  job.max_restarts = 3;
  const YAML::Node spec = YAML::Load(text_of(job))["spec"];
  EXPECT_EQ(spec["failurePolicy"]["maxRestarts"].as<int>(), 3);
  EXPECT_EQ(spec["replicatedJobs"][0]["template"]["spec"]["backoffLimit"].as<int>(), 0);
}

TEST(Command, OfMusterItselfRunsAsItIs) {
  K8sJob job = small_job();
  job.program = {"muster", "bench", "all-reduce", "--table"};
  EXPECT_EQ(container_of(job)["command"].as<std::vector<std::string>>(), job.program);
}

// Kubernetes replaces $$ with $, and $(NAME) with the value of a variable.
TEST(Command, IsNotExpandedByKubernetes) {
  K8sJob job = small_job();
  job.program = {"sh", "-c", "echo $RANK", "echo $(date) $$"};
  job.variables = {"A=$(B)", "C=$D"};
  const YAML::Node container = container_of(job);
  EXPECT_EQ(container["command"][5].as<std::string>(), "echo $RANK");
  EXPECT_EQ(container["command"][6].as<std::string>(), "echo $$(date) $$$$");
  EXPECT_EQ(value_of(container["env"], "A"), "$$(B)");
  EXPECT_EQ(value_of(container["env"], "C"), "$D");
}

TEST(Command, StaysTextWhateverItLooksLike) {
  K8sJob job = small_job();
  job.program = {"python3", "-c", "print('a: b')\nprint(1)", "yes", "1", "#", "\xc3\xa9"};
  const auto words = container_of(job)["command"].as<std::vector<std::string>>();
  EXPECT_EQ(std::vector<std::string>(words.begin() + 3, words.end()), job.program);
  EXPECT_EQ(container_of(job)["command"][6].Tag(), "!");  // quoted
}

TEST(TrainJob, LeavesTheNumbersToItsRuntime) {
  K8sJob job = large_job();
  job.kind = K8sJob::Kind::kTrainJob;
  const YAML::Node spec = YAML::Load(text_of(job))["spec"];
  EXPECT_EQ(spec["runtimeRef"]["name"].as<std::string>(), "torch-distributed");
  EXPECT_EQ(spec["trainer"]["numNodes"].as<int>(), 2);
  EXPECT_EQ(spec["trainer"]["numProcPerNode"].as<int>(), 8);
  EXPECT_EQ(value_of(spec["trainer"]["env"], "PET_NNODES"), "not set");
  // The Trainer requires a name with a domain and a path.
  EXPECT_EQ(spec["runtimePatches"][0]["manager"].as<std::string>(), "muster/emit");
  const YAML::Node patch = spec["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"];
  const YAML::Node pod = patch["replicatedJobs"][0]["template"]["spec"]["template"];
  EXPECT_EQ(pod["spec"]["volumes"].size(), 2U);
  EXPECT_EQ(pod["spec"]["containers"][0]["volumeMounts"][0]["mountPath"].as<std::string>(),
            "/dev/shm");
}

TEST(TrainJob, PatchesNothingThatItNeedNot) {
  K8sJob job = small_job();
  job.kind = K8sJob::Kind::kTrainJob;
  EXPECT_FALSE(YAML::Load(text_of(job))["spec"]["runtimePatches"]);
}

TEST(Refusal, NamesTheFlagTheValueAndTheReason) {
  K8sJob job = small_job();
  job.memory = "16GB";
  EXPECT_EQ(refusal(job), "cannot use --memory '16GB': 'GB' is no unit of Kubernetes; write 16Gi");
}

TEST(Refusal, OfANameThatLeavesNoRoomForThePods) {
  K8sJob job = small_job();
  job.name = std::string(48, 'a');
  EXPECT_EQ(refusal(job), "accepted");
  job.pods = 11;
  EXPECT_EQ(refusal(job).find("take a name of at most 47") != std::string::npos, true)
      << refusal(job);
}

TEST(Refusal, OfMoreSharedMemoryThanMemory) {
  K8sJob job = small_job();
  job.memory = "8Gi";
  job.shm = "9000Mi";
  EXPECT_NE(refusal(job).find("counts as its memory"), std::string::npos) << refusal(job);
}

TEST(Refusal, OfWhatATrainJobCannotSay) {
  K8sJob job = small_job();
  job.kind = K8sJob::Kind::kTrainJob;
  job.max_restarts = 1;
  EXPECT_NE(refusal(job).find("failurePolicy"), std::string::npos) << refusal(job);
  job.max_restarts = 0;
  job.pull_policy = "Never";
  EXPECT_NE(refusal(job).find("imagePullPolicy"), std::string::npos) << refusal(job);
}

// The value may be a secret.
TEST(Refusal, ShowsNoValueOfAVariable) {
  K8sJob job = small_job();
  job.variables = {"BAD-NAME=secret"};
  EXPECT_EQ(refusal(job).find("secret"), std::string::npos) << refusal(job);
  job.variables = {"TOKEN=secret\x01"};
  EXPECT_EQ(refusal(job).find("secret"), std::string::npos) << refusal(job);
}

}  // namespace
}  // namespace muster::emit
