// Every id of the failure catalogue that a rule gives. `unreachable` also passes on the id that the
// survey of a host came with.
#pragma once

#include <array>
#include <string_view>

namespace muster::checks {

inline constexpr std::string_view kActivationFailed = "remote-python-env-missing";
inline constexpr std::string_view kAllRanksZero = "all-ranks-zero";
inline constexpr std::string_view kClockSkew = "clock-skew-elastic";
inline constexpr std::string_view kEnvironmentDiffers = "nccl-env-differs-per-host";
inline constexpr std::string_view kEngineMissing = "remote-daemon-not-in-path";
inline constexpr std::string_view kEngineVersion = "ompi-version-mismatch";
inline constexpr std::string_view kFactsNotGathered = "facts-not-gathered";
inline constexpr std::string_view kFolderMissing = "remote-cwd-missing";
inline constexpr std::string_view kLibraryMissing = "remote-shared-library-missing";
inline constexpr std::string_view kMemlock = "rdma-memlock";
inline constexpr std::string_view kMixedArchitecture = "mixed-endian-or-arch";
inline constexpr std::string_view kMixedIsa = "mixed-cpu-isa";
inline constexpr std::string_view kNoCommonSubnet = "ompi-oob-no-common-interface";
inline constexpr std::string_view kNofile = "nofile-limit";
inline constexpr std::string_view kOtherInterface = "nccl-picks-wrong-interface";
inline constexpr std::string_view kOwnNameLoopback = "hostname-resolves-to-loopback";
inline constexpr std::string_view kOwnNameUnknown = "hostname-unresolvable-gloo-fallback";
inline constexpr std::string_view kOversubscribed = "omp-threads-oversubscribed";
inline constexpr std::string_view kPortEphemeral = "master-port-ephemeral-collision";
inline constexpr std::string_view kPortInUse = "master-port-in-use";
inline constexpr std::string_view kProgramDiffers = "program-differs-between-hosts";
inline constexpr std::string_view kProgramMissing = "remote-exe-not-found";
inline constexpr std::string_view kRdmaMissing = "ib-device-not-found-silent-tcp";
inline constexpr std::string_view kRendezvousOpen = "torchrun-rendezvous-open";
inline constexpr std::string_view kRoceGid = "roce-wrong-gid";
inline constexpr std::string_view kSameAddress = "same-address-on-two-hosts";
inline constexpr std::string_view kSameVirtualAddress = "ompi-btl-tcp-virtual-interfaces";
inline constexpr std::string_view kShmSmall = "nccl-dev-shm-full";
inline constexpr std::string_view kSshKeyMode = "ssh-private-key-perms";
inline constexpr std::string_view kSshStrictModes = "ssh-strictmodes-perms";
inline constexpr std::string_view kTorchVersion = "torch-version-skew";

inline constexpr std::array kFailureIds = {
    kActivationFailed, kAllRanksZero,      kClockSkew,        kEnvironmentDiffers,
    kEngineMissing,    kEngineVersion,     kFactsNotGathered, kLibraryMissing,
    kMemlock,          kMixedArchitecture, kMixedIsa,         kNoCommonSubnet,
    kNofile,           kOtherInterface,    kOwnNameLoopback,  kOwnNameUnknown,
    kPortEphemeral,    kPortInUse,         kProgramDiffers,   kProgramMissing,
    kRdmaMissing,      kRoceGid,           kSameAddress,      kSameVirtualAddress,
    kShmSmall,         kSshKeyMode,        kSshStrictModes,   kFolderMissing,
    kOversubscribed,   kTorchVersion,      kRendezvousOpen};

}  // namespace muster::checks
