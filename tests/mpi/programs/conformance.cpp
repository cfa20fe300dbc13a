// Tests every collective x type x reduction x group of a backend, and compares each result with one
// that a single process computes. Argument: mpi or gloo. Prints how many cases passed. A failed
// case is named, and the exit code is 1.
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <ATen/Parallel.h>

#include "backends.hpp"

namespace {

using at::Tensor;
using c10d::ReduceOp;
using Tensors = std::vector<Tensor>;

const std::vector<at::ScalarType> kTypes = {
    at::kChar,   at::kByte,   at::kShort,  at::kUInt16,       at::kInt,
    at::kUInt32, at::kLong,   at::kUInt64, at::kHalf,         at::kBFloat16,
    at::kFloat,  at::kDouble, at::kBool,   at::kComplexFloat, at::kComplexDouble};
const std::vector<ReduceOp::RedOpType> kOps = {ReduceOp::SUM, ReduceOp::AVG,  ReduceOp::PRODUCT,
                                               ReduceOp::MIN, ReduceOp::MAX,  ReduceOp::BAND,
                                               ReduceOp::BOR, ReduceOp::BXOR, ReduceOp::PREMUL_SUM};
const std::map<ReduceOp::RedOpType, const char*> kNames = {
    {ReduceOp::SUM, "sum"}, {ReduceOp::AVG, "avg"},   {ReduceOp::PRODUCT, "product"},
    {ReduceOp::MIN, "min"}, {ReduceOp::MAX, "max"},   {ReduceOp::BAND, "band"},
    {ReduceOp::BOR, "bor"}, {ReduceOp::BXOR, "bxor"}, {ReduceOp::PREMUL_SUM, "premul"}};
const std::vector<int64_t> kLengths = {0, 17, 1000};

// Returns small integers that are exact in every type and differ by rank and position.
Tensor input(int rank, int64_t length, at::ScalarType type) {
  Tensor numbers = (at::arange(length, at::kLong) + 3 * rank).remainder(4) + 1;
  if (type == at::kBool) return numbers.remainder(2).to(type);
  if (!at::isComplexType(type)) return numbers.to(type);
  return at::complex(numbers.to(at::kDouble), (numbers + rank).remainder(3).to(at::kDouble))
      .to(type);
}

// Returns the type in which expected results are computed, for which torch has all operators.
at::ScalarType wide(at::ScalarType type) {
  if (at::isComplexType(type)) return at::kComplexDouble;
  return at::isIntegralType(type, true) ? at::kLong : at::kDouble;
}

Tensor reduced(const Tensors& all, ReduceOp::RedOpType op, at::ScalarType type) {
  Tensor result = all[0].to(wide(type));
  if (op == ReduceOp::PREMUL_SUM) result = result * 2;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Tensor next = all[i].to(wide(type));
    switch (op) {
      case ReduceOp::PRODUCT:
        result = result * next;
        break;
      case ReduceOp::MIN:
        result = at::minimum(result, next);
        break;
      case ReduceOp::MAX:
        result = at::maximum(result, next);
        break;
      case ReduceOp::BAND:
        result = at::bitwise_and(result, next);
        break;
      case ReduceOp::BOR:
        result = at::bitwise_or(result, next);
        break;
      case ReduceOp::BXOR:
        result = at::bitwise_xor(result, next);
        break;
      case ReduceOp::PREMUL_SUM:
        result = result + next * 2;
        break;
      default:
        result = result + next;
    }
  }
  if (type == at::kBool) return result.ne(0);
  const auto count = static_cast<int64_t>(all.size());
  result = result.to(type);
  if (op != ReduceOp::AVG) return result;
  return at::isIntegralType(type, true) ? at::div(result, count, "trunc") : at::div(result, count);
}

bool makes_sense(at::ScalarType type, ReduceOp::RedOpType op) {
  const bool bits = op == ReduceOp::BAND || op == ReduceOp::BOR || op == ReduceOp::BXOR;
  const bool order = op == ReduceOp::MIN || op == ReduceOp::MAX;
  if (bits) return at::isIntegralType(type, true);
  if (order) return !at::isComplexType(type);
  const bool scales = op == ReduceOp::AVG || op == ReduceOp::PREMUL_SUM;
  return !scales ||
         (type != at::kBool && type != at::kUInt16 && type != at::kUInt32 && type != at::kUInt64);
}

