#include "cli/emit_k8s_command.hpp"

#include <memory>

#include "emit/k8s.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

using emit::K8sJob;

constexpr int kMostPods = 100'000;  // the most that an Indexed Job can have
constexpr int kMostInPod = 1024;
constexpr int kMostRestarts = 1000;
constexpr const char* kJob = "Job";
constexpr const char* kPod = "Each pod";
constexpr const char* kNetwork = "Network";

void add_job_flags(CLI::App& command, K8sJob& job) {
  command.add_option("--name", job.name, "Name of the object")
      ->required()
      ->type_name("NAME")
      ->group(kJob);
  command.add_option("--namespace", job.name_space, "Namespace; default: that of kubectl")
      ->type_name("NAME")
      ->group(kJob);
  command
      .add_option_function<std::string>(
          "--kind",
          [&job](const std::string& kind) {
            job.kind = kind == "trainjob" ? K8sJob::Kind::kTrainJob : K8sJob::Kind::kJobSet;
          },
          "Object to write; default: jobset")
      ->check(CLI::IsMember({"jobset", "trainjob"}))
      ->group(kJob);
  command
      .add_option("--runtime", job.runtime,
                  "For a TrainJob: the runtime that it refers to; default: torch-distributed")
      ->type_name("NAME")
      ->group(kJob);
  command.add_option("-N,--nnodes,--nodes,--pods", job.pods, "Number of pods")
      ->check(CLI::Range(1, kMostPods))
      ->type_name("N")
      ->capture_default_str()
      ->group(kJob);
  command.add_option("--queue", job.queue, "Local queue of Kueue that admits the job")
      ->type_name("NAME")
      ->group(kJob);
  command
      .add_option("--max-restarts", job.max_restarts,
                  "Restart all pods up to N times if one fails; the program must load its last "
                  "checkpoint itself")
      ->check(CLI::Range(0, kMostRestarts))
      ->type_name("N")
      ->group(kJob);
}

void add_pod_flags(CLI::App& command, K8sJob& job) {
  command.add_option("--image", job.image, "Container image with muster, PyTorch and the program")
      ->required()
      ->group(kPod);
  command.add_option("--pull-policy", job.pull_policy, "When to pull the image; one of")
      ->check(CLI::IsMember({"Always", "IfNotPresent", "Never"}))
      ->group(kPod);
  command
      .add_option("--nproc-per-node,--ppn,--ntasks-per-node", job.ranks_per_pod,
                  "Ranks in each pod; default: one per GPU, or 1")
      ->check(CLI::Range(1, kMostInPod))
      ->type_name("N")
      ->group(kPod);
  command.add_option("--gpus", job.gpus, "GPUs of each pod")
      ->check(CLI::Range(0, kMostInPod))
      ->type_name("N")
      ->group(kPod);
  command.add_option("--gpu-resource", job.gpu_resource, "Resource that stands for a GPU")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(kPod);
  command.add_option("--cpu", job.cpu, "CPUs to request, such as 8 or 500m")
      ->type_name("N")
      ->group(kPod);
  command.add_option("--memory", job.memory, "Memory limit, such as 64Gi")
      ->type_name("SIZE")
      ->group(kPod);
  command
      .add_option("--shm", job.shm,
                  "Size of /dev/shm, such as 8Gi; default: what the cluster gives, often 64 MiB")
      ->type_name("SIZE")
      ->group(kPod);
  command.add_option("--pvc", job.claims, "Volume to mount, as CLAIM:/PATH; may be repeated")
      ->take_all()
      ->expected(1)
      ->type_name("VOLUME")
      ->group(kPod);
  command
      .add_option("-x,--env", job.variables,
                  "Environment variable; may be repeated. The value is written into the object, so "
                  "do not pass secrets")
      ->take_all()
      ->expected(1)
      ->type_name("NAME=VALUE")
      ->group(kPod);
}

void add_network_flags(CLI::App& command, K8sJob& job) {
  command
      .add_option(
          "--rdma", job.rdma,
          "RDMA resource of each pod, such as rdma/rdma=1; may be repeated. Also allows the "
          "pods to lock memory (IPC_LOCK)")
      ->take_all()
      ->expected(1)
      ->type_name("NAME=N")
      ->group(kNetwork);
  command
      .add_option("--network", job.networks,
                  "Additional networks (Multus), such as kube-system/roce; comma-separated")
      ->type_name("LIST")
      ->group(kNetwork);
  command
      .add_option("--interface", job.interface,
                  "Interface in the pods for NCCL and Gloo; default: muster chooses in each pod")
      ->type_name("NAME")
      ->group(kNetwork);
  command.add_option("--master-port", job.port, "Port at which the pods find each other")
      ->check(CLI::Range(1024, 65535))
      ->type_name("N")
      ->capture_default_str()
      ->group(kNetwork);
}

}  // namespace

void add_emit_k8s(CLI::App& emit, Action& action, const Program& program) {
  auto job = std::make_shared<K8sJob>();
  CLI::App* command =
      emit.add_subcommand("k8s", "Write a JobSet or TrainJob that runs a program in pods");
  command->formatter(help_formatter("-- PROGRAM [ARGUMENTS]"));
  command->footer(
      "Each pod runs the program with muster run, or, if the program is muster, as it is: -- "
      "muster "
      "bench all-reduce --table. muster contacts no cluster; it refuses names and quantities that "
      "Kubernetes would refuse.\n\n"
      "Examples:\n"
      "  muster emit k8s --name pi --image me/torch:1 -N 2 -- python3 pi.py > pi.yaml\n"
      "  muster emit k8s --name llm --image me/torch:1 -N 4 --gpus 8 -- python3 llm.py");
  add_job_flags(*command, *job);
  add_pod_flags(*command, *job);
  add_network_flags(*command, *job);
  command->callback([job, &action, &program] {
    action = [job, &program]() -> Result<int> {
      job->program = program;
      MUSTER_TRY(const std::string text, emit::to_yaml(*job));
      sys::write_out(text);
      return 0;
    };
  });
}

}  // namespace muster::cli
