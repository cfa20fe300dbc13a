// Facts: what a host is, told by itself. A plain value with one JSON form; nothing here judges.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "facts/gpu.hpp"

namespace muster::facts {

// What the kernel may say of an IPv6 address.
inline constexpr std::string_view kTemporary = "temporary";    // a privacy address, soon replaced
inline constexpr std::string_view kDeprecated = "deprecated";  // its network is going away
inline constexpr std::string_view kTentative = "tentative";    // not usable yet
inline constexpr std::string_view kDuplicate = "duplicate";    // another host has it: not usable

struct Address {
  std::string ip;           // "198.18.0.11" or "fd00::1", without a zone
  int prefix = 0;           // bits
  std::string caveat = {};  // one of the above; empty: none

  friend bool operator==(const Address&, const Address&) = default;
};

enum class InterfaceKind {
  kPort,  // a card, a virtual function, the veth end inside a container: traffic leaves through it
  kLoopback,
  kVirtual,    // a bridge with no port of the host in it (docker0, virbr0), a dummy, a tap
  kTunnel,     // tun, gre, ipip, wireguard
  kInfiniband  // IPoIB
};

struct Interface {
  std::string name;
  InterfaceKind kind = InterfaceKind::kPort;
  bool up = false;  // administratively up and with a carrier
  int mtu = 0;
  int speed_mbit = -1;    // -1: not told
  std::string made = {};  // "veth", "macvlan", ...; empty: a device
  std::vector<Address> addresses = {};
};

struct Route {
  std::string destination;  // "198.18.0.0/16"; "0.0.0.0/0" and "::/0" are the defaults
  std::string interface;
  std::string gateway = {};  // empty: directly connected
  int metric = 0;
};

struct Gid {
  int index = 0;
  std::string gid;        // "0000:0000:0000:0000:0000:ffff:c612:000b"
  std::string type;       // "RoCE v2", "IB/RoCE v1"
  std::string interface;  // the network device it belongs to
};

struct RdmaPort {
  std::string device;  // "mlx5_0"
  int port = 1;
  bool active = false;
  std::string link_layer;  // "Ethernet", "InfiniBand"; "Unknown": EFA
  std::string rate;        // "100 Gb/sec (4X EDR)"
  std::vector<Gid> gids = {};
  std::string physical_state = {};           // "LinkUp", "Polling", "Disabled"; empty: not told
  std::string driver = {};                   // of its PCI device: "mlx5_core", "bnxt_en", "efa"
  std::string pci_address = {};              // "0000:1a:00.0"; empty: it is a software device
  int numa_node = -1;                        // -1: not told
  std::vector<std::string> interfaces = {};  // network devices of the same port, sorted
  std::string firmware = {};
  std::string board = {};  // the card's model: "MT_0000000838"
};

// What lets an RDMA card read and write a GPU's memory.
struct PeerMemory {
  std::string module = {};                    // "nvidia_peermem"; empty: no such module is loaded
  std::optional<bool> dmabuf = std::nullopt;  // whether kernel and driver can; none: not known
};

struct Cpu {
  std::string architecture;  // "x86_64"
  std::string model;
  std::vector<std::string>
      isa;         // the extensions that compilers and libraries choose code by, sorted
  int cores = 0;   // physical
  int usable = 0;  // logical ones that our affinity mask and the control group's quota leave
  int numa_nodes = 0;
  std::string affinity = {};  // the logical ones that we may run on: "0-3,8-11"
};

struct Limit {
  std::int64_t soft = 0;  // -1: unlimited
  std::int64_t hard = 0;
};

struct Limits {
  Limit nofile;
  Limit memlock;  // bytes; none for a process that may lock any amount (CAP_IPC_LOCK)
  Limit nproc;
};

struct Listener {
  int port = 0;
  std::string address;  // "0.0.0.0", "::", "127.0.0.1"
  int pid = 0;          // 0: not ours to see
  std::string user = {};
  std::string command = {};
};

struct FileMode {
  std::string path;
  int mode = 0;  // permission bits
  int uid = 0;
  std::string problem = {};  // why sshd or ssh refuses it; empty: in order
};

// A library or program file, so that two hosts can be compared.
struct FileIdentity {
  std::string path;  // as looked for, links not resolved
  std::string hash;  // empty: could not be read
  std::uint64_t bytes = 0;
};

// Of the container that the host is, if it is one.
struct Container {
  std::string engine = {};   // "podman", "docker", "containerd", ...; empty: not in a container
  std::string machine = {};  // equal in all containers on one machine; empty: not known
  std::vector<std::string> lacks = {};              // capabilities that jobs use: "IPC_LOCK"
  std::optional<bool> reads_memory = std::nullopt;  // process_vm_readv works; nothing: not known
  std::optional<bool> opens_rdma = std::nullopt;    // one of /dev/infiniband; nothing: not known
  std::string bundle_owner = {};  // ~/.ssh is of `muster setup --bundle`: "1000:1000"
};

struct Mpi {
  std::string kind;         // as engines::Kind::word; empty: not recognised
  std::string version;      // "5.0.11"
  std::string launcher;     // the mpirun looked at, absolute
  FileIdentity library;     // the libmpi (or the launcher's own runtime library) beside it
  std::string daemon = {};  // beside it, what it starts on other hosts; empty: none is there
  // A library that MPI_Init opens by name and that is not where it looks; empty: all are there.
  std::string missing_library = {};
  std::string missing_is_in = {};  // the folder of this MPI that has it; empty: none has
};

struct Torch {
  std::string torchrun;  // in PATH after activation, absolute; empty: it is not there
  std::string version;   // "2.13.0+cpu" of the torch beside it; empty: not found
  int threads = 0;       // that torch takes for itself: OMP_NUM_THREADS, else the cores it may use
  // Of the torch that the program imports, or else of the one beside torchrun.
  std::optional<bool> uses_gpus = std::nullopt;  // built for CUDA or ROCm; nothing: not known
  std::string cuda = {};                         // that it was built for: "12.4"; empty: none
  std::string rocm = {};                         // likewise: "6.2.41134"
  std::string xpu = {};                          // likewise, for Intel's GPUs: "20250101"
  std::vector<std::string> backends = {};        // beyond PyTorch's usual ones: "ccl", "xccl"
  // The rest only on hosts with GPUs.
  std::string nccl = {};        // version of NCCL or RCCL
  std::string ofi_plugin = {};  // version of NCCL's plugin for libfabric, or its path
};

struct Program {
  std::string name;  // as asked for
  std::string path;  // where it was found; empty: it is not there
  bool executable = false;
  std::string noexec_mount = {};  // the mount point that forbids to execute it; empty: none does
  FileIdentity identity;
  std::optional<FileIdentity> libmpi;  // the one it would load
  std::string libmpi_kind = {};        // as Mpi::kind
  std::string libmpi_version = {};
  std::vector<std::string> missing_libraries = {};  // it cannot start without them
  std::string missing_interpreter = {};  // nor without this: of its `#!` line, or its loader
  bool only_in_folder =
      false;               // a name that is not in PATH, but the job's folder holds such a file
  std::string torch = {};  // the version it would import, if it is Python or a Python script
  std::string torch_folder = {};  // where it is
  // That the file is for: "x86_64"; empty: it is a script, or not known.
  std::string architecture = {};
  std::string torch_architecture = {};  // likewise, of the torch that it would import
};

// The Python code that the program runs, with the modules that it imports from its own folder.
struct Script {
  std::string name;  // as asked for
  std::string path;  // where it was found (a module: its folder); empty: not found
  std::map<std::string, std::string> files =
      {};                // hash by path relative to the script's folder; empty: unreadable
  bool complete = true;  // false: there are more files than muster reads
};

// A shared library that the program loads when it starts, or later with PyTorch or its MPI.
struct Library {
  std::string name;       // as it is asked for: "libtorch_cpu.so"
  std::string path = {};  // empty: the loader does not find it
  std::uint64_t bytes = 0;
  std::string build_id = {};  // that its linker wrote; empty: it has none
  std::string hash = {};      // of its content; empty: not read, or not yet
  bool remote = false;        // on a network file system or FUSE: its content is not read