// Whether Gloo supports the combination and computes it as MPI does. The suite for Gloo leaves out
// all others.
bool gloo_has(at::ScalarType type, ReduceOp::RedOpType op) {
  static const std::set<at::ScalarType> kGloo = {at::kChar, at::kByte,  at::kInt,   at::kLong,
                                                 at::kHalf, at::kFloat, at::kDouble};
  if (op == ReduceOp::AVG || op == ReduceOp::PREMUL_SUM) return false;
  return kGloo.count(type) > 0;
}

class Suite {
 public:
  Suite(std::string backend, int world_rank) : backend_(std::move(backend)), rank_(world_rank) {}

  void run(const std::string& name, const std::function<void()>& body) {
    try {
      body();
      ++passed_;
    } catch (const c10::Error& error) {
      fail(name, error.what_without_backtrace());
    } catch (const std::exception& error) {
      fail(name, error.what());
    }
  }

  void refused(const std::string& name, const std::string& needle,
               const std::function<void()>& body) {
    run(name, [&] {
      std::string text;
      try {
        body();
      } catch (const std::exception& error) {
        text = error.what();
      }
      TORCH_CHECK(text.find(needle) != std::string::npos, "expected an error with '", needle,
                  "', got '", text, "'");
    });
  }

  [[nodiscard]] bool gloo() const { return backend_ == "gloo"; }

  int report(int size) const {
    std::printf("conformance: %s, rank %d of %d: %d cases passed, %d failed\n", backend_.c_str(),
                rank_, size, passed_, failed_);
    return failed_ == 0 ? 0 : 1;
  }

 private:
  void fail(const std::string& name, const char* why) {
    ++failed_;
    std::fprintf(stderr, "rank %d: FAILED %s: %s\n", rank_, name.c_str(), why);
    if (failed_ > 20) std::exit(1);
  }

  std::string backend_;
  int rank_;
  int passed_ = 0;
  int failed_ = 0;
};

void same(const Tensor& got, const Tensor& expected) {
  TORCH_CHECK(got.scalar_type() == expected.scalar_type() && got.numel() == expected.numel(),
              "another type or size");
  // Compares bytes, because torch cannot compare every type.
  if (got.numel() == 0) return;
  const Tensor a = got.contiguous().view({-1});
  const Tensor b = expected.contiguous().view({-1});
  TORCH_CHECK(std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0, "got ",
              a.slice(0, 0, 4).to(wide(a.scalar_type())), " instead of ",
              b.slice(0, 0, 4).to(wide(b.scalar_type())));
}

ReduceOp reduce_op(ReduceOp::RedOpType op) {
  return op == ReduceOp::PREMUL_SUM ? c10d::makePreMulSum(2.0) : ReduceOp(op);
}

Tensors inputs(int size, int64_t length, at::ScalarType type) {
  Tensors all;
  for (int rank = 0; rank < size; ++rank) all.push_back(input(rank, length, type));
  return all;
}

