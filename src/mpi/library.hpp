// Declares the MPI calls that the backend makes, without any MPI header, so that the backend works
// with both ABIs. plugin.cpp implements them and is compiled once against each ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mpi/device_memory.hpp"

namespace muster::mpi {

// MPI's handles, which are integers in one ABI and pointers in the other.
struct Comm {
  std::uintptr_t bits = 0;
};
struct Request {
  std::uintptr_t bits = 0;
  std::shared_ptr<const void> arguments = nullptr;  // arrays that MPI reads until the request ends
};

enum class Type : std::uint8_t {
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
  kBool,
};

enum class Reduction : std::uint8_t { kSum, kProduct, kMin, kMax, kBitAnd, kBitOr, kBitXor };

// In MPI's order, so that < compares them.
enum class ThreadLevel : std::uint8_t { kSingle, kFunneled, kSerialized, kMultiple };

struct Completion {
  bool done = false;
  int source = -1;  // the sender of a received message
};

constexpr int kAnySource = -1;
constexpr int kLacking = -1;  // returned by a call that this MPI library does not offer

// Functions return 0 or an MPI error code (see error_text). Only one may run at a time. Functions
// whose name starts with `i` only begin an operation, whose memory must live until `test` reports
// that it is done.
class Library {
 public:
  virtual ~Library() = default;

  [[nodiscard]] virtual std::string version() const = 0;
  [[nodiscard]] virtual std::string error_text(int error) const = 0;
  [[nodiscard]] virtual CudaSupport cuda() const = 0;

  [[nodiscard]] virtual bool initialised() const = 0;
  [[nodiscard]] virtual bool finalised() const = 0;
  // If MPI was initialised before, only sets `provided`.
  [[nodiscard]] virtual int initialise(ThreadLevel& provided) = 0;
  [[nodiscard]] virtual int finalise() = 0;
  // Makes MPI_Finalize run `act` first, even if the program itself calls MPI_Finalize.
  [[nodiscard]] virtual int before_finalise(std::function<void()> act) = 0;

  // These four block until all members have called them. `free` blocks in some MPIs only.
  [[nodiscard]] virtual int duplicate_world(Comm& made) = 0;
  [[nodiscard]] virtual int subgroup(Comm parent, const std::vector<int>& ranks, int tag,
                                     Comm& made) = 0;
  // Collects the `name` of every rank, each cut to kNameBytes.
  [[nodiscard]] virtual int gather_names(Comm comm, const std::string& name,
                                         std::vector<std::string>& names) = 0;
  [[nodiscard]] virtual int free(Comm& comm) = 0;
  [[nodiscard]] virtual int rank(Comm comm) const = 0;
  [[nodiscard]] virtual int size(Comm comm) const = 0;
  [[nodiscard]] virtual int highest_tag() const = 0;
  // Returns the largest number of elements that one reduction call may get.
  [[nodiscard]] virtual std::size_t most_elements() const = 0;
  // Reductions of more than twice this many bytes are faster in pieces of this size. 0: never
  // split.
  [[nodiscard]] virtual std::size_t piece_bytes() const = 0;

  // The collectives. The default implementations are for libraries that lack one.
  [[nodiscard]] virtual int ibarrier(Comm /*comm*/, Request& /*request*/) { return kLacking; }
  [[nodiscard]] virtual int ibroadcast(void* /*data*/, std::size_t /*bytes*/, int /*root*/,
                                       Comm /*comm*/, Request& /*request*/) {
    return kLacking;
  }
  [[nodiscard]] virtual int iallreduce(void* /*data*/, std::size_t /*count*/, Type /*type*/,
                                       Reduction /*reduction*/, Comm /*comm*/,
                                       Request& /*request*/) {
    return kLacking;
  }
  // Only the root uses `to`, which may equal `from`.
  [[nodiscard]] virtual int ireduce(const void* /*from*/, void* /*to*/, std::size_t /*count*/,
                                    Type /*type*/, Reduction /*reduction*/, int /*root*/,
                                    Comm /*comm*/, Request& /*request*/) {
    return kLacking;
  }
  [[nodiscard]] virtual int ireduce_scatter(const void* /*from*/, void* /*to*/,
                                            std::size_t /*count_each*/, Type /*type*/,
                                            Reduction /*reduction*/, Comm /*comm*/,
                                            Request& /*request*/) {
    return kLacking;
  }
  [[nodiscard]] virtual int iallgather(const void* /*from*/, void* /*to*/,
                                       std::size_t /*bytes_each*/, Comm /*comm*/,
                                       Request& /*request*/) {
    return kLacking;
  }
  [[nodiscard]] virtual int igather(const void* /*from*/, void* /*to*/, std::size_t /*bytes_each*/,
                                    int /*root*/, Comm /*comm*/, Request& /*request*/) {
    return kLacking;
  }
  [[nodiscard]] virtual int iscatter(const void* /*from*/, void* /*to*/, std::size_t /*bytes_each*/,
                                     int /*root*/, Comm /*comm*/, Request& /*request*/) {
    return kLacking;
  }
  // `from` holds the parts for all ranks, and `to` gets the parts from all ranks, each in rank
  // order without gaps.
  [[nodiscard]] virtual int ialltoall(const void* /*from*/,
                                      const std::vector<std::size_t>& /*send_bytes*/, void* /*to*/,
                                      const std::vector<std::size_t>& /*receive_bytes*/,
                                      Comm /*comm*/, Request& /*request*/) {
    return kLacking;
  }

  [[nodiscard]] virtual int isend(const void* data, std::size_t bytes, int to, int tag, Comm comm,
                                  Request& request) = 0;
  [[nodiscard]] virtual int ireceive(void* data, std::size_t bytes, int from, int tag, Comm comm,
                                     Request& request) = 0;

  // After an error the request no longer exists.
  [[nodiscard]] virtual int test(Request& request, Completion& completion) = 0;
  // Receives a message only if one has arrived already.
  [[nodiscard]] virtual int take(void* data, std::size_t bytes, int tag, Comm comm,
                                 Completion& taken) = 0;

  static constexpr std::size_t kNameBytes = 64;
};

// The function that a plugin exports, and its name. The caller owns the returned object.
using MakeLibrary = Library* (*)();
constexpr const char* kMakeLibrary = "muster_mpi_library";

}  // namespace muster::mpi
