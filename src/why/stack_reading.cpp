#include "why/stack_reading.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>

#include <cxxabi.h>
#include <fmt/format.h>

#include "inspect/stack_texts.hpp"
#include "report/wrap.hpp"

namespace muster::why {
namespace {

using inspect::Frame;
using inspect::Stack;
using In = StackReading::In;

constexpr std::size_t kLongestFunction = 60;
constexpr std::size_t kMostPlaces = 3;  // frames in a place
constexpr std::string_view kNameless = "?";

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <class List>
bool is_in(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

std::string_view base_name(std::string_view file) {
  return file.substr(file.rfind('/') == std::string_view::npos ? 0 : file.rfind('/') + 1);
}

// Files whose functions take no time of their own. A polling loop of the user's is often seen while
// it calls one of them.
constexpr auto kSmallFiles =
    std::to_array<std::string_view>({"threading.py", "queue.py", "genericpath.py", "posixpath.py",
                                     "os.py", "pathlib.py", "random.py"});

// Returns "posixpath.py" for "/usr/lib/python3.11/posixpath.py" and for "<frozen posixpath>".
std::string file_name(std::string_view file) {
  constexpr std::string_view kFrozen = "<frozen ";
  if (!file.starts_with(kFrozen)) return std::string(base_name(file));
  file.remove_prefix(kFrozen.size());
  return std::string(file.substr(0, file.find('>'))) + ".py";
}

constexpr auto kRendezvousFunctions = std::to_array<std::string_view>(
    {"init_process_group", "rendezvous", "_store_based_barrier", "_create_c10d_store",
     "_env_rendezvous_handler", "_tcp_rendezvous_handler", "_file_rendezvous_handler",
     "_new_process_group_helper"});
constexpr auto kOperations = std::to_array<std::string_view>({"all_reduce",
                                                              "all_reduce_coalesced",
                                                              "all_gather",
                                                              "all_gather_coalesced",
                                                              "all_gather_into_tensor",
                                                              "all_gather_single",
                                                              "all_gather_object",
                                                              "_all_gather_base",
                                                              "broadcast",
                                                              "broadcast_object_list",
                                                              "reduce",
                                                              "reduce_scatter",
                                                              "reduce_scatter_tensor",
                                                              "reduce_scatter_single",
                                                              "_reduce_scatter_base",
                                                              "all_to_all",
                                                              "all_to_all_single",
                                                              "barrier",
                                                              "monitored_barrier",
                                                              "gather",
                                                              "gather_object",
                                                              "scatter",
                                                              "scatter_object_list",
                                                              "send",
                                                              "recv",
                                                              "isend",
                                                              "irecv",
                                                              "send_object_list",
                                                              "recv_object_list",
                                                              "batch_isend_irecv",
                                                              "new_group",
                                                              "split_group",
                                                              "new_subgroups"});
// Functions elsewhere in torch.distributed, whose names would not help the user.
constexpr auto kUnnamedOperations = std::to_array<std::string_view>(
    {"wait_tensor", "_verify_param_shape_across_processes", "_sync_params_and_buffers",
     "_sync_module_states", "_broadcast_coalesced", "_sync_buffers", "_sync_final_model",
     "_unshard", "wait_for_unshard"});

// Notes what a library's frame reveals. It is one of those that the user's innermost frame called,
// directly or indirectly.
void read_python_frame(const Frame& frame, StackReading& reading) {
  const std::string_view file = frame.file;
  const std::string_view function = frame.function;
  if (has(file, "torch/distributed/") || has(file, "torch/nn/parallel/")) {
    // If several operations are nested, the user called the outermost one.
    const bool distributed = has(file, "distributed_c10d.py") || has(file, "rendezvous.py");
    if (distributed && is_in(kRendezvousFunctions, function)) {
      if (reading.operation.empty()) reading.in = In::kRendezvous;
    } else if (is_in(kOperations, function) && (distributed || has(file, "collectives"))) {
      reading.in = In::kOperation;
      reading.operation = function;
    } else if (is_in(kUnnamedOperations, function) && reading.operation.empty()) {
      reading.in = In::kOperation;
      reading.operation = kUnnamedOperation;
    } else if (function == "destroy_process_group") {
      reading.in = In::kTeardown;
      reading.operation = function;
    }
    if (function == "init_process_group") {
      reading.in = In::kRendezvous;
      reading.operation.clear();
    }
  }
  const std::string_view name = base_name(file);
  if (has(file, "torch/autograd/") && function == "_engine_run_backward") reading.backward = true;
  if (has(file, "torch/utils/data/")) reading.data_workers = true;
  // Functions that the interpreter runs after the program has ended.
  if ((name == "threading.py" && function == "_shutdown") || function == "_exit_function" ||
      function == "_python_exit") {
    reading.leaves = true;
  }
  if (name == "subprocess.py" || name == "popen_fork.py") reading.child = true;
  if (name == "pdb.py" || name == "bdb.py") reading.input = true;
  if (name == "file_baton.py" || has(file, "filelock/") || name == "synchronize.py") {
    reading.lock = true;
  }
  if ((name == "queue.py" || name == "queues.py") && (function == "get" || function == "put")) {
    reading.lock = true;
  }
  if (name == "threading.py" && (function == "acquire" || function == "wait" ||
                                 function == "wait_for" || function == "__enter__")) {
    reading.lock = true;
  }
}

StackReading read_python(const Stack& stack) {
  StackReading reading;
  std::vector<const Frame*> own;
  bool small_only = true;
  for (const Frame& frame : stack.frames) {
    const bool library = inspect::is_of_library(frame.file);
    if (!library) own.push_back(&frame);
    if (!own.empty()) continue;
    read_python_frame(frame, reading);
    small_only = small_only && is_in(kSmallFiles, file_name(frame.file));
  }
  // If all frames belong to libraries, show the innermost one. Frames without a file count as a
  // library's; TorchScript, for example, has such frames at the bottom of the stack.
  if (own.empty() && !stack.frames.empty()) own.push_back(&stack.frames.front());
  for (const Frame* frame : own) {
    if (frame == own[std::min(own.size(), kMostPlaces) - 1] && own.size() > kMostPlaces) {
      reading.place += " <- " + frame_text(*own.back());  // the outermost frame
      break;
    }
    reading.place += (reading.place.empty() ? "" : " <- ") + frame_text(*frame);
  }
  reading.own_code_innermost = small_only;
  if (reading.data_workers || reading.in != In::kUnknown) reading.lock = false;
  if (reading.in == In::kUnknown && !stack.frames.empty()) reading.in = In::kElsewhere;
  return reading;
}

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : name;
}

std::string without_arguments(const std::string& function) {
  const std::size_t open = function.find('(');
  if (open == 0 || open == std::string::npos || has(function, "operator()")) return function;
  return function.substr(0, open);
}

std::string without_version(const std::string& function) {
  return function.substr(0, function.find('@'));
}

constexpr auto kNativeRendezvous = std::to_array<std::string_view>(
    {"c10d::TCPStore", "c10d::PrefixStore", "c10d::FileStore", "c10d::detail::TCPClient",
     "c10d::detail::SocketConnect", "c10d::Store::", "gloo::rendezvous", "connectFullMesh"});
constexpr auto kNativeWaits = std::to_array<std::string_view>(
    {"c10d::Work::wait", "c10d::Reducer::", "c10d::ProcessGroup", "c10d::Logger",
     "gloo::", "muster::mpi::Progress::wait", "c10d::verify_params_across_processes",
     "c10d::broadcast_coalesced", "GradientHooks::wait", "ucc_"});
// Prefixes of library functions: such a frame is not a place in the user's program.
constexpr auto kNativeLibraries = std::to_array<std::string_view>(
    {"std::",     "c10::",       "c10d::",     "at::",         "torch::",       "gloo::",
     "muster::",  "MPI_",        "PMPI_",      "ompi_",        "opal_",         "mca_",
     "MPID",      "MPIR",        "MPIC",       "ucp_",         "uct_",          "ucs_",
     "ucc_",      "uv_",         "nccl",       "pnccl",        "cuda",          "cuStream",
     "cuCtx",     "cuEvent",     "Py",         "THP",          "mkl_",          "mkldnn",
     "dnnl",      "omp_",        "GOMP",       "gomp",         "cblas",         "fi_",
     "psm",       "ibv_",        "void std::", "void at::",    "void c10::",    "PMI",
     "pmix",      "prte_",       "pthread_",   "pybind11::",   "clock_",        "epoll_",
     "sem_",      "void c10d::", "caffe2::",   "void torch::", "void caffe2::", "ideep::",
     "fbgemm",    "oneapi::",    "tbb::",      "Eigen::",      "cudnn",         "cublas",
     "hipStream", "hipDevice",   "hipEvent",   "hipMemcpy",    "hipLaunch",     "rccl",
     "hwloc_"});
// Functions of the C library, which have no common prefix.
constexpr auto kLibc = std::to_array<std::string_view>(
    {"nanosleep", "usleep",  "sleep",      "poll",        "ppoll",   "select",       "pselect",
     "read",      "pread64", "pwrite",     "write",       "readv",   "writev",       "recv",
     "recvfrom",  "recvmsg", "send",       "sendto",      "sendmsg", "open",         "open64",
     "openat",    "fsync",   "fdatasync",  "waitpid",     "wait4",   "wait",         "flock",
     "fcntl",     "fcntl64", "lockf",      "sched_yield", "syscall", "start_thread", "clone",
     "clone3",    "malloc",  "free",       "memcpy",      "memset",  "pause",        "accept",
     "connect",   "ioctl",   "fread",      "fwrite",      "fgets",   "getline",      "kill",
     "raise",     "abort",   "sigsuspend", "futex"});

bool starts_with_any(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.starts_with(word); });
}
bool has_any(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return has(text, word); });
}

