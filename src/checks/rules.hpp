// The rules. Each finds one kind of problem. Except for the rules that look at pairs of hosts,
// their cost is less than quadratic in hosts.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "checks/finding.hpp"

namespace muster::checks {

using Findings = std::vector<Finding>;

[[nodiscard]] Findings find_unreachable(const Scene& scene);
[[nodiscard]] Findings find_ssh_modes(const Scene& scene);

[[nodiscard]] Findings find_own_name(const Scene& scene);
[[nodiscard]] Findings find_no_subnet(const Scene& scene);
[[nodiscard]] Findings find_no_way_back(const Scene& scene);
[[nodiscard]] Findings find_blocked(const Scene& scene);
[[nodiscard]] Findings find_large_lost(const Scene& scene);
[[nodiscard]] Findings find_ipv6(const Scene& scene);
[[nodiscard]] Findings find_bridged_containers(const Scene& scene);
[[nodiscard]] Findings find_interfaces(const Scene& scene);
[[nodiscard]] Findings find_interface_variables(const Scene& scene);
[[nodiscard]] Findings find_same_address(const Scene& scene);
[[nodiscard]] Findings find_port(const Scene& scene);
[[nodiscard]] Findings find_rdma(const Scene& scene);
[[nodiscard]] Findings find_rail_faults(const Scene& scene);
[[nodiscard]] Findings find_rail_mtu(const Scene& scene);
[[nodiscard]] Findings find_rail_variables(const Scene& scene);

[[nodiscard]] Findings find_engine(const Scene& scene);
[[nodiscard]] Findings find_libmpi(const Scene& scene);
[[nodiscard]] Findings find_torch(const Scene& scene);
[[nodiscard]] Findings find_program(const Scene& scene);
[[nodiscard]] Findings find_script(const Scene& scene);
[[nodiscard]] Findings find_software(const Scene& scene);
[[nodiscard]] Findings find_folder(const Scene& scene);
[[nodiscard]] Findings find_activation(const Scene& scene);
[[nodiscard]] Findings find_environment(const Scene& scene);

[[nodiscard]] Findings find_cpu(const Scene& scene);
[[nodiscard]] Findings find_oversubscription(const Scene& scene);
[[nodiscard]] Findings find_shm(const Scene& scene);
[[nodiscard]] Findings find_nofile(const Scene& scene);
[[nodiscard]] Findings find_memlock(const Scene& scene);
[[nodiscard]] Findings find_capabilities(const Scene& scene);
[[nodiscard]] Findings find_hidden_rdma(const Scene& scene);
[[nodiscard]] Findings find_clock(const Scene& scene);
[[nodiscard]] Findings find_gpu_health(const Scene& scene);
[[nodiscard]] Findings find_gpu_peers(const Scene& scene);
[[nodiscard]] Findings find_gpu_software(const Scene& scene);
[[nodiscard]] Findings find_changes(const Scene& scene);
[[nodiscard]] Findings find_not_seen(const Scene& scene);

// In the order in which their findings are shown.
inline constexpr std::array kRules = {Rule{"unreachable", find_unreachable},
                                      Rule{"ssh-modes", find_ssh_modes},
                                      Rule{"activation", find_activation},  // before its effects
                                      Rule{"own-name", find_own_name},
                                      Rule{"no-subnet", find_no_subnet},
                                      Rule{"way-back", find_no_way_back},
                                      Rule{"bridged-containers", find_bridged_containers},
                                      Rule{"blocked", find_blocked},
                                      Rule{"large-lost", find_large_lost},
                                      Rule{"ipv6", find_ipv6},
                                      Rule{"same-address", find_same_address},
                                      Rule{"interfaces", find_interfaces},
                                      Rule{"interface-variables", find_interface_variables},
                                      Rule{"port", find_port},
                                      Rule{"engine", find_engine},
                                      Rule{"libmpi", find_libmpi},
                                      Rule{"torch", find_torch},
                                      Rule{"program", find_program},
                                      Rule{"script", find_script},
                                      Rule{"software", find_software},
                                      Rule{"folder", find_folder},
                                      Rule{"environment", find_environment},
                                      Rule{"cpu", find_cpu},
                                      Rule{"oversubscription", find_oversubscription},
                                      Rule{"shm", find_shm},
                                      Rule{"nofile", find_nofile},
                                      Rule{"rdma", find_rdma},
                                      Rule{"hidden-rdma", find_hidden_rdma},
                                      Rule{"rail-faults", find_rail_faults},
                                      Rule{"rail-mtu", find_rail_mtu},
                                      Rule{"rail-variables", find_rail_variables},
                                      Rule{"memlock", find_memlock},
                                      Rule{"capabilities", find_capabilities},
                                      Rule{"gpu-health", find_gpu_health},
                                      Rule{"gpu-peers", find_gpu_peers},
                                      Rule{"gpu-software", find_gpu_software},
                                      Rule{"clock", find_clock},
                                      Rule{"changes", find_changes},
                                      Rule{"not-seen", find_not_seen}};

// The ids of failures in the catalogue that rules use. `unreachable` also passes on the id in a
// host's survey.
inline constexpr std::string_view kActivationFailed = "remote-python-env-missing";
inline constexpr std::string_view kAllRanksZero = "all-ranks-zero";
inline constexpr std::string_view kClockSkew = "clock-skew-elastic";
inline constexpr std::string_view kCpuChanged = "cpu-changed";
inline constexpr std::string_view kDriverMismatch = "nvml-driver-library-mismatch";
inline constexpr std::string_view kDriverTooOld = "driver-too-old";
inline constexpr std::string_view kEnvironmentDiffers = "nccl-env-differs-per-host";
inline constexpr std::string_view kEngineMissing = "remote-daemon-not-in-path";
inline constexpr std::string_view kEngineWithoutIpv6 = "engine-without-ipv6";
inline constexpr std::string_view kEngineVersion = "ompi-version-mismatch";
inline constexpr std::string_view kBridgedContainer = "nat-or-bridge-container-network";
inline constexpr std::string_view kFabricMissing = "intelmpi-no-libfabric";
inline constexpr std::string_view kMemoryOfPeers = "ompi-cma-ptrace";
inline constexpr std::string_view kFabricManager = "fabric-manager-802";
inline constexpr std::string_view kFactsNotGathered = "facts-not-gathered";
inline constexpr std::string_view kFolderMissing = "remote-cwd-missing";
inline constexpr std::string_view kGlooFirstAddress = "gloo-takes-first-address";
inline constexpr std::string_view kGpuChanged = "gpu-changed";
inline constexpr std::string_view kGpuDriverDiffers = "gpu-driver-differs";
inline constexpr std::string_view kGpuLost = "gpu-lost";
inline constexpr std::string_view kGpuPcieWidth = "gpu-pcie-width";
inline constexpr std::string_view kGpuSick = "gpu-ecc-xid";
inline constexpr std::string_view kGpuTaken = "gpu-in-use";
inline constexpr std::string_view kGpuContained = "gpu-ecc-contained";
inline constexpr std::string_view kGpuUncontained = "gpu-ecc-uncontained";
inline constexpr std::string_view kGpuRemapped = "gpu-memory-remapped";
inline constexpr std::string_view kGpuRemapFailed = "gpu-memory-remap-failed";
inline constexpr std::string_view kGpuThrottled = "gpu-throttled";
inline constexpr std::string_view kGpuToolFails = "gpu-tool-fails";
inline constexpr std::string_view kGpusDiffer = "gpus-differ-between-hosts";
inline constexpr std::string_view kLibrariesDiffer = "libraries-differ-between-hosts";
inline constexpr std::string_view kInterfaceChanged = "interface-changed";
inline constexpr std::string_view kLibraryMissing = "remote-shared-library-missing";
inline constexpr std::string_view kLimitChanged = "limit-changed";
inline constexpr std::string_view kMemlock = "rdma-memlock";
inline constexpr std::string_view kMemoryChanged = "memory-changed";
inline constexpr std::string_view kMixedArchitecture = "mixed-endian-or-arch";
inline constexpr std::string_view kMixedIsa = "mixed-cpu-isa";
inline constexpr std::string_view kMtu = "mtu-mismatch";
inline constexpr std::string_view kNcclVersion = "nccl-version-mismatch";
inline constexpr std::string_view kNoCommonSubnet = "ompi-oob-no-common-interface";
inline constexpr std::string_view kNoGpudirect = "gdr-peermem-missing";
inline constexpr std::string_view kNofile = "nofile-limit";
inline constexpr std::string_view kNvlinkDown = "nvlink-down";
inline constexpr std::string_view kOtherInterface = "nccl-picks-wrong-interface";
inline constexpr std::string_view kOwnNameLoopback = "hostname-resolves-to-loopback";
inline constexpr std::string_view kOwnNameUnknown = "hostname-unresolvable-gloo-fallback";
inline constexpr std::string_view kOversubscribed = "omp-threads-oversubscribed";
inline constexpr std::string_view kPackagesDiffer = "python-packages-differ";
inline constexpr std::string_view kPathMtu = "mtu-mismatch";
inline constexpr std::string_view kPortEphemeral = "master-port-ephemeral-collision";
inline constexpr std::string_view kPortInUse = "master-port-in-use";
inline constexpr std::string_view kPortsFiltered = "ephemeral-ports-filtered";
inline constexpr std::string_view kProgramArchitecture = "exec-format-error";
inline constexpr std::string_view kProgramDiffers = "program-differs-between-hosts";
inline constexpr std::string_view kProgramMissing = "remote-exe-not-found";
inline constexpr std::string_view kRailLost = "rdma-rail-lost";
inline constexpr std::string_view kRailSlow = "rdma-rail-slow";
inline constexpr std::string_view kRdmaChanged = "rdma-changed";
inline constexpr std::string_view kRdmaMissing = "ib-device-not-found-silent-tcp";
inline constexpr std::string_view kRendezvousOpen = "torchrun-rendezvous-open";
inline constexpr std::string_view kRoceGid = "roce-wrong-gid";
inline constexpr std::string_view kSameAddress = "same-address-on-two-hosts";
inline constexpr std::string_view kSameVirtualAddress = "ompi-btl-tcp-virtual-interfaces";
inline constexpr std::string_view kSavedStateUnusable = "saved-state-unusable";
inline constexpr std::string_view kShmSmall = "nccl-dev-shm-full";
inline constexpr std::string_view kSoftwareChanged = "software-changed";
inline constexpr std::string_view kSshKeyMode = "ssh-private-key-perms";
inline constexpr std::string_view kSshStrictModes = "ssh-strictmodes-perms";
inline constexpr std::string_view kStoreOpen = "torch-store-open";
inline constexpr std::string_view kTorchVersion = "torch-version-skew";
inline constexpr std::string_view kTorchWithoutCuda = "torch-without-cuda";

inline constexpr std::array kFailureIds = {kActivationFailed,
                                           kAllRanksZero,
                                           kClockSkew,
                                           kEnvironmentDiffers,
                                           kEngineMissing,
                                           kEngineVersion,
                                           kFactsNotGathered,
                                           kLibrariesDiffer,
                                           kLibraryMissing,
                                           kPackagesDiffer,
                                           kMemlock,
                                           kMixedArchitecture,
                                           kProgramArchitecture,
                                           kMixedIsa,
                                           kNoCommonSubnet,
                                           kNoGpudirect,
                                           kNofile,
                                           kOtherInterface,
                                           kOwnNameLoopback,
                                           kOwnNameUnknown,
                                           kPortEphemeral,
                                           kPortInUse,
                                           kProgramDiffers,
                                           kProgramMissing,
                                           kRdmaMissing,
                                           kRoceGid,
                                           kSameAddress,
                                           kSameVirtualAddress,
                                           kShmSmall,
                                           kSshKeyMode,
                                           kSshStrictModes,
                                           kFolderMissing,
                                           kOversubscribed,
                                           kTorchVersion,
                                           kRendezvousOpen,
                                           kStoreOpen,
                                           kDriverMismatch,
                                           kDriverTooOld,
                                           kFabricManager,
                                           kGpuDriverDiffers,
                                           kGpuLost,
                                           kGpuPcieWidth,
                                           kGpuSick,
                                           kGpuContained,
                                           kGpuUncontained,
                                           kGpuRemapped,
                                           kGpuRemapFailed,
                                           kGpuTaken,
                                           kGpuThrottled,
                                           kGpuToolFails,
                                           kGpusDiffer,
                                           kNcclVersion,
                                           kNvlinkDown,
                                           kTorchWithoutCuda,
                                           kMtu,
                                           kRailLost,
                                           kRailSlow,
                                           kPathMtu,
                                           kPortsFiltered,
                                           kEngineWithoutIpv6,
                                           kGlooFirstAddress,
                                           kBridgedContainer,
                                           kFabricMissing,
                                           kMemoryOfPeers,
                                           kCpuChanged,
                                           kGpuChanged,
                                           kInterfaceChanged,
                                           kLimitChanged,
                                           kMemoryChanged,
                                           kRdmaChanged,
                                           kSavedStateUnusable,
                                           kSoftwareChanged};

}  // namespace muster::checks
