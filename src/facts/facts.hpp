// Facts: what a host reports about itself. A plain struct with one JSON form. Nothing here judges
// it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "facts/gpu.hpp"

namespace muster::facts {

// Restrictions on an IPv6 address, as the kernel reports them.
inline constexpr std::string_view kTemporary = "temporary";    // a privacy address, replaced soon
inline constexpr std::string_view kDeprecated = "deprecated";  // its network is going away
inline constexpr std::string_view kTentative = "tentative";    // cannot be used yet
inline constexpr std::string_view kDuplicate = "duplicate";    // unusable: another host has it

struct Address {
  std::string ip;           // "198.18.0.11" or "fd00::1", without a zone
  int prefix = 0;           // bits
  std::string caveat = {};  // one of the restrictions above, or empty

  friend bool operator==(const Address&, const Address&) = default;
};

enum class InterfaceKind {
  kPort,  // leads out of the host: a card, a virtual function or a container's own veth
  kLoopback,
  kVirtual,    // stays inside the host: a bridge without a card (docker0), a dummy, a tap
  kTunnel,     // tun, gre, ipip, wireguard
  kInfiniband  // IPoIB
};

struct Interface {
  std::string name;
  InterfaceKind kind = InterfaceKind::kPort;
  bool up = false;  // administratively up and with a carrier
  int mtu = 0;
  int speed_mbit = -1;    // -1: unknown
  std::string made = {};  // type of a software device: "veth", "macvlan", ...; empty: hardware
  std::vector<Address> addresses = {};
};

struct Route {
  std::string destination;  // "198.18.0.0/16"; default routes are "0.0.0.0/0" and "::/0"
  std::string interface;
  std::string gateway = {};  // empty: directly connected
  int metric = 0;
};

struct Gid {
  int index = 0;
  std::string gid;        // "0000:0000:0000:0000:0000:ffff:c612:000b"
  std::string type;       // "RoCE v2", "IB/RoCE v1"
  std::string interface;  // the network device to which it belongs
};

struct RdmaPort {
  std::string device;  // "mlx5_0"
  int port = 1;
  bool active = false;
  std::string link_layer;  // "Ethernet", "InfiniBand"; EFA has "Unknown"
  std::string rate;        // "100 Gb/sec (4X EDR)"
  std::vector<Gid> gids = {};
  std::string physical_state = {};           // "LinkUp", "Polling", "Disabled"; empty: unknown
  std::string driver = {};                   // of its PCI device: "mlx5_core", "bnxt_en", "efa"
  std::string pci_address = {};              // "0000:1a:00.0"; empty: a software device
  int numa_node = -1;                        // -1: unknown
  std::vector<std::string> interfaces = {};  // network devices of the same port, sorted
  std::string firmware = {};
  std::string board = {};  // the card's model: "MT_0000000838"
};

// The means by which an RDMA card can access a GPU's memory.
struct PeerMemory {
  std::string module = {};                    // "nvidia_peermem"; empty: none is loaded
  std::optional<bool> dmabuf = std::nullopt;  // whether kernel and driver support it
};

struct Cpu {
  std::string architecture;  // "x86_64"
  std::string model;
  // The instruction set extensions by which compilers and libraries choose code, sorted.
  std::vector<std::string> isa;
  int cores = 0;   // physical
  int usable = 0;  // logical CPUs that our affinity mask and quota allow
  int numa_nodes = 0;
  std::string affinity = {};  // logical CPUs on which we may run: "0-3,8-11"
};

struct Limit {
  std::int64_t soft = 0;  // -1: unlimited
  std::int64_t hard = 0;
};

struct Limits {
  Limit nofile;
  Limit memlock;  // bytes; unlimited if CAP_IPC_LOCK allows locking any amount
  Limit nproc;
};

struct Listener {
  int port = 0;
  std::string address;  // "0.0.0.0", "::", "127.0.0.1"
  int pid = 0;          // 0: not visible to us, or not found in time
  std::string user = {};
  std::string command = {};
};

struct FileMode {
  std::string path;
  int mode = 0;  // permission bits
  int uid = 0;
  std::string problem = {};  // why ssh or sshd refuses the file; empty if neither does
};

// Identifies a library or program file, so that two hosts can be compared.
struct FileIdentity {
  std::string path;  // as it was looked up; symbolic links are not resolved
  std::string hash;  // empty: the file could not be read
  std::uint64_t bytes = 0;
};

// The container in which muster runs on the host, if any. On a host outside containers only
// `bundle_owner` may be set.
struct Container {
  std::string engine = {};   // "podman", "docker", "containerd", ...; empty: not in a container
  std::string machine = {};  // id of the machine, equal in all its containers; empty: unknown
  // Capabilities that jobs use but the container lacks, such as "IPC_LOCK".
  std::vector<std::string> lacks = {};
  std::optional<bool> reads_memory = std::nullopt;  // whether process_vm_readv works
  std::optional<bool> opens_rdma = std::nullopt;    // whether we may open an RDMA device
  // User and group ("1000:1000") for whom `muster setup --bundle` wrote ~/.ssh; empty if it did
  // not.
  std::string bundle_owner = {};
};

struct Mpi {
  std::string kind;         // engines::Kind::word; empty: not recognised
  std::string version;      // "5.0.11"
  std::string launcher;     // absolute path of the mpirun
  FileIdentity library;     // the libmpi that belongs to that mpirun
  std::string daemon = {};  // program beside it that it starts on other hosts; empty: none
  // A library that MPI_Init would open by name but not find; empty if none is missing.
  std::string missing_library = {};
  std::string missing_is_in = {};  // folder of this MPI that has that library; empty: none
};

struct Torch {
  std::string torchrun;  // absolute path in PATH after activation; empty: not found
  std::string version;   // of the torch beside torchrun: "2.13.0+cpu"; empty: not found
  // OpenMP threads that torch would use: OMP_NUM_THREADS, or else the cores that it may use.
  int threads = 0;
  // `uses_gpus` to `backends` describe the torch that the program imports, or else the one beside
  // torchrun.
  std::optional<bool> uses_gpus = std::nullopt;  // whether it was built for GPUs
  // CUDA version for which it was built: "12.4"; empty: not for CUDA.
  std::string cuda = {};
  std::string rocm = {};  // the same for ROCm: "6.2.41134"
  std::string xpu = {};   // the same for Intel's GPUs: "20250101"
  // Backends that it has in addition to PyTorch's usual ones: "ccl", "xccl".
  std::vector<std::string> backends = {};
  // `nccl` and `ofi_plugin` are only read on hosts with GPUs.
  std::string nccl = {};        // version of NCCL or RCCL
  std::string ofi_plugin = {};  // version of NCCL's libfabric plugin, or its path
};

struct Program {
  std::string name;  // as requested
  std::string path;  // where it was found; empty: not found
  bool executable = false;
  std::string noexec_mount = {};  // mount point that forbids execution; empty: none
  FileIdentity identity;
  std::optional<FileIdentity> libmpi;  // the libmpi that it would load
  std::string libmpi_kind = {};        // like Mpi::kind
  std::string libmpi_version = {};
  std::vector<std::string> missing_libraries = {};  // libraries without which it cannot start
  // What the system needs to start the file but does not find: the interpreter of its `#!` line,
  // the program that `env` would start, or its loader. Empty if nothing is missing.
  std::string missing_interpreter = {};
  // The name is not in PATH, but the job's folder has a file with this name.
  bool only_in_folder = false;
  std::string torch = {};         // version of the torch that a Python program would import
  std::string torch_folder = {};  // folder of that torch
  // The architecture that the file is for: "x86_64". Empty for a script, or if it is unknown.
  std::string architecture = {};
  std::string torch_architecture = {};  // architecture of that torch
};

// The Python code that the program runs, including modules that it imports from its own folder.
struct Script {
  std::string name;  // as requested
  std::string path;  // where it was found (for a module: its folder); empty: not found
  // Hashes of the files, by path relative to the script's folder. The hash of a file that could not
  // be read is empty.
  std::map<std::string, std::string> files = {};
  bool complete = true;  // false: there are more files than muster reads
};

// A shared library that the program loads at its start, or later through PyTorch or its MPI.
struct Library {
  std::string name;       // the requested name: "libtorch_cpu.so"
  std::string path = {};  // empty: the loader does not find it
  std::uint64_t bytes = 0;
  std::string build_id = {};  // written by its linker; empty: none
  std::string hash = {};      // hash of the content; empty: not read, or not completely yet
  bool remote = false;        // on a network file system or FUSE, so its content is not read