// Whether this is MPI's function for Fortran programs, such as "mpi_barrier_".
bool is_fortran_binding(std::string_view function) {
  return (function.starts_with("mpi_") || function.starts_with("pmpi_")) && function.ends_with("_");
}

bool is_native_library(std::string_view function) {
  return function.starts_with("_") || is_fortran_binding(function) ||
         starts_with_any(function, kNativeLibraries) || is_in(kLibc, function);
}

// MPI calls that return only after other ranks have taken part. Not in the list: calls that only
// begin an operation, file operations, and local calls.
constexpr auto kMpiCollectives =
    std::to_array<std::string_view>({"MPI_Allgather",
                                     "MPI_Allgatherv",
                                     "MPI_Allreduce",
                                     "MPI_Alltoall",
                                     "MPI_Alltoallv",
                                     "MPI_Alltoallw",
                                     "MPI_Barrier",
                                     "MPI_Bcast",
                                     "MPI_Exscan",
                                     "MPI_Gather",
                                     "MPI_Gatherv",
                                     "MPI_Reduce",
                                     "MPI_Reduce_scatter",
                                     "MPI_Reduce_scatter_block",
                                     "MPI_Scan",
                                     "MPI_Scatter",
                                     "MPI_Scatterv",
                                     "MPI_Neighbor_allgather",
                                     "MPI_Neighbor_allgatherv",
                                     "MPI_Neighbor_alltoall",
                                     "MPI_Neighbor_alltoallv",
                                     "MPI_Neighbor_alltoallw",
                                     "MPI_Comm_accept",
                                     "MPI_Comm_connect",
                                     "MPI_Comm_create",
                                     "MPI_Comm_create_from_group",
                                     "MPI_Comm_create_group",
                                     "MPI_Comm_disconnect",
                                     "MPI_Comm_dup",
                                     "MPI_Comm_dup_with_info",
                                     "MPI_Comm_free",
                                     "MPI_Comm_join",
                                     "MPI_Comm_spawn",
                                     "MPI_Comm_spawn_multiple",
                                     "MPI_Comm_split",
                                     "MPI_Comm_split_type",
                                     "MPI_Cart_create",
                                     "MPI_Cart_sub",
                                     "MPI_Dist_graph_create",
                                     "MPI_Dist_graph_create_adjacent",
                                     "MPI_Graph_create",
                                     "MPI_Intercomm_create",
                                     "MPI_Intercomm_create_from_groups",
                                     "MPI_Intercomm_merge",
                                     "MPI_Win_allocate",
                                     "MPI_Win_allocate_shared",
                                     "MPI_Win_complete",
                                     "MPI_Win_create",
                                     "MPI_Win_create_dynamic",
                                     "MPI_Win_fence",
                                     "MPI_Win_flush",
                                     "MPI_Win_flush_all",
                                     "MPI_Win_free",
                                     "MPI_Win_lock",
                                     "MPI_Win_lock_all",
                                     "MPI_Win_start",
                                     "MPI_Win_unlock",
                                     "MPI_Win_unlock_all",
                                     "MPI_Win_wait"});