void reductions(Suite& suite, c10d::Backend& group, const std::string& label, at::ScalarType type,
                ReduceOp::RedOpType op, int64_t length) {
  const int size = group.getSize();
  const int rank = group.getRank();
  const auto all = inputs(size, length, type);
  const std::string name =
      label + " " + c10::toString(type) + " " + kNames.at(op) + " x" + std::to_string(length);
  for (const bool async : {false, true})
    suite.run("all_reduce " + name, [&] {
      Tensors mine{input(rank, length, type)};
      c10d::AllreduceOptions options;
      options.reduceOp = reduce_op(op);
      options.asyncOp = async;
      group.allreduce(mine, options)->wait();
      same(mine[0], reduced(all, op, type));
    });
  const int root = size - 1;
  suite.run("reduce " + name, [&] {
    Tensors mine{input(rank, length, type)};
    c10d::ReduceOptions options;
    options.reduceOp = reduce_op(op);
    options.rootRank = root;
    group.reduce(mine, options)->wait();
    // Gloo uses the other ranks' tensors as scratch memory.
    if (rank == root || !suite.gloo())
      same(mine[0], rank == root ? reduced(all, op, type) : all[rank]);
  });
  const auto whole = inputs(size, length * size, type);
  const auto expected = [&] {
    return reduced(whole, op, type).slice(0, rank * length, (rank + 1) * length).contiguous();
  };
  c10d::ReduceScatterOptions scatter;
  scatter.reduceOp = reduce_op(op);
  suite.run("reduce_scatter_base " + name, [&] {
    Tensor out = at::empty({length}, type);
    Tensor in = whole[rank].clone();
    group._reduce_scatter_base(out, in, scatter)->wait();
    same(out, expected());
  });
  if (suite.gloo()) return;
  suite.run("reduce_scatter " + name, [&] {
    Tensors out{at::empty({length}, type)};
    std::vector<Tensors> in{whole[rank].tensor_split(size)};
    group.reduce_scatter(out, in, scatter)->wait();
    same(out[0], expected());
  });
  suite.run("all_reduce_coalesced " + name, [&] {
    Tensors mine{input(rank, length, type), input(rank, length + 1, type)};
    c10d::AllreduceCoalescedOptions options;
    options.reduceOp = reduce_op(op);
    group.allreduce_coalesced(mine, options)->wait();
    same(mine[0], reduced(all, op, type));
    same(mine[1], reduced(inputs(size, length + 1, type), op, type));
  });
  suite.run("reduce_scatter_tensor_coalesced " + name, [&] {
    Tensors out{at::empty({length}, type), at::empty({length}, type)};
    Tensors in{whole[rank].clone(), whole[rank].clone()};
    group.reduce_scatter_tensor_coalesced(out, in, scatter)->wait();
    same(out[0], expected());
    same(out[1], expected());
  });
}

