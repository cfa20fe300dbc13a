#include "emit/k8s.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "base/printable.hpp"
#include "emit/k8s_quantities.hpp"
#include "emit/k8s_values.hpp"

namespace muster::emit {
namespace {

using Json = nlohmann::ordered_json;  // keeps the keys in a readable order

constexpr std::size_t kLongestPodName = 63;
constexpr std::size_t kLongestQueue = 63;  // its name becomes the value of a label
constexpr std::size_t kShown = 60;
// The Trainer's own runtimes use this name for the job of the training pods and for its container.
constexpr const char* kNode = "node";
constexpr const char* kUsualRuntime = "torch-distributed";
constexpr const char* kShmPath = "/dev/shm";

// The two parts of "left=right". Without a separator, `right` is empty and `whole` is false.
struct Halves {
  std::string left;
  std::string right;
  bool whole = false;
};

Halves halves_of(const std::string& text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string::npos) return {.left = text};
  return {.left = text.substr(0, at), .right = text.substr(at + 1), .whole = true};
}

unexpected<Error> refused(std::string_view flag, std::string_view value, std::string_view reason) {
  const std::string cut = printable(value.substr(0, kShown));
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = fmt::format("cannot use {} '{}{}': {}", flag, cut,
                                              value.size() > kShown ? "..." : "", reason)});
}

Result<void> check(std::string_view flag, std::string_view value, const Refusal& refusal) {
  if (!refusal) return {};
  return refused(flag, value, *refusal);
}

// Like check, for a flag that is optional.
Result<void> check_given(std::string_view flag, std::string_view value,
                         Refusal (*refuse)(std::string_view)) {
  if (value.empty()) return {};
  return check(flag, value, refuse(value));
}

int ranks_per_pod(const K8sJob& job) {
  return job.ranks_per_pod > 0 ? job.ranks_per_pod : std::max(job.gpus, 1);
}

// Limits the name so that pod names fit: a Job appends the pod's number and five random characters.
Result<void> check_name(const K8sJob& job) {
  MUSTER_CHECK(check("--name", job.name, refuse_service_name(job.name)));
  const std::string rest = fmt::format("-{}-0-{}-xxxxx", kNode, job.pods - 1);
  if (job.name.size() + rest.size() <= kLongestPodName) return {};
  return refused("--name", job.name,
                 fmt::format("its pods would be named NAME{}, which is longer than {} characters; "
                             "take a name of at most {}",
                             rest, kLongestPodName, kLongestPodName - rest.size()));
}

Result<void> check_names(const K8sJob& job) {
  MUSTER_CHECK(check_name(job));
  MUSTER_CHECK(check_given("--namespace", job.name_space, refuse_label));
  MUSTER_CHECK(check("--image", job.image, refuse_image(job.image)));
  if (job.queue.empty()) return {};
  return check("--queue", job.queue, refuse_subdomain(job.queue, kLongestQueue));
}

Result<void> check_devices(const K8sJob& job) {
  MUSTER_CHECK(check("--gpu-resource", job.gpu_resource, refuse_resource_name(job.gpu_resource)));
  std::set<std::string> names;
  if (job.gpus > 0) names.insert(job.gpu_resource);
  for (const std::string& one : job.rdma) {
    const Halves halves = halves_of(one, '=');
    if (!halves.whole) {
      return refused("--rdma", one, "write the resource and how many of it, such as rdma/rdma=1");
    }
    MUSTER_CHECK(check("--rdma", one, refuse_resource_name(halves.left)));
    MUSTER_CHECK(check("--rdma", one, refuse_device_count(halves.right)));
    if (!names.insert(halves.left).second) {
      return refused("--rdma", one, "this resource is named twice");
    }
  }
  return {};
}

Result<void> check_amounts(const K8sJob& job) {
  MUSTER_CHECK(check_given("--cpu", job.cpu, refuse_cpu));
  MUSTER_CHECK(check_given("--memory", job.memory, refuse_bytes));
  MUSTER_CHECK(check_given("--shm", job.shm, refuse_bytes));
  if (job.shm.empty() || job.memory.empty() || bytes_of(job.shm) <= bytes_of(job.memory)) return {};
  return refused(
      "--shm", job.shm,
      fmt::format("what a pod writes to {} counts as its memory, and --memory is only {}", kShmPath,
                  job.memory));
}