constexpr auto kMpiMessages = std::to_array<std::string_view>(
    {"MPI_Send",         "MPI_Ssend",   "MPI_Rsend",    "MPI_Bsend",
     "MPI_Recv",         "MPI_Mrecv",   "MPI_Sendrecv", "MPI_Sendrecv_replace",
     "MPI_Probe",        "MPI_Mprobe",  "MPI_Iprobe",   "MPI_Improbe",
     "MPI_Wait",         "MPI_Waitall", "MPI_Waitany",  "MPI_Waitsome",
     "MPI_Test",         "MPI_Testall", "MPI_Testany",  "MPI_Testsome",
     "MPI_Buffer_detach"});
constexpr auto kMpiRendezvous =
    std::to_array<std::string_view>({"MPI_Init", "MPI_Init_thread", "MPI_Session_init"});
constexpr auto kMpiTeardowns =
    std::to_array<std::string_view>({"MPI_Finalize", "MPI_Session_finalize"});
// Calls of NCCL, and CUDA calls that wait for the GPU and therefore for NCCL's work on it.
constexpr auto kNcclCalls =
    std::to_array<std::string_view>({"ncclAllReduce", "ncclBroadcast", "ncclReduce",
                                     "ncclAllGather", "ncclReduceScatter", "ncclSend", "ncclRecv"});
