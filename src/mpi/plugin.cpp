// Implements Library with the MPI header that this file is compiled with.
#include <algorithm>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include <dlfcn.h>
#include <mpi.h>

#include "mpi/half.hpp"
#include "mpi/library.hpp"

namespace muster::mpi {
namespace {

// NOLINTBEGIN(bugprone-sizeof-expression): the size of the pointer itself is meant
template <class Handle>
std::uintptr_t to_bits(Handle handle) {
  std::uintptr_t bits = 0;
  static_assert(sizeof(Handle) <= sizeof(bits));
  std::memcpy(&bits, &handle, sizeof(Handle));
  return bits;
}

template <class Handle>
Handle from_bits(std::uintptr_t bits) {
  Handle handle;
  std::memcpy(&handle, &bits, sizeof(Handle));
  return handle;
}

// NOLINTEND(bugprone-sizeof-expression)

MPI_Comm mpi_comm(Comm comm) {
  return from_bits<MPI_Comm>(comm.bits);
}

// Describes any number of bytes to MPI, whose counts are int in MPI 3: large amounts become one
// element of a derived type.
class Bytes {
 public:
  Bytes(std::size_t bytes, std::size_t most, MPI_Aint offset = 0) {
    if (bytes == 0 || (bytes <= most && offset == 0)) {
      count_ = static_cast<int>(bytes);
      return;
    }
    MPI_Datatype whole_blocks = MPI_DATATYPE_NULL;
    MPI_Datatype block = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(most), MPI_BYTE, &block);
    MPI_Type_contiguous(static_cast<int>(bytes / most), block, &whole_blocks);
    int lengths[2] = {1, static_cast<int>(bytes % most)};
    MPI_Aint places[2] = {offset, offset + static_cast<MPI_Aint>(bytes - (bytes % most))};
    MPI_Datatype types[2] = {whole_blocks, MPI_BYTE};
    MPI_Type_create_struct(2, lengths, places, types, &type_);
    MPI_Type_commit(&type_);
    MPI_Type_free(&block);
    MPI_Type_free(&whole_blocks);
    count_ = 1;
  }
  // Freeing the type is safe here, because MPI keeps types that pending operations use.
  ~Bytes() {
    if (type_ != MPI_BYTE) MPI_Type_free(&type_);
  }
  Bytes(Bytes&& other) noexcept : type_(other.type_), count_(other.count_) {
    other.type_ = MPI_BYTE;
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  Bytes& operator=(Bytes&&) = delete;

  [[nodiscard]] MPI_Datatype type() const { return type_; }
  [[nodiscard]] int count() const { return count_; }

 private:
  MPI_Datatype type_ = MPI_BYTE;
  int count_ = 0;
};

struct Sum {
  static float of(float a, float b) { return a + b; }
};
struct Product {
  static float of(float a, float b) { return a * b; }
};
struct Min {
  static float of(float a, float b) { return b < a ? b : a; }
};
struct Max {
  static float of(float a, float b) { return a < b ? b : a; }
};

template <class Half, class Operator>
void reduce_half(void* in, void* in_out, int* count, MPI_Datatype* /*type*/) {
  const auto* a = static_cast<const Half*>(in);
  auto* b = static_cast<Half*>(in_out);
  for (int i = 0; i < *count; ++i)
    b[i] = Half::from(Operator::of(static_cast<float>(a[i]), static_cast<float>(b[i])));
}

MPI_Datatype mpi_type(Type type) {
  switch (type) {
    case Type::kInt8:
      return MPI_INT8_T;
    case Type::kUint8:
      return MPI_UINT8_T;
    case Type::kInt16:
      return MPI_INT16_T;
    case Type::kUint16:
    case Type::kFloat16:
    case Type::kBfloat16:
      return MPI_UINT16_T;
    case Type::kInt32:
      return MPI_INT32_T;
    case Type::kUint32:
      return MPI_UINT32_T;
    case Type::kInt64:
      return MPI_INT64_T;
    case Type::kUint64:
      return MPI_UINT64_T;
    case Type::kFloat32:
      return MPI_FLOAT;
    case Type::kFloat64:
      return MPI_DOUBLE;
    case Type::kComplex64:
      return MPI_C_FLOAT_COMPLEX;
    case Type::kComplex128:
      return MPI_C_DOUBLE_COMPLEX;
    case Type::kBool:
      return MPI_C_BOOL;
  }
  return MPI_DATATYPE_NULL;
}

#ifdef OMPI_MAJOR_VERSION
// Open MPI does not choose the algorithm of its non-blocking all-reduce by size, and the one that
// suits large messages takes twice as long for small ones. The setting applies to the whole process
// but can change between calls, so it is switched for one call and restored right after it.
class SmallAllReduces {
 public:
  // Switches from Open MPI's default, which moves every byte twice, to an algorithm that is as fast
  // as the blocking call. Does nothing if the user has set an algorithm or if it cannot be changed.
  // Call this after MPI_Init.
  void prepare() {
    constexpr int kOpenMpisChoice = 0;
    constexpr const char* kName = "coll_libnbc_iallreduce_algorithm";
    int level = 0;
    int index = 0;
    int count = 0;
    if (MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS) return;
    if (MPI_T_cvar_get_index(kName, &index) != MPI_SUCCESS) return;
    if (MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &count) != MPI_SUCCESS) return;
    int algorithm = -1;
    if (count == 1) MPI_T_cvar_read(handle_, &algorithm);
    can_change_ = algorithm == kOpenMpisChoice && set(kRabenseifner);
  }