void movements(Suite& suite, c10d::Backend& group, const std::string& label, at::ScalarType type,
               int64_t length) {
  const int size = group.getSize();
  const int rank = group.getRank();
  const auto all = inputs(size, length, type);
  const auto empties = [&](int count) {
    Tensors list;
    for (int i = 0; i < count; ++i) list.push_back(at::empty({length}, type));
    return list;
  };
  const std::string name = label + " " + c10::toString(type) + " x" + std::to_string(length);
  for (int root = 0; root < size; ++root) {
    suite.run("broadcast " + name, [&] {
      Tensors mine{input(rank, length, type)};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      group.broadcast(mine, options)->wait();
      same(mine[0], all[root]);
    });
    suite.run("gather " + name, [&] {
      Tensors mine{all[rank]};
      std::vector<Tensors> out;
      if (rank == root) out.push_back(empties(size));
      c10d::GatherOptions options;
      options.rootRank = root;
      group.gather(out, mine, options)->wait();
      if (rank == root)
        for (int i = 0; i < size; ++i) same(out[0][i], all[i]);
    });
    suite.run("scatter " + name, [&] {
      Tensors out = empties(1);
      std::vector<Tensors> in;
      if (rank == root) in.push_back(all);
      c10d::ScatterOptions options;
      options.rootRank = root;
      group.scatter(out, in, options)->wait();
      same(out[0], all[rank]);
    });
  }
  suite.run("all_gather " + name, [&] {
    Tensors mine{all[rank]};
    std::vector<Tensors> out{empties(size)};
    group.allgather(out, mine, {})->wait();
    for (int i = 0; i < size; ++i) same(out[0][i], all[i]);
  });
  suite.run("all_gather_base " + name, [&] {
    Tensor mine = all[rank];
    Tensor out = at::empty({length * size}, type);
    group._allgather_base(out, mine, {})->wait();
    for (int i = 0; i < size; ++i) same(out.slice(0, i * length, (i + 1) * length), all[i]);
  });
  suite.run("all_gather_coalesced " + name, [&] {
    Tensors mine{all[rank], all[rank]};
    std::vector<Tensors> out;
    for (int i = 0; i < size; ++i) out.push_back(empties(2));
    group.allgather_coalesced(out, mine, {})->wait();
    for (int i = 0; i < size; ++i) {
      same(out[i][0], all[i]);
      same(out[i][1], all[i]);
    }
  });
  suite.run("all_to_all_base, uneven " + name, [&] {
    // Rank r sends r + d + 1 rows to rank d.
    std::vector<int64_t> to;
    std::vector<int64_t> from;
    int64_t rows = 0;
    int64_t arriving = 0;
    for (int other = 0; other < size; ++other) {
      to.push_back(rank + other + 1);
      from.push_back(other + rank + 1);
      rows += to.back();
      arriving += from.back();
    }
    Tensor in = input(rank, rows * length, type).view({rows, length});
    Tensor out = at::empty({arriving, length}, type);
    auto from_there = from;  // Gloo moves from its argument
    group.alltoall_base(out, in, from_there, to, {})->wait();
    int64_t at = 0;
    for (int other = 0; other < size; ++other) {
      int64_t skip = 0;
      for (int before = 0; before < rank; ++before) skip += other + before + 1;
      int64_t total = 0;
      for (int each = 0; each < size; ++each) total += other + each + 1;
      const Tensor sent = input(other, total * length, type).view({total, length});
      same(out.slice(0, at, at + from[other]), sent.slice(0, skip, skip + from[other]));
      at += from[other];
    }
  });
  suite.run("all_to_all_base, nothing but from the last rank to itself " + name, [&] {
    std::vector<int64_t> rows(static_cast<std::size_t>(size), 0);
    if (rank == size - 1) rows.back() = 2;
    auto arriving = rows;
    Tensor in = input(rank, 2 * length, type).view({2, length}).slice(0, 0, rows.back());
    Tensor out = at::empty({rows.back(), length}, type);
    group.alltoall_base(out, in, arriving, rows, {})->wait();
    same(out, in);
  });
  suite.run("all_to_all_base, even " + name, [&] {
    Tensor in = input(rank, size * length, type);
    Tensor out = at::empty({size * length}, type);
    std::vector<int64_t> none;
    group.alltoall_base(out, in, none, none, {})->wait();
    for (int i = 0; i < size; ++i)
      same(out.slice(0, i * length, (i + 1) * length),
           input(i, size * length, type).slice(0, rank * length, (rank + 1) * length));
  });
  suite.run("send and recv " + name, [&] {
    Tensors mine{all[rank]};
    Tensors got = empties(1);
    const int next = (rank + 1) % size;
    const int previous = (rank + size - 1) % size;
    if (size == 1) return;
    auto sent = group.send(mine, next, 7);
    group.recv(got, previous, 7)->wait();
    sent->wait();
    same(got[0], all[previous]);
  });
  suite.run("barrier " + name, [&] { group.barrier({})->wait(); });
  if (suite.gloo()) return;
  suite.run("all_gather_base in place " + name, [&] {
    Tensor out = at::zeros({length * size}, type);
    Tensor mine = out.slice(0, rank * length, (rank + 1) * length);
    mine.copy_(all[rank]);
    group._allgather_base(out, mine, {})->wait();
    for (int i = 0; i < size; ++i) same(out.slice(0, i * length, (i + 1) * length), all[i]);
  });
  suite.run("reduce_scatter_base into its input " + name, [&] {
    if (!makes_sense(type, ReduceOp::MAX)) return;
    Tensor in = input(rank, length * size, type);
    Tensor out = in.slice(0, rank * length, (rank + 1) * length);
    c10d::ReduceScatterOptions options;
    options.reduceOp = ReduceOp::MAX;
    group._reduce_scatter_base(out, in, options)->wait();
    same(out, reduced(inputs(size, length * size, type), ReduceOp::MAX, type)
                  .slice(0, rank * length, (rank + 1) * length));
  });
  suite.run("all_to_all " + name, [&] {
    Tensors in;
    for (int i = 0; i < size; ++i) in.push_back(input(rank * size + i, length, type));
    Tensors out = empties(size);
    group.alltoall(out, in, {})->wait();
    for (int i = 0; i < size; ++i) same(out[i], input(i * size + rank, length, type));
  });
  suite.run("all_gather_into_tensor_coalesced " + name, [&] {
    Tensors mine{all[rank], all[rank]};
    Tensors out{at::empty({length * size}, type), at::empty({length * size}, type)};
    group.allgather_into_tensor_coalesced(out, mine, {})->wait();
    for (const auto& each : out)
      for (int i = 0; i < size; ++i) same(each.slice(0, i * length, (i + 1) * length), all[i]);
  });
}