constexpr auto kGpuWaits = std::to_array<std::string_view>(
    {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy",
     "cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize", "hipStreamSynchronize",
     "hipDeviceSynchronize", "hipEventSynchronize", "hipMemcpy"});
// The waits of muster's MPI backend and of PyTorch's own backends, which may spin.
constexpr auto kSpinningWaits = std::to_array<std::string_view>(
    {"muster::mpi::Progress::wait", "c10d::ProcessGroupMPI::", "c10d::ProcessGroupNCCL::"});

// Returns "MPI_Allreduce" for "PMPI_Allreduce" and "MPI_Allreduce_c"; "" for functions outside MPI.
std::string_view mpi_call(std::string_view function) {
  if (function.starts_with("PMPI_")) function.remove_prefix(1);
  if (!function.starts_with("MPI_")) return {};
  if (function.ends_with("_c")) function.remove_suffix(2);
  return function;
}

bool is_mpi_wait(std::string_view call) {
  return is_in(kMpiCollectives, call) || is_in(kMpiMessages, call) || is_in(kMpiRendezvous, call) ||
         is_in(kMpiTeardowns, call);
}

// Returns the name of the MPI or NCCL call if a rank in it waits for others; "" for other
// functions.
std::string operation_of_call(std::string_view function) {
  if (is_in(kNcclCalls, function)) return std::string(function);
  const std::string_view call = mpi_call(function);
  return is_mpi_wait(call) ? std::string(call) : std::string();
}