  friend bool operator==(const Library&, const Library&) = default;
};

// What the ranks load besides the program itself.
struct Software {
  std::string python = {};  // version of the program's Python; empty: it is no Python program
  std::map<std::string, std::string> packages = {};         // versions of Python packages by name
  std::map<std::string, std::string> system_packages = {};  // those of the distribution
  std::vector<Library> libraries = {};                      // sorted by name
  bool all_packages = true;   // false: there are more than muster reports
  bool all_libraries = true;  // the same, or plugins could not be listed

  friend bool operator==(const Software&, const Software&) = default;
};

// A probe that could not look, and why: never taken for good.
struct NotSeen {
  std::string what;  // "limits", "listeners", ...
  std::string why;
};

struct Environment {
  bool activated = false;    // an activation was asked for and ended well
  std::string failure = {};  // what it said when it did not
  std::map<std::string, std::string>
      seen;  // values of the variables that name folders: PATH, LD_LIBRARY_PATH, ...
  std::map<std::string, std::string>
      digest;  // of the value of each variable that activation set or changed
  std::map<std::string, std::string> settings =
      {};  // variables of NCCL, MPI, PyTorch and the like, set by whatever
};

struct Facts {
  std::string host;      // the name that muster calls it by; empty when asked on the host itself
  std::string hostname;  // what it calls itself
  int uid = 0;
  std::string user;
  std::string home = {};                             // the user's folder, links resolved
  std::optional<bool> folder_exists = std::nullopt;  // Request::folder, when one was given
  std::string os;                                    // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;                                // "6.1.0-18-amd64"
  Cpu cpu;
  std::int64_t memory_bytes = 0;
  std::vector<Interface> interfaces = {};
  std::vector<Route> routes = {};
  std::vector<std::string> own_name_resolves_to =
      {};  // addresses that the host finds for its own name
  std::vector<RdmaPort> rdma = {};
  PeerMemory peer_memory = {};
  std::vector<Gpu> gpus = {};
  GpuDrivers gpu_drivers = {};
  Limits limits;
  std::int64_t shm_bytes = -1;  // size of /dev/shm; -1: there is none
  std::int64_t shm_free_bytes = -1;
  double clock_s = 0;        // Unix time when the facts were complete
  int port_range_first = 0;  // ip_local_port_range
  int port_range_last = 0;
  std::vector<Listener> listeners = {};
  std::vector<FileMode> ssh_files = {};
  std::vector<Mpi> mpi = {};  // the launchers asked for, the one in PATH and the program's own
  Torch torch = {};
  std::optional<Program> program;         // when one was asked for
  std::optional<Script> script;           // likewise
  std::optional<Software> software = {};  // likewise; none if the program was not found
  Environment environment;
  std::vector<NotSeen> not_seen = {};
  Container container = {};
};

// What to look for beyond the host itself.
struct Request {
  std::string host = {};      // the name to report as
  std::string activate = {};  // shell lines that make the environment ready; empty: none
  std::vector<std::string> launchers = {};  // absolute paths of an mpirun
  std::string program = {};                 // a path, or a name for PATH after activation
  std::string script = {};                  // Python code: a path, or a module's name
  bool script_is_module = false;            // the latter: python -m
  std::string folder = {};                  // where the job will start; empty: the home folder
  int answer_within_s = 15;                 // without the activation
  bool software = false;                    // also what the program loads
  int hash_within_ms = 0;                   // how long to read libraries; 0: read none
};

[[nodiscard]] std::string to_json(const Facts& facts);             // one line
[[nodiscard]] Result<Facts> parse_facts(const std::string& json);  // hostile until parsed
[[nodiscard]] std::string to_json(const Request& request);
[[nodiscard]] Result<Request> parse_request(const std::string& json);

// What the launcher knows of a host: its Facts, or why there are none.
struct Survey {
  std::string host;
  Result<Facts> facts;
  std::string failure_id = {};  // of the failure catalogue, when there are none
  double clock_ahead_s = 0;     // of the host's clock, half the round trip allowed for
  double clock_doubt_s = 0;     // half the round trip
};

}  // namespace muster::facts