  friend bool operator==(const Library&, const Library&) = default;
};

// What the ranks load in addition to the program.
struct Software {
  std::string python = {};  // version of the program's Python; empty: not a Python program
  std::map<std::string, std::string> packages = {};  // versions by name
  // Versions of the distribution's packages by name.
  std::map<std::string, std::string> system_packages = {};
  std::vector<Library> libraries = {};  // sorted by name
  bool all_packages = true;             // false: there are more than muster reports
  bool all_libraries = true;            // false: there are more, or plugins could not be listed

  friend bool operator==(const Software&, const Software&) = default;
};

// A probe that failed, and why. Missing facts never count as good.
struct NotSeen {
  std::string what;  // "limits", "listeners", ...
  std::string why;
};

struct Environment {
  bool activated = false;    // an activation was requested and succeeded
  std::string failure = {};  // the activation's output if it failed
  // Variables that name directories or GPUs: PATH, LD_LIBRARY_PATH, CUDA_VISIBLE_DEVICES, ...
  std::map<std::string, std::string> seen;
  // Hashes of the values of the variables that activation set or changed, by name.
  std::map<std::string, std::string> digest;
  // Variables of NCCL, MPI, PyTorch and others, no matter who set them.
  std::map<std::string, std::string> settings = {};
};

struct Facts {
  std::string host;      // muster's name for the host; empty if muster examines its own host
  std::string hostname;  // the host's own name
  int uid = 0;
  std::string user;
  // The user's home directory, with links resolved.
  std::string home = {};
  std::optional<bool> folder_exists = std::nullopt;  // whether Request::folder exists
  std::string os;                                    // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;                                // "6.1.0-18-amd64"
  Cpu cpu;
  std::int64_t memory_bytes = 0;
  std::vector<Interface> interfaces = {};
  std::vector<Route> routes = {};
  // The addresses to which the host resolves its own name.
  std::vector<std::string> own_name_resolves_to = {};
  std::vector<RdmaPort> rdma = {};
  PeerMemory peer_memory = {};
  std::vector<Gpu> gpus = {};
  GpuDrivers gpu_drivers = {};
  Limits limits;
  std::int64_t shm_bytes = -1;  // size of /dev/shm; -1: it does not exist
  std::int64_t shm_free_bytes = -1;
  double clock_s = 0;        // Unix time when the facts were complete
  int port_range_first = 0;  // of the ephemeral ports, from ip_local_port_range
  int port_range_last = 0;
  std::vector<Listener> listeners = {};
  std::vector<FileMode> ssh_files = {};
  std::vector<Mpi> mpi = {};  // those requested, the one in PATH, and the program's own
  Torch torch = {};
  std::optional<Program> program;         // if one was requested
  std::optional<Script> script;           // if one was requested
  std::optional<Software> software = {};  // if a program was requested and found
  Environment environment;
  std::vector<NotSeen> not_seen = {};
  Container container = {};
};

// What to find out in addition to the facts about the host itself.
struct Request {
  std::string host = {};                    // the name to report
  std::string activate = {};                // shell lines that set up the environment; empty: none
  std::vector<std::string> launchers = {};  // absolute paths of the mpiruns to examine
  std::string program = {};                 // a path, or a name for PATH after activation
  std::string script = {};                  // Python code: a path, or a module's name
  bool script_is_module = false;            // `script` is a module, as in python -m
  std::string folder = {};                  // where the job starts; empty: the home directory
  int answer_within_s = 15;                 // time for the answer, not counting the activation
  bool software = false;                    // also examine what the program loads
  int hash_within_ms = 0;                   // time for hashing libraries; 0: do not hash them
};

[[nodiscard]] std::string to_json(const Facts& facts);             // one line
[[nodiscard]] Result<Facts> parse_facts(const std::string& json);  // rejects invalid input
[[nodiscard]] nlohmann::ordered_json facts_schema();
[[nodiscard]] std::string to_json(const Request& request);
[[nodiscard]] Result<Request> parse_request(const std::string& json);

// What the launcher knows about a host: its Facts, or why there are none.
struct Survey {
  std::string host;
  Result<Facts> facts;
  std::string failure_id = {};  // its id in the failure catalogue, if there are no facts
  // How far the host's clock is ahead of the launcher's, corrected by half the round trip.
  double clock_ahead_s = 0;
  double clock_doubt_s = 0;  // uncertainty of clock_ahead_s: half the round trip
};

}  // namespace muster::facts