bool may_spin(std::string_view function) {
  return is_mpi_wait(mpi_call(function)) || function.starts_with("nccl") ||
         is_in(kGpuWaits, function) || starts_with_any(function, kSpinningWaits);
}

bool is_lock_function(std::string_view function) {
  return function.starts_with("pthread_mutex_lock") ||
         function.starts_with("__pthread_mutex_lock") || has(function, "lll_lock_wait") ||
         has(function, "lll_mutex_lock") || function.starts_with("PyThread_acquire_lock") ||
         has(function, "new_sem_wait") || function.starts_with("sem_wait") ||
         function.starts_with("sem_timedwait") || function.starts_with("sem_clockwait") ||
         has(function, "pthread_rwlock_") || function == "flock" || function == "lockf";
}

void read_native_frame(const std::string& function, StackReading& reading) {
  const std::string call = operation_of_call(function);
  if (is_in(kMpiRendezvous, call) || function.starts_with("ncclCommInit")) {
    reading.in = In::kRendezvous;
    reading.operation.clear();
  } else if (is_in(kMpiTeardowns, call)) {
    reading.in = In::kTeardown;
    reading.operation = call;
  } else if (!call.empty()) {
    reading.in = In::kOperation;
    reading.operation = call;
  } else if (function.starts_with("muster::Job::~")) {
    reading.in = In::kTeardown;
    reading.operation = "the end of the job";
  } else if (function.starts_with("muster::Job::")) {
    reading.in = In::kRendezvous;
    reading.operation.clear();
  } else if (has_any(function, kNativeRendezvous)) {
    if (reading.in == In::kUnknown) reading.in = In::kRendezvous;
  } else if (has(function, "ProcessGroupGloo::RecvWork") ||
             has(function, "ProcessGroupGloo::SendWork")) {
    reading.in = In::kOperation;
    reading.operation = has(function, "RecvWork") ? "recv" : "send";
  } else if (has_any(function, kNativeWaits) &&
             (reading.in == In::kUnknown || is_in(kMpiMessages, reading.operation))) {
    // PyTorch's MPI backend polls its collectives with MPI_Test, so under one of these functions a
    // call such as MPI_Test is not about a message.
    reading.in = In::kOperation;
    reading.operation = kUnnamedOperation;
  }
  if (may_spin(function)) reading.spins = true;
  if (is_lock_function(function)) reading.lock = true;
  if (function == "exit" || function == "__run_exit_handlers" || function == "Py_FinalizeEx") {
    reading.leaves = true;
    // An exit handler of an MPI backend polls what is outstanding. The program itself calls
    // nothing.
    if (is_in(kMpiMessages, reading.operation)) {
      reading.in = In::kUnknown;
      reading.operation.clear();
    }
  }
  if (function == "waitpid" || function == "wait4" || function == "__wait4") reading.child = true;
  if (function.starts_with("PyOS_Readline") || function == "readline" || function == "rl_getc" ||
      has(function, "builtin_input")) {
    reading.input = true;
  }
}