Result<void> check_claims(const K8sJob& job) {
  std::set<std::string> paths;
  if (!job.shm.empty()) paths.insert(kShmPath);
  for (const std::string& one : job.claims) {
    const Halves halves = halves_of(one, ':');
    if (!halves.whole) return refused("--pvc", one, "write CLAIM:/PATH");
    MUSTER_CHECK(check("--pvc", one, refuse_subdomain(halves.left)));
    MUSTER_CHECK(check("--pvc", one, refuse_mount_path(halves.right)));
    if (!paths.insert(halves.right).second) {
      return refused("--pvc", one, fmt::format("{} is mounted twice", halves.right));
    }
  }
  return {};
}

// Error messages do not show the values, which may be secret.
Result<void> check_variables(const K8sJob& job) {
  std::set<std::string> names;
  if (!job.interface.empty()) names = {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"};
  for (const std::string& one : job.variables) {
    const Halves halves = halves_of(one, '=');
    if (!halves.whole) {
      return refused("-x", one, "the pods do not have your environment; write NAME=value");
    }
    MUSTER_CHECK(check("-x", halves.left, refuse_variable_name(halves.left)));
    MUSTER_CHECK(check("-x", halves.left, refuse_text(halves.right)));
    if (!names.insert(halves.left).second) return refused("-x", halves.left, "it is set twice");
  }
  return {};
}

Result<void> check_program(const K8sJob& job) {
  if (job.program.empty() || job.program.front().empty()) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "there is no program to run in the pods",
                            .hint = "muster emit k8s FLAGS -- python3 train.py"});
  }
  for (const std::string& word : job.program) {
    MUSTER_CHECK(check("the argument", word, refuse_text(word)));
  }
  return {};
}

// Rejects options that only the other kind of object supports.
Result<void> check_kind(const K8sJob& job) {
  if (job.kind == K8sJob::Kind::kJobSet) {
    if (job.runtime.empty()) return {};
    return refused("--runtime", job.runtime, "only a TrainJob has a runtime; add --kind trainjob");
  }
  MUSTER_CHECK(check_given("--runtime", job.runtime,
                           [](std::string_view name) { return refuse_subdomain(name); }));
  if (job.max_restarts > 0) {
    return refused("--max-restarts", std::to_string(job.max_restarts),
                   "a TrainJob is restarted as its runtime says; set failurePolicy there, or leave "
                   "--kind trainjob out");
  }
  if (!job.pull_policy.empty()) {
    return refused("--pull-policy", job.pull_policy,
                   "a TrainJob cannot say it; set imagePullPolicy in its runtime, or leave --kind "
                   "trainjob out");
  }
  if (job.port == K8sJob().port) return {};
  return refused("--master-port", std::to_string(job.port),
                 "the runtime of a TrainJob chooses the port; leave the flag out");
}

Result<void> check_all(const K8sJob& job) {
  MUSTER_CHECK(check_names(job));
  MUSTER_CHECK(check_devices(job));
  MUSTER_CHECK(check_amounts(job));
  MUSTER_CHECK(check_given("--network", job.networks, refuse_networks));
  MUSTER_CHECK(check_given("--interface", job.interface, refuse_interface));
  MUSTER_CHECK(check_claims(job));
  MUSTER_CHECK(check_variables(job));
  MUSTER_CHECK(check_kind(job));
  return check_program(job);
}

// Doubles "$", because Kubernetes replaces $(NAME) in commands and values and reads "$$" as "$".
std::string unexpanded(const std::string& text) {
  if (text.find("$(") == std::string::npos && text.find("$$") == std::string::npos) return text;
  std::string doubled;
  for (const char c : text) doubled.append(c == '$' ? 2 : 1, c);
  return doubled;
}

Json command_of(const K8sJob& job) {
  Json words = Json::array();
  if (job.program.front() != "muster") words = {"muster", "run", "--"};
  for (const std::string& word : job.program) words.push_back(unexpanded(word));
  return words;
}