void any_source(Suite& suite, c10d::Backend& group, const std::string& label) {
  const int size = group.getSize();
  const int rank = group.getRank();
  if (size == 1) return;
  suite.run("recv from any rank " + label, [&] {
    if (rank != 0) {
      Tensors mine{at::full({4}, rank, at::kInt)};
      group.send(mine, 0, 3)->wait();
      return;
    }
    std::set<int> sources;
    for (int i = 1; i < size; ++i) {
      Tensors got{at::empty({4}, at::kInt)};
      auto work = group.recvAnysource(got, 3);
      work->wait();
      TORCH_CHECK(got[0][0].item<int>() == work->sourceRank(), "wrong source");
      sources.insert(work->sourceRank());
    }
    TORCH_CHECK(static_cast<int>(sources.size()) == size - 1, "a rank was missed");
  });
  group.barrier({})->wait();
}

// The error occurs on every rank before MPI is called, so no operation begins.
void refusals(Suite& suite, c10d::Backend& group) {
  suite.refused("a tensor that is not contiguous", "not contiguous", [&] {
    Tensors mine{at::ones({4, 4}).t()};
    group.allreduce(mine, {})->wait();
  });
  suite.refused("a type that MPI cannot reduce", "Float8", [&] {
    Tensors mine{at::ones({4}).to(at::kFloat8_e4m3fn)};
    group.allreduce(mine, {})->wait();
  });
  suite.refused("bits of floating-point numbers", "has no bits", [&] {
    Tensors mine{at::ones({4})};
    c10d::AllreduceOptions options;
    options.reduceOp = ReduceOp::BAND;
    group.allreduce(mine, options)->wait();
  });
  suite.refused("the minimum of complex numbers", "has no minimum", [&] {
    Tensors mine{at::ones({4}, at::kComplexFloat)};
    c10d::AllreduceOptions options;
    options.reduceOp = ReduceOp::MIN;
    group.allreduce(mine, options)->wait();
  });
  suite.refused("the average of truth values", "has no average", [&] {
    Tensors mine{at::ones({4}, at::kBool)};
    c10d::AllreduceOptions options;
    options.reduceOp = ReduceOp::AVG;
    group.allreduce(mine, options)->wait();
  });
  suite.refused("a sparse tensor", "sparse", [&] {
    Tensors mine{at::ones({4, 4}).to_sparse()};
    group.allreduce(mine, {})->wait();
  });
  suite.refused("a tensor that is on no CPU", "cannot access", [&] {
    Tensors mine{at::ones({4}, at::TensorOptions().device(at::kMeta))};
    group.allreduce(mine, {})->wait();
  });
  suite.refused("lists of two types", "tensors of", [&] {
    Tensors in;
    Tensors out;
    for (int i = 0; i < group.getSize(); ++i) {
      in.push_back(at::ones({4}));
      out.push_back(at::ones({4}, at::kDouble));
    }
    group.alltoall(out, in, {})->wait();
  });
  suite.refused("a root that is no rank", "is none of", [&] {
    Tensors mine{at::ones({4})};
    c10d::BroadcastOptions options;
    options.rootRank = group.getSize();
    group.broadcast(mine, options)->wait();
  });
  suite.refused("a tag below zero", "tag", [&] {
    Tensors mine{at::ones({4})};
    group.send(mine, 0, -2)->wait();
  });
}

void futures(Suite& suite, c10d::Backend& group) {
  suite.run("a future and what follows it", [&] {
    Tensors mine{at::ones({8})};
    auto doubled = group.allreduce(mine, {})->getFuture()->then(
        [](c10::ivalue::Future& future) {
          return c10::IValue(future.value().toTensorVector()[0] * 2);
        },
        c10::TensorType::get());
    doubled->wait();
    same(doubled->value().toTensor(), at::full({8}, 2.0 * group.getSize()));
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "mpi";
  at::set_num_threads(1);
  auto world = tests::world(name, std::chrono::seconds(60));
  Suite suite(name, world->getRank());
  for (auto& [label, group] : tests::groups(name, world)) {
    for (const auto type : kTypes)
      for (const int64_t length : kLengths) {
        if (suite.gloo() && length == 0) continue;
        for (const auto op : kOps)
          if (makes_sense(type, op) && (!suite.gloo() || gloo_has(type, op)))
            reductions(suite, *group, label, type, op, length);
        if (!suite.gloo() || gloo_has(type, ReduceOp::SUM))
          movements(suite, *group, label, type, length);
      }
    any_source(suite, *group, label);
  }
  if (!suite.gloo()) {
    refusals(suite, *world);
    futures(suite, *world);
  }
  return suite.report(world->getSize());
}