StackReading read_native(const Stack& stack) {
  StackReading reading;
  std::vector<std::string> own;
  bool interpreter = false;
  for (const Frame& frame : stack.frames) {
    const std::string function = without_version(without_arguments(demangled(frame.function)));
    if (function.empty() || function == kNameless) continue;
    // Stop at the interpreter, because the frames that called it are the same in every program.
    if (function.starts_with("_PyEval_EvalFrame")) {
      interpreter = true;
      break;
    }
    read_native_frame(function, reading);
    // A function that MPI or NCCL calls is not a place in the user's program, whatever library it
    // belongs to.
    if (!operation_of_call(function).empty()) own.clear();
    const bool library = is_native_library(function);
    if (own.empty() && !library && &frame == stack.frames.data()) reading.own_code_innermost = true;
    if (!library && own.size() < kMostPlaces) own.push_back(function);
  }
  if (interpreter) {
    // If the thread computes in the interpreter itself, the stack has no frame of a library that
    // computes.
    reading.own_code_innermost =
        std::all_of(stack.frames.begin(), stack.frames.end(), [](const Frame& frame) {
          const std::string function = demangled(frame.function);
          return !has_any(
              function, std::to_array<std::string_view>(
                            {"at::", "torch::", "c10::", "gemm", "mkl", "dnnl", "numpy", "GOMP",
                             "omp_", "cuda", "arrow::", "inflate", "deflate", "jpeg", "PyArray"}));
        });
    own.clear();
  }
  for (const std::string& function : own) {
    reading.place +=
        (reading.place.empty() ? "" : " <- ") + report::cut_line(function, kLongestFunction) + "()";
  }
  if (reading.in != In::kUnknown) reading.lock = false;
  const bool named = std::any_of(stack.frames.begin(), stack.frames.end(),
                                 [](const Frame& frame) { return !frame.function.empty(); });
  if (reading.in == In::kUnknown && named) reading.in = In::kElsewhere;
  return reading;
}

bool says_operation(const StackReading& reading) {
  return reading.in != In::kUnknown && reading.in != In::kElsewhere;
}

// The Python stack names what the user called. The native stack shows waits that Python does not.
StackReading combined(const StackReading& python, const StackReading& native) {
  StackReading all = python;
  if (!says_operation(python) && native.in != In::kUnknown) {
    all.in = native.in;
    all.operation = native.operation;
  }
  if (all.place.empty()) all.place = native.place;
  all.lock = python.lock || (native.lock && !python.data_workers && !says_operation(all));
  all.leaves = python.leaves || native.leaves;
  all.input = python.input || native.input;
  all.child = python.child || native.child;
  all.own_code_innermost = python.own_code_innermost && native.own_code_innermost;
  all.spins = native.spins;
  if (says_operation(all)) all.lock = false;
  return all;
}

}  // namespace

StackReading read_stacks(std::span<const Stack> stacks) {
  std::optional<StackReading> python;
  std::optional<StackReading> native;
  for (const Stack& stack : stacks) {
    if (stack.frames.empty()) continue;
    if (stack.python && !python) python = read_python(stack);
    if (!stack.python && !native) native = read_native(stack);
  }
  StackReading all = native.value_or(StackReading{});
  if (python) {
    all = native ? combined(*python, *native) : *python;
    all.told_by_python = says_operation(*python);
  }
  all.native = native.has_value();
  return all;
}

bool is_point_to_point(std::string_view operation) {
  // PyTorch's flight recorder writes "send 0->1".
  operation = operation.substr(0, operation.find(' '));
  constexpr auto kWords = std::to_array<std::string_view>(
      {"send", "recv", "isend", "irecv", "send_object_list", "recv_object_list",
       "batch_isend_irecv", "recv_any_source", "recv_anysource", "ncclSend", "ncclRecv"});
  return is_in(kWords, operation) || is_in(kMpiMessages, operation);
}

std::string frame_text(const Frame& frame) {
  if (frame.file.empty()) {
    const std::string name = without_version(without_arguments(demangled(frame.function)));
    if (name.empty() || name == kNameless) return std::string(kNameless);
    return report::cut_line(name, kLongestFunction) + "()";
  }
  std::string text(base_name(frame.file));
  if (frame.line > 0) text += fmt::format(":{}", frame.line);
  if (frame.function.empty()) return text;
  text += " " + report::cut_line(frame.function, kLongestFunction);
  return frame.function.starts_with("<") ? text : text + "()";
}

std::string without_line(std::string_view place) {
  const std::size_t colon = place.find(':');
  if (colon == std::string_view::npos) return std::string(place);
  const std::size_t end = place.find_first_not_of("0123456789", colon + 1);
  std::string text(place.substr(0, colon));
  if (end != std::string_view::npos) text += place.substr(end);
  return text;
}

}  // namespace muster::why