  template <class Call>
  int around(std::size_t bytes, const Call& call) {
    if (!can_change_ || bytes > kSmall) return call();
    const bool changed = set(kRecursiveDoubling);
    const int error = call();
    if (changed) set(kRabenseifner);
    return error;
  }

 private:
  bool set(int algorithm) { return MPI_T_cvar_write(handle_, &algorithm) == MPI_SUCCESS; }

  static constexpr int kRabenseifner = 3;
  static constexpr int kRecursiveDoubling = 4;
  static constexpr std::size_t kSmall = 16 << 10;
  MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
  bool can_change_ = false;
};
#else
struct SmallAllReduces {
  void prepare() {}
  template <class Call>
  int around(std::size_t /*bytes*/, const Call& call) {
    return call();
  }
};
#endif

class Plugin final : public Library {
 public:
  Plugin() {
    // Lets a test reach the code for more than 2^31 elements with a small tensor.
    if (const char* most = std::getenv("MUSTER_MPI_MOST_ELEMENTS")) {
      const auto value = std::strtoul(most, nullptr, 10);
      if (value > 0 && value < INT_MAX) most_ = value;
    }
  }

  [[nodiscard]] std::string version() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text, static_cast<std::size_t>(length));
    return all.substr(0, all.find_first_of("\n\t,"));
  }

  [[nodiscard]] std::string error_text(int error) const override {
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(error, text, &length);
    return {text, static_cast<std::size_t>(length)};
  }

  [[nodiscard]] CudaSupport cuda() const override {
    // Not every MPI has this extension.
    auto* query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
#ifdef OMPI_MAJOR_VERSION
    constexpr bool kIsOpenMpi = true;
#else
    constexpr bool kIsOpenMpi = false;
#endif
    return cuda_support(kIsOpenMpi, query != nullptr && query() == 1);
  }

  [[nodiscard]] bool initialised() const override {
    int flag = 0;
    MPI_Initialized(&flag);
    return flag != 0;
  }

  [[nodiscard]] bool finalised() const override {
    int flag = 0;
    MPI_Finalized(&flag);
    return flag != 0;
  }

  [[nodiscard]] int initialise(ThreadLevel& provided) override {
    int level = MPI_THREAD_SINGLE;
    int error = MPI_SUCCESS;
    if (initialised()) {
      error = MPI_Query_thread(&level);
    } else {
      error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
      if (error == MPI_SUCCESS) small_all_reduces_.prepare();
#ifndef OMPI_MAJOR_VERSION
      // If its automatic clean-up is off, hydra notifies the surviving ranks of a death with
      // SIGUSR1, whose default action would kill them.
      struct sigaction now{};
      if (sigaction(SIGUSR1, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
        std::signal(SIGUSR1, SIG_IGN);
#endif
    }
    provided = level == MPI_THREAD_MULTIPLE     ? ThreadLevel::kMultiple
               : level == MPI_THREAD_SERIALIZED ? ThreadLevel::kSerialized
               : level == MPI_THREAD_FUNNELED   ? ThreadLevel::kFunneled
                                                : ThreadLevel::kSingle;
    return error;
  }

  [[nodiscard]] int finalise() override { return MPI_Finalize(); }

  // MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF, which calls our callback.
  [[nodiscard]] int before_finalise(std::function<void()> act) override {
    before_finalise_ = std::move(act);
    int key = MPI_KEYVAL_INVALID;
    const auto deleted = [](MPI_Comm, int, void* value, void*) {
      static_cast<Plugin*>(value)->before_finalise_();
      return MPI_SUCCESS;
    };
    const int error = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, nullptr);
    return error != MPI_SUCCESS ? error : MPI_Comm_set_attr(MPI_COMM_SELF, key, this);
  }

  [[nodiscard]] int duplicate_world(Comm& made) override {
    MPI_Comm comm = MPI_COMM_NULL;
    const int error = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    return error != MPI_SUCCESS ? error : adopt(comm, made);
  }

  [[nodiscard]] int subgroup(Comm parent, const std::vector<int>& ranks, int tag,
                             Comm& made) override {
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    int error = MPI_Comm_group(mpi_comm(parent), &all);
    if (error == MPI_SUCCESS)
      error = MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some);
    if (error == MPI_SUCCESS) error = MPI_Comm_create_group(mpi_comm(parent), some, tag, &comm);
    if (some != MPI_GROUP_NULL) MPI_Group_free(&some);
    if (all != MPI_GROUP_NULL) MPI_Group_free(&all);
    return error != MPI_SUCCESS ? error : adopt(comm, made);
  }

  [[nodiscard]] int gather_names(Comm comm, const std::string& name,
                                 std::vector<std::string>& names) override {
    std::string mine = name.substr(0, kNameBytes);
    mine.resize(kNameBytes);
    std::string all(kNameBytes * static_cast<std::size_t>(size(comm)), '\0');
    constexpr int kBytes = static_cast<int>(kNameBytes);
    const int error =
        MPI_Allgather(mine.data(), kBytes, MPI_BYTE, all.data(), kBytes, MPI_BYTE, mpi_comm(comm));
    for (std::size_t at = 0; at < all.size(); at += kNameBytes)
      names.emplace_back(all.c_str() + at, strnlen(all.c_str() + at, kNameBytes));
    return error;
  }

  [[nodiscard]] int free(Comm& comm) override {
    MPI_Comm handle = mpi_comm(comm);
    return MPI_Comm_free(&handle);
  }

  [[nodiscard]] int rank(Comm comm) const override {
    int rank = -1;
    MPI_Comm_rank(mpi_comm(comm), &rank);
    return rank;
  }

  [[nodiscard]] int size(Comm comm) const override {
    int size = 0;
    MPI_Comm_size(mpi_comm(comm), &size);
    return size;
  }

  [[nodiscard]] int highest_tag() const override {
    int* highest = nullptr;
    int found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&highest), &found);
    return found != 0 ? *highest : 32767;  // the minimum that the MPI standard guarantees
  }

  [[nodiscard]] std::size_t most_elements() const override { return most_; }

  // Open MPI's non-blocking reductions move all bytes before they add them. With pieces, the two
  // overlap and the data stays in the CPU's cache. MPICH gains nothing from pieces.
  [[nodiscard]] std::size_t piece_bytes() const override {
#ifdef OMPI_MAJOR_VERSION
    return std::size_t{4} << 20;
#else
    return 0;
#endif
  }

  [[nodiscard]] int ibarrier(Comm comm, Request& request) override {
    MPI_Request begun = MPI_REQUEST_NULL;
    const int error = MPI_Ibarrier(mpi_comm(comm), &begun);
    return keep(error, begun, request);
  }

  [[nodiscard]] int ibroadcast(void* data, std::size_t bytes, int root, Comm comm,
                               Request& request) override {
    const Bytes all(bytes, most_);
    MPI_Request begun = MPI_REQUEST_NULL;
    const int error = MPI_Ibcast(data, all.count(), all.type(), root, mpi_comm(comm), &begun);
    return keep(error, begun, request);
  }

  [[nodiscard]] int iallreduce(void* data, std::size_t count, Type type, Reduction reduction,
                               Comm comm, Request& request) override {
    MPI_Request begun = MPI_REQUEST_NULL;
    int element = 0;
    MPI_Type_size(mpi_type(type), &element);
    const int error = small_all_reduces_.around(count * static_cast<std::size_t>(element), [&] {
      return MPI_Iallreduce(MPI_IN_PLACE, data, static_cast<int>(count), mpi_type(type),
                            mpi_op(type, reduction), mpi_comm(comm), &begun);
    });
    return keep(error, begun, request);
  }

  [[nodiscard]] int ireduce(const void* from, void* to, std::size_t count, Type type,
                            Reduction reduction, int root, Comm comm, Request& request) override {
    const bool in_place = from == to && rank(comm) == root;
    MPI_Request begun = MPI_REQUEST_NULL;
    const int error =
        MPI_Ireduce(in_place ? MPI_IN_PLACE : from, to, static_cast<int>(count), mpi_type(type),
                    mpi_op(type, reduction), root, mpi_comm(comm), &begun);
    return keep(error, begun, request);
  }

  [[nodiscard]] int ireduce_scatter(const void* from, void* to, std::size_t count_each, Type type,
                                    Reduction reduction, Comm comm, Request& request) override {
    MPI_Request begun = MPI_REQUEST_NULL;
    const int error =
        MPI_Ireduce_scatter_block(from, to, static_cast<int>(count_each), mpi_type(type),
                                  mpi_op(type, reduction), mpi_comm(comm), &begun);
    return keep(error, begun, request);
  }

  [[nodiscard]] int iallgather(const void* from, void* to, std::size_t bytes_each, Comm comm,
                               Request& request) override {
    const Bytes each(bytes_each, most_);
    MPI_Request begun = MPI_REQUEST_NULL;
    const auto* place =
        static_cast<const std::byte*>(to) + (bytes_each * static_cast<std::size_t>(rank(comm)));
    const void* mine = from == place ? MPI_IN_PLACE : from;
    const int error = MPI_Iallgather(mine, each.count(), each.type(), to, each.count(), each.type(),
                                     mpi_comm(comm), &begun);
    return keep(error, begun, request);
  }

  [[nodiscard]] int igather(const void* from, void* to, std::size_t bytes_each, int root, Comm comm,
                            Request& request) override {
    const Bytes each(bytes_each, most_);
    MPI_Request begun = MPI_REQUEST_NULL;
    const int error = MPI_Igather(from, each.count(), each.type(), to, each.count(), each.type(),
                                  root, mpi_comm(comm), &begun);
    return keep(error, begun, request);
  }

  [[nodiscard]] int iscatter(const void* from, void* to, std::size_t bytes_each, int root,
                             Comm comm, Request& request) override {
    const Bytes each(bytes_each, most_);
    MPI_Request begun = MPI_REQUEST_NULL;
    const int error = MPI_Iscatter(from, each.count(), each.type(), to, each.count(), each.type(),
                                   root, mpi_comm(comm), &begun);
    return keep(error, begun, request);
  }

  [[nodiscard]] int ialltoall(const void* from, const std::vector<std::size_t>& send_bytes,
                              void* to, const std::vector<std::size_t>& receive_bytes, Comm comm,
                              Request& request) override;

  [[nodiscard]] int isend(const void* data, std::size_t bytes, int to, int tag, Comm comm,
                          Request& request) override {
    const Bytes all(bytes, most_);
    MPI_Request begun = MPI_REQUEST_NULL;
    const int error = MPI_Isend(data, all.count(), all.type(), to, tag, mpi_comm(comm), &begun);
    return keep(error, begun, request);
  }

  [[nodiscard]] int ireceive(void* data, std::size_t bytes, int from, int tag, Comm comm,
                             Request& request) override {
    const Bytes all(bytes, most_);
    MPI_Request begun = MPI_REQUEST_NULL;
    const int source = from == kAnySource ? MPI_ANY_SOURCE : from;
    const int error = MPI_Irecv(data, all.count(), all.type(), source, tag, mpi_comm(comm), &begun);
    return keep(error, begun, request);
  }

  [[nodiscard]] int test(Request& request, Completion& completion) override {
    auto begun = from_bits<MPI_Request>(request.bits);
    MPI_Status status;
    int done = 0;
    const int error = MPI_Test(&begun, &done, &status);
    request.bits = to_bits(begun);
    completion.done = done != 0;
    if (completion.done) completion.source = status.MPI_SOURCE;
    return error;
  }

  [[nodiscard]] int take(void* data, std::size_t bytes, int tag, Comm comm,
                         Completion& taken) override {
    MPI_Status status;
    int found = 0;
    int error = MPI_Iprobe(MPI_ANY_SOURCE, tag, mpi_comm(comm), &found, &status);
    if (error != MPI_SUCCESS || found == 0) return error;
    taken.source = status.MPI_SOURCE;
    error = MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, taken.source, tag, mpi_comm(comm),
                     MPI_STATUS_IGNORE);
    taken.done = error == MPI_SUCCESS;
    return error;
  }

 private:
  static int adopt(MPI_Comm comm, Comm& made) {
    made.bits = to_bits(comm);
    return MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }

  static int keep(int error, MPI_Request begun, Request& request) {
    request.bits = to_bits(begun);
    return error;
  }

  MPI_Op mpi_op(Type type, Reduction reduction) {
    if (type == Type::kFloat16) return half_op<Float16>(float16_, reduction);
    if (type == Type::kBfloat16) return half_op<Bfloat16>(bfloat16_, reduction);
    if (type == Type::kBool) {
      switch (reduction) {
        case Reduction::kSum:
        case Reduction::kMax:
        case Reduction::kBitOr:
          return MPI_LOR;
        case Reduction::kBitXor:
          return MPI_LXOR;
        default:
          return MPI_LAND;
      }
    }
    switch (reduction) {
      case Reduction::kSum:
        return MPI_SUM;
      case Reduction::kProduct:
        return MPI_PROD;
      case Reduction::kMin:
        return MPI_MIN;
      case Reduction::kMax:
        return MPI_MAX;
      case Reduction::kBitAnd:
        return MPI_BAND;
      case Reduction::kBitOr:
        return MPI_BOR;
      case Reduction::kBitXor:
        return MPI_BXOR;
    }
    return MPI_OP_NULL;
  }

  // MPI's handles for sum, product, minimum and maximum of one type, each created on first use.
  using Ops = MPI_Op[4];

  template <class Half>
  static MPI_Op half_op(Ops& ops, Reduction reduction) {
    const auto index = static_cast<std::size_t>(reduction);
    if (index >= std::size(ops)) return MPI_OP_NULL;
    MPI_User_function* functions[] = {reduce_half<Half, Sum>, reduce_half<Half, Product>,
                                      reduce_half<Half, Min>, reduce_half<Half, Max>};
    if (ops[index] == MPI_OP_NULL) MPI_Op_create(functions[index], 1, &ops[index]);
    return ops[index];
  }

  std::size_t most_ = INT_MAX;
  std::function<void()> before_finalise_;
  SmallAllReduces small_all_reduces_;
  Ops float16_ = {MPI_OP_NULL, MPI_OP_NULL, MPI_OP_NULL, MPI_OP_NULL};
  Ops bfloat16_ = {MPI_OP_NULL, MPI_OP_NULL, MPI_OP_NULL, MPI_OP_NULL};
};