Json variable(const std::string& name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

// Returns torchrun's variables, from which muster learns the pod's number and how many pods there
// are. In a TrainJob, the runtime sets them.
Json numbers_of(const K8sJob& job) {
  constexpr const char* kIndex = "metadata.annotations['batch.kubernetes.io/job-completion-index']";
  return Json::array(
      {variable("PET_NNODES", std::to_string(job.pods)),
       {{"name", "PET_NODE_RANK"}, {"valueFrom", {{"fieldRef", {{"fieldPath", kIndex}}}}}},
       variable("PET_NPROC_PER_NODE", std::to_string(ranks_per_pod(job))),
       variable("PET_MASTER_ADDR", fmt::format("{0}-{1}-0-0.{0}", job.name, kNode)),
       variable("PET_MASTER_PORT", std::to_string(job.port))});
}

void add_variables(const K8sJob& job, Json& variables) {
  if (!job.interface.empty()) {
    variables.push_back(variable("GLOO_SOCKET_IFNAME", job.interface));
    // "=" matches only this exact name.
    variables.push_back(variable("NCCL_SOCKET_IFNAME", "=" + job.interface));
  }
  for (const std::string& one : job.variables) {
    const Halves halves = halves_of(one, '=');
    variables.push_back(variable(halves.left, unexpanded(halves.right)));
  }
}

// Memory and devices get a limit, which Kubernetes also takes as the request. CPUs are only
// requested, because a limit would slow ranks down even if CPUs are idle.
Json resources_of(const K8sJob& job) {
  Json limits = Json::object();
  if (!job.memory.empty()) limits["memory"] = job.memory;
  if (job.gpus > 0) limits[job.gpu_resource] = std::to_string(job.gpus);
  for (const std::string& one : job.rdma) {
    const Halves halves = halves_of(one, '=');
    limits[halves.left] = halves.right;
  }
  Json resources = Json::object();
  if (!job.cpu.empty()) resources["requests"] = {{"cpu", job.cpu}};
  if (!limits.empty()) resources["limits"] = std::move(limits);
  return resources;
}

std::string volume_name(std::size_t number) {
  return fmt::format("claim-{}", number);
}

Json volumes_of(const K8sJob& job) {
  Json volumes = Json::array();
  if (!job.shm.empty()) {
    volumes.push_back(
        {{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", job.shm}}}});
  }
  for (std::size_t i = 0; i < job.claims.size(); ++i) {
    const std::string claim = halves_of(job.claims[i], ':').left;
    volumes.push_back(
        {{"name", volume_name(i)}, {"persistentVolumeClaim", {{"claimName", claim}}}});
  }
  return volumes;
}

Json mounts_of(const K8sJob& job) {
  Json mounts = Json::array();
  if (!job.shm.empty()) mounts.push_back({{"name", "shm"}, {"mountPath", kShmPath}});
  for (std::size_t i = 0; i < job.claims.size(); ++i) {
    mounts.push_back(
        {{"name", volume_name(i)}, {"mountPath", halves_of(job.claims[i], ':').right}});
  }
  return mounts;
}

void set_if_any(Json& object, const char* key, Json value) {
  if (!value.empty()) object[key] = std::move(value);
}

// Adds what a container needs in both kinds of object. RDMA locks memory, which requires a
// capability.
void add_mounts_and_rights(const K8sJob& job, Json& container) {
  if (!job.rdma.empty()) {
    container["securityContext"] = {{"capabilities", {{"add", Json::array({"IPC_LOCK"})}}}};
  }
  set_if_any(container, "volumeMounts", mounts_of(job));
}

Json annotations_of(const K8sJob& job) {
  if (job.networks.empty()) return Json::object();
  return {{"annotations", {{"k8s.v1.cni.cncf.io/networks", job.networks}}}};
}

Json metadata_of(const K8sJob& job) {
  Json metadata = {{"name", job.name}};
  if (!job.name_space.empty()) metadata["namespace"] = job.name_space;
  if (!job.queue.empty()) metadata["labels"] = {{"kueue.x-k8s.io/queue-name", job.queue}};
  return metadata;
}

Json pod_template(const K8sJob& job) {
  Json container = {{"name", kNode}, {"image", job.image}};
  if (!job.pull_policy.empty()) container["imagePullPolicy"] = job.pull_policy;
  container["command"] = command_of(job);
  container["env"] = numbers_of(job);
  add_variables(job, container["env"]);
  set_if_any(container, "resources", resources_of(job));
  add_mounts_and_rights(job, container);
  Json spec = {{"restartPolicy", "Never"}, {"containers", Json::array({std::move(container)})}};
  set_if_any(spec, "volumes", volumes_of(job));
  Json pod = Json::object();
  set_if_any(pod, "metadata", annotations_of(job));
  pod["spec"] = std::move(spec);
  return pod;
}

// The pods belong to one Indexed Job and are not replaced one by one: the ranks of a lost pod take
// part in every collective, so the whole set must restart or fail.
Json job_set(const K8sJob& job) {
  Json spec = Json::object();
  if (job.max_restarts > 0) spec["failurePolicy"] = {{"maxRestarts", job.max_restarts}};
  const Json pods = {{"parallelism", job.pods},
                     {"completions", job.pods},
                     {"completionMode", "Indexed"},
                     {"backoffLimit", 0},
                     {"template", pod_template(job)}};
  spec["replicatedJobs"] =
      Json::array({{{"name", kNode}, {"replicas", 1}, {"template", {{"spec", pods}}}}});
  return {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
          {"kind", "JobSet"},
          {"metadata", metadata_of(job)},
          {"spec", std::move(spec)}};
}

// A TrainJob has no fields for some properties of its pods, so they become patches of its runtime.
// Empty if there are none.
Json runtime_patches(const K8sJob& job) {
  Json container = {{"name", kNode}};
  add_mounts_and_rights(job, container);
  Json spec = Json::object();
  set_if_any(spec, "volumes", volumes_of(job));
  if (container.size() > 1) spec["containers"] = Json::array({std::move(container)});
  Json pod = Json::object();
  set_if_any(pod, "metadata", annotations_of(job));
  set_if_any(pod, "spec", std::move(spec));
  if (pod.empty()) return Json::array();
  const Json jobs =
      Json::array({{{"name", kNode}, {"template", {{"spec", {{"template", std::move(pod)}}}}}}});
  return Json::array(
      {{{"manager", "muster/emit"},
        {"trainingRuntimeSpec", {{"template", {{"spec", {{"replicatedJobs", jobs}}}}}}}}});
}

Json train_job(const K8sJob& job) {
  Json variables = Json::array();
  add_variables(job, variables);
  Json trainer = {{"image", job.image}, {"command", command_of(job)}};
  set_if_any(trainer, "env", std::move(variables));
  trainer["numNodes"] = job.pods;
  trainer["numProcPerNode"] = ranks_per_pod(job);
  set_if_any(trainer, "resourcesPerNode", resources_of(job));
  Json spec = {{"runtimeRef", {{"name", job.runtime.empty() ? kUsualRuntime : job.runtime}}},
               {"trainer", std::move(trainer)}};
  set_if_any(spec, "runtimePatches", runtime_patches(job));
  return {{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
          {"kind", "TrainJob"},
          {"metadata", metadata_of(job)},
          {"spec", std::move(spec)}};
}

// Whether YAML reads the unquoted text as this string. False if in doubt.
bool is_plain(const std::string& text) {
  constexpr std::array kOtherMeanings = {"true", "false", "yes", "no", "on",
                                         "off",  "null",  "y",   "n"};
  const auto is_ascii_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto is_good = [&](char c) {
    return is_ascii_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("._/-").find(c) != std::string_view::npos;
  };
  if (text.empty() || !is_ascii_letter(text.front())) return false;
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return std::all_of(text.begin(), text.end(), is_good) &&
         std::find(kOtherMeanings.begin(), kOtherMeanings.end(), lower) == kOtherMeanings.end();
}

void write_text(YAML::Emitter& out, const std::string& text) {
  if (!is_plain(text)) out << YAML::DoubleQuoted;
  out << text;
}

void write(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, one] : value.items()) {
      out << YAML::Key;
      write_text(out, key);
      out << YAML::Value;
      write(out, one);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    if (!value.empty() && value.front().is_string()) out << YAML::Flow;  // a command, on one line
    out << YAML::BeginSeq;
    for (const Json& one : value) write(out, one);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    write_text(out, value.get<std::string>());
  } else {
    out << value.get<int>();
  }
}

}  // namespace

Result<std::string> to_yaml(const K8sJob& job) {
  MUSTER_CHECK(check_all(job));
  YAML::Emitter out;
  write(out, job.kind == K8sJob::Kind::kJobSet ? job_set(job) : train_job(job));
  if (!out.good()) {
    return unexpected(Error{.what = "cannot write the object as YAML: " + out.GetLastError()});
  }
  return fmt::format("# Written by muster emit k8s. To start the job: kubectl create -f FILE\n{}\n",
                     out.c_str());
}

}  // namespace muster::emit
