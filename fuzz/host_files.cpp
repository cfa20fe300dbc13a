// The files and program outputs that the agent reads on a host.
#include <array>
#include <cstring>
#include <string>

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "facts/activation.hpp"
#include "facts/amd_smi.hpp"
#include "facts/cpu.hpp"
#include "facts/elf.hpp"
#include "facts/gpus.hpp"
#include "facts/host_values.hpp"
#include "facts/interpreter.hpp"
#include "facts/libraries.hpp"
#include "facts/listeners.hpp"
#include "facts/mpi_identity.hpp"
#include "facts/netlink.hpp"
#include "facts/nvidia_smi.hpp"
#include "facts/pci.hpp"
#include "facts/python_imports.hpp"
#include "facts/pytorch.hpp"
#include "facts/torch_build.hpp"
#include "facts/users.hpp"
#include "facts/visible_gpus.hpp"
#include "facts/xids.hpp"
#include "remote/ignore.hpp"
#include "require.hpp"
#include "sys/process_stat.hpp"

namespace muster::fuzz {
namespace {

bool is_inside(std::string_view part, std::string_view whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

void check_activation(std::string_view text) {
  constexpr std::string_view kMark = "muster-0";
  const auto variables = facts::parse_environment(text, kMark);
  if (!variables) return;
  for (const auto& [name, value] : *variables) {
    require(!name.empty() && name.find('=') == std::string::npos, "only good names");
    require(value.find('\0') == std::string::npos, "a value ends at its NUL");
  }
  (void)facts::changed_digest({}, *variables);
  (void)facts::seen_values(*variables);
}

void check_elf(std::string_view text) {
  require(is_inside(facts::elf_constants(text), text), "constants are in the file");
  if (const auto loader = facts::elf_interpreter(text)) {
    require(facts::is_elf(text) && loader->find('\0') == std::string::npos, "a loader is a path");
  }
  require(facts::is_elf(text) || facts::elf_architecture(text).empty(), "only ELF has one");
  (void)facts::identify_mpi(facts::elf_constants(text));
}

void check_answer_of_mpi(std::string_view text) {
  const facts::MpiIdentity found = facts::identify_mpi_answer(text);
  require(found.kind.empty() || is_printable(found.version), "a version is printable");
}

void check_netlink(std::string_view text) {
  facts::Answers answers;
  (void)facts::take_messages(text, sizeof(ifinfomsg), answers);
  for (const facts::Message& message : answers.messages) {
    require(message.fixed.size() == sizeof(ifinfomsg), "the fixed part is whole");
    for (const auto& [type, bytes] : message.attributes) {
      require(is_inside(bytes, text), "attributes are in the message");
      (void)facts::value_of<std::uint32_t>(bytes);
      (void)facts::ip_text(AF_INET, bytes);
      (void)facts::ip_text(AF_INET6, bytes);
    }
  }
}

void check_loader(std::string_view text) {
  const facts::Libraries libraries = facts::parse_loaded(text);
  require(libraries.libmpi.size() <= text.size(), "bounded");
}

void check_listeners(std::string_view text) {
  for (const facts::ListeningSocket& socket : facts::parse_listening(text)) {
    require(is_printable(socket.address), "an address is printable");
  }
}

void check_small_files(std::string_view text) {
  (void)facts::parse_passwd(text);
  (void)facts::parse_os_release(text);
  (void)facts::parse_ahosts(text);
  facts::Cpu cpu;
  facts::read_cpuinfo(text, cpu);
  (void)facts::read_cpu_quota(text, "/nonexistent");
  (void)sys::parse_process_stat(text);
}

void check_script(std::string_view text) {
  if (const auto shebang = facts::parse_shebang(text)) {
    require(shebang->interpreter.size() + shebang->argument.size() < 256, "the kernel's limit");
  }
  for (const facts::Import& import : facts::python_imports(text)) {
    require(import.dots > 0 || !import.module.empty(), "an import names a module");
  }
}

void check_ignore_file(std::string_view text) {
  const remote::IgnoreFile file{.depth = 0, .patterns = remote::parse_ignore_file(text)};
  const std::array<std::string, 3> path = {"a", "build", "model.bin"};
  (void)remote::is_ignored(path, false, std::span(&file, 1));
}

void require_sound(const facts::Gpu& gpu) {
  require(gpu.pci.empty() || facts::pci_address(gpu.pci) == gpu.pci, "an address has one form");
  for (const std::string& text : {gpu.model, gpu.uuid, gpu.fabric_state}) {
    require(is_printable(text), "what a tool says is printable");
  }
  require(gpu.memory_bytes >= -1 && gpu.memory_used_bytes >= -1, "memory is not negative");
  require(gpu.pcie_width >= 0 && gpu.pcie_width <= 64, "a link has a few lanes");
}

std::vector<facts::Gpu> two_gpus() {
  std::vector<facts::Gpu> gpus(2);
  gpus[0] = {.vendor = "NVIDIA", .model = "m", .pci = "0000:1b:00.0", .uuid = "GPU-0"};
  gpus[1] = {.vendor = "AMD", .model = "m", .pci = "0000:43:00.0", .uuid = "GPU-1"};
  return gpus;
}

void check_nvidia(std::string_view text) {
  const std::string refused = facts::refused_field(text);
  const facts::SmiFields fields = facts::without_field(facts::wanted_fields(), refused);
  for (const facts::SmiRow& row : facts::parse_smi_rows(fields, text)) require_sound(row.gpu);
  for (const auto& [pci, said] : facts::parse_lost_gpus(text)) {
    require(is_printable(said), "what a tool says is printable");
  }
  for (const facts::SmiProcess& one : facts::parse_smi_processes(text)) {
    require(one.process.pid > 0, "a process has a number");
  }
  std::vector<facts::Gpu> gpus = two_gpus();
  facts::take_remapped_rows(text, gpus);
  facts::take_nvlinks(text, gpus);
  facts::take_mig_devices(text, gpus);
  for (const auto& [pci, xids] : facts::parse_xids(text, 100)) {
    require(facts::pci_address(pci) == pci && !xids.empty(), "an error has a place");
  }
  (void)facts::nvidia_driver_version(text);
  const facts::GpuVariables variables = {{"CUDA_VISIBLE_DEVICES", std::string(text)},
                                         {"SLURM_GPUS_PER_TASK", std::string(text)}};
  require(facts::count_gpus(gpus, variables) >= 0, "a count is not negative");
  (void)facts::gpu_of_rank(gpus, variables, 1);
}

void check_amd(std::string_view text) {
  std::vector<facts::Gpu> gpus = two_gpus();
  facts::AmdNumbers numbers;
  (void)facts::take_amd_static(text, gpus, numbers);
  numbers.pci.emplace_back(0, "0000:43:00.0");
  (void)facts::take_amd_metric(text, numbers, gpus);
  (void)facts::take_amd_processes(text, numbers, gpus);
  for (const facts::Gpu& gpu : gpus) require_sound(gpu);
  require(is_printable(numbers.driver), "what a tool says is printable");
  (void)facts::nccl_version_in_header(text);
  (void)facts::version_behind(text, "NCCL version ");
  (void)facts::value_in_version_py(text, "cuda");
}

constexpr std::array<Check, 11> kChecks = {check_activation,  check_elf,    check_answer_of_mpi,
                                           check_netlink,     check_loader, check_listeners,
                                           check_small_files, check_script, check_ignore_file,
                                           check_nvidia,      check_amd};

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return muster::fuzz::run_chosen(muster::fuzz::kChecks, data, size);
}
