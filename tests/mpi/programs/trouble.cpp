// Faults that a backend must survive. Argument: the fault.
//   mixed N SEED      N asynchronous operations of all kinds, waited for in random order
//   in-flight         groups and works are dropped while their operations run
//   crossed           ranks drop their groups in different orders
//   stopped, killed   rank 1 stops or kills itself; the others call an all-reduce, then print the
//                     error that they got and how long it took
//   late              rank 1 comes to the all-reduce too late
//   lonely            rank 0 waits for a message that nobody sends
//   huge              more than 2^31 elements
#include <chrono>
#include <csignal>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <unistd.h>

#include "backends.hpp"

namespace {

using at::Tensor;
using Clock = std::chrono::steady_clock;
using Tensors = std::vector<Tensor>;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

double sum_of_ranks(int size) {
  return size * (size - 1) / 2.0;
}

struct Pending {
  WorkPtr work;
  Tensors tensors;
  double expected;  // expected in every element
};

void settle(Pending& pending) {
  pending.work->wait();
  for (const auto& tensor : pending.tensors)
    TORCH_CHECK(tensor.eq(pending.expected).all().item<bool>(), "got ", tensor[0].item<double>(),
                " instead of ", pending.expected);
}

// All ranks draw the same random numbers, so that they begin collectives in the same order. Only
// the order of waiting differs.
Pending begin(c10d::Backend& group, std::mt19937& random) {
  const int rank = group.getRank();
  const int size = group.getSize();
  const int64_t length = 1 + static_cast<int64_t>(random() % 3000);
  const auto mine = [&](double value) { return Tensors{at::full({length}, value)}; };
  Pending pending;
  switch (random() % 6) {
    case 0:
    case 1: {
      pending.tensors = mine(rank);
      pending.expected = sum_of_ranks(size);
      pending.work = group.allreduce(pending.tensors, {});
      break;
    }
    case 2: {
      c10d::BroadcastOptions options;
      options.rootRank = static_cast<int>(random()) & (size - 1);
      pending.tensors = mine(rank);
      pending.expected = static_cast<double>(options.rootRank);
      pending.work = group.broadcast(pending.tensors, options);
      break;
    }
    case 3: {
      Tensor in = at::full({length * size}, 1.0);
      Tensor out = at::zeros({length});
      pending.tensors = {out};
      pending.expected = size;
      pending.work = group._reduce_scatter_base(out, in, {});
      break;
    }
    case 4: {
      Tensors in = mine(7);
      std::vector<Tensors> out(1);
      for (int i = 0; i < size; ++i) out[0].push_back(at::zeros({length}));
      pending.tensors = out[0];
      pending.expected = 7;
      pending.work = group.allgather(out, in, {});
      break;
    }
    default: {
      Tensors got{at::zeros({length})};
      Tensors sent = mine(rank);
      auto sending = group.send(sent, (rank + 1) % size, 5);
      pending.tensors = got;
      pending.expected = (rank + size - 1) % size;
      pending.work = group.recv(got, (rank + size - 1) % size, 5);
      sending.reset();  // a caller need not keep a work object
    }
  }
  return pending;
}

int mixed(c10d::Backend& group, int count, unsigned seed) {
  std::mt19937 common(seed);
  std::mt19937 own(seed + static_cast<unsigned>(group.getRank()) * 977);
  std::vector<Pending> open;
  for (int i = 0; i < count; ++i) {
    open.push_back(begin(group, common));
    while (open.size() > 200 || (!open.empty() && own() % 2 == 0)) {
      const auto at = own() % open.size();
      settle(open[at]);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  for (auto& pending : open) settle(pending);
  std::printf("rank %d: %d operations are right\n", group.getRank(), count);
  return 0;
}

auto group_of_all(const tests::BackendPtr& world) {
  std::vector<int> all;
  for (int rank = 0; rank < world->getSize(); ++rank) all.push_back(rank);
  return world->split(nullptr, all, nullptr);
}

int crossed(const tests::BackendPtr& world) {
  for (int round = 0; round < 3; ++round) {
    auto one = group_of_all(world);
    auto other = group_of_all(world);
    if (world->getRank() % 2 == 0) one.reset();
    other.reset();
    one.reset();
    world->barrier({})->wait();
  }
  std::printf("rank %d: dropped\n", world->getRank());
  return 0;
}

int in_flight(const tests::BackendPtr& world) {
  std::vector<Tensor> results;
  for (int round = 0; round < 20; ++round) {
    auto group = group_of_all(world);
    for (int i = 0; i < 10; ++i) {
      Tensors tensors{at::ones({100000})};
      results.push_back(tensors[0]);
      group->allreduce(tensors, {});
    }
  }
  world->barrier({})->wait();  // in another group, so the operations may still run
  const auto until = Clock::now() + std::chrono::seconds(30);
  for (const auto& result : results)
    while (result[99999].item<float>() != static_cast<float>(world->getSize()))
      TORCH_CHECK(Clock::now() < until, "an operation never ended");
  std::printf("rank %d: all ended\n", world->getRank());
  // Also begin some operations that will not have ended when the process exits.
  Tensors tensors{at::ones({1000})};
  world->allreduce(tensors, {});
  return 0;
}

// Runs the operation and prints the error with which it ends, and after how long.
int report(c10d::Backend& group, const std::function<WorkPtr()>& operation) {
  const auto began = Clock::now();
  try {
    operation()->wait();
  } catch (const c10::Error& error) {
    const std::chrono::duration<double> took = Clock::now() - began;
    std::printf("rank %d: after %.1f s: %s\n", group.getRank(), took.count(),
                error.what_without_backtrace());
    std::fflush(stdout);
    return 3;
  }
  std::printf("rank %d: nothing was wrong\n", group.getRank());
  return 0;
}

int all_reduce_without(c10d::Backend& group, const std::string& trouble) {
  Tensors tensors{at::ones({1024})};
  group.allreduce(tensors, {})->wait();
  if (group.getRank() == 1) {
    std::printf("rank 1: pid %d\n", getpid());
    std::fflush(stdout);
    if (trouble == "stopped") raise(SIGSTOP);
    if (trouble == "killed") raise(SIGKILL);
    if (trouble == "late") std::this_thread::sleep_for(std::chrono::seconds(1000));
  }
  return report(group, [&] { return group.allreduce(tensors, {}); });
}

int huge(c10d::Backend& group) {
  const int64_t count = (int64_t{1} << 31) + 11;
  Tensors tensors{at::ones({count}, at::kChar)};
  group.allreduce(tensors, {})->wait();
  TORCH_CHECK(tensors[0].eq(group.getSize()).all().item<bool>(), "all_reduce is wrong");
  tensors[0].fill_(group.getRank() == 0 ? 5 : 0);
  group.broadcast(tensors, {})->wait();
  TORCH_CHECK(tensors[0].eq(5).all().item<bool>(), "broadcast is wrong");
  if (group.getRank() == 0) {
    group.send(tensors, 1, 0)->wait();
  } else if (group.getRank() == 1) {
    tensors[0].zero_();
    group.recv(tensors, 0, 0)->wait();
    TORCH_CHECK(tensors[0].eq(5).all().item<bool>(), "recv is wrong");
  }
  std::printf("rank %d: %lld elements are right\n", group.getRank(), static_cast<long long>(count));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string trouble = argc > 1 ? argv[1] : "";
  at::set_num_threads(1);
  const bool faulty =
      trouble == "stopped" || trouble == "killed" || trouble == "late" || trouble == "lonely";
  auto world = tests::world("mpi", std::chrono::seconds(faulty ? 12 : 100));
  if (trouble == "mixed" && argc == 4)
    return mixed(*world, std::atoi(argv[2]), static_cast<unsigned>(std::atoi(argv[3])));
  if (trouble == "in-flight") return in_flight(world);
  if (trouble == "crossed") return crossed(world);
  if (trouble == "huge") return huge(*world);
  if (trouble == "lonely") {
    if (world->getRank() != 0) return 0;
    Tensors tensors{at::ones({4})};
    return report(*world, [&] { return world->recv(tensors, 1, 0); });
  }
  if (faulty) return all_reduce_without(*world, trouble);
  std::fprintf(stderr, "which trouble?\n");
  return 2;
}