// One side of an all-to-all: the count, displacement and type for each rank.
struct Side {
  Side(const std::vector<std::size_t>& bytes, std::size_t most) {
    const std::size_t total = std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
    std::size_t place = 0;
    for (const std::size_t each : bytes) {
      // Displacements are int too. If they might not fit, each derived type contains its offset
      // instead.
      const auto inside = total <= most ? 0 : static_cast<MPI_Aint>(place);
      owned.emplace_back(each, most, inside);
      counts.push_back(owned.back().count());
      places.push_back(inside != 0 ? 0 : static_cast<int>(place));
      types.push_back(owned.back().type());
      place += each;
    }
  }

  std::vector<Bytes> owned;
  std::vector<int> counts;
  std::vector<int> places;
  std::vector<MPI_Datatype> types;
};

int Plugin::ialltoall(const void* from, const std::vector<std::size_t>& send_bytes, void* to,
                      const std::vector<std::size_t>& receive_bytes, Comm comm, Request& request) {
  // Never MPI_Ialltoall: this rank cannot know whether all amounts are equal everywhere, and all
  // ranks must make the same call.
  const auto sides = std::make_shared<std::pair<Side, Side>>(
      std::piecewise_construct, std::forward_as_tuple(send_bytes, most_),
      std::forward_as_tuple(receive_bytes, most_));
  const auto& [out, in] = *sides;
  MPI_Request begun = MPI_REQUEST_NULL;
  const int error =
      MPI_Ialltoallw(from, out.counts.data(), out.places.data(), out.types.data(), to,
                     in.counts.data(), in.places.data(), in.types.data(), mpi_comm(comm), &begun);
  request.arguments = sides;
  return keep(error, begun, request);
}

}  // namespace
}  // namespace muster::mpi

extern "C" __attribute__((visibility("default"))) muster::mpi::Library* muster_mpi_library() {
  return new muster::mpi::Plugin;
}
