// The promises of DistributedDataParallel and SyncBatchNorm, one case each. There are three ranks,
// because dividing by three and multiplying by its reciprocal round differently. Prints "CASE ok"
// or "CASE FAILED: why". With the argument "mpi" it runs over MPI, started by its mpirun with
// MASTER_PORT.
#include <cmath>
#include <cstdlib>
#include <iostream>

#include <torch/torch.h>

#include "ddp_cases.hpp"
#include "muster/distributed_data_parallel.hpp"
#include "muster/job.hpp"
#include "muster/sync_batch_norm.hpp"
#include "process_group.hpp"

using namespace muster::test;
using muster::DistributedDataParallel;
using muster::DistributedDataParallelOptions;

namespace {

void no_sync(const Group& group) {
  const int rank = group->getRank();
  DistributedDataParallel<Net> net(seeded_net(), group);
  const auto reference = seeded_net();
  {
    const auto guard = net.no_sync();
    for (const int step : {0, 1}) loss_of(net(batch_of(rank, step))).backward();
  }
  expect_close(flat(gradients(*net.module())), gradient_alone(*reference, {rank}, {0, 1}, 1),
               "within no_sync gradients are not this rank's own");
  loss_of(net(batch_of(rank, 2))).backward();
  expect_close(flat(gradients(*net.module())), gradient_alone(*reference, {0, 1, 2}, {0, 1, 2}, 3),
               "after no_sync gradients are not the average of the sums");
  std::optional<DistributedDataParallel<Net>> moved;
  {
    const auto guard = net.no_sync();
    moved.emplace(std::move(net));
  }
  moved->zero_grad();
  loss_of((*moved)(batch_of(rank, 0))).backward();
  expect_close(flat(gradients(*moved->module())), gradient_alone(*reference, {0, 1, 2}, {0}, 3),
               "a wrapper that was moved within no_sync");
}

struct Partly : nn::Module {
  Tensor forward(const Tensor& input) { return used(input); }
  nn::Linear used = register_module("used", nn::Linear(4, 3));
  nn::Linear unused = register_module("unused", nn::Linear(4, 3));
};

Tensor trained_partly(const Group& group, const DistributedDataParallelOptions& options) {
  torch::manual_seed(7);
  DistributedDataParallel net(std::make_shared<Partly>(), group, options);
  torch::optim::SGD optimizer(net.parameters(), 0.1);
  for (int step = 0; step < 5; ++step) {
    net.zero_grad();
    loss_of(net(batch_of(group->getRank(), step))).backward();
    optimizer.step();
  }
  expect(!net->unused->weight.grad().defined(), "an unused parameter has a gradient");
  return weights(*net.module());
}

void static_graph(const Group& group) {
  const Tensor searched = trained_partly(group, {.find_unused_parameters = true});
  expect(torch::equal(trained_partly(group, {.static_graph = true}), searched),
         "static_graph ends with other weights than find_unused_parameters");
  const std::string text = message_of([&] { trained_partly(group, {}); });
  expect(text.find("finished reduction") != text.npos, "no error about unused parameters: " + text);
}

void bucket_view(const Group& group) {
  const Tensor copied = trained(group, {});
  expect(torch::equal(trained(group, {.gradient_as_bucket_view = true}), copied),
         "views give other weights than copies");
  expect_close(trained(group, {.gradient_as_bucket_view = true}, /*set_to_none=*/false), copied,
               "views set to zero in place give other weights");
  DistributedDataParallel<Net> net(seeded_net(), group, {.gradient_as_bucket_view = true});
  train(net, group->getRank(), 2, false);
  const void* before = net->out->weight.grad().data_ptr();
  expect(net->out->weight.grad().storage().nbytes() > net->out->weight.nbytes(),
         "a gradient is no view of a bucket");
  net.zero_grad(false);
  const Tensor& zero = net->out->weight.grad();
  expect(zero.defined() && zero.data_ptr() == before && torch::equal(zero, zero * 0),
         "zero_grad(false) does not set the view to zero in place");
  net.zero_grad();
  expect(!net->out->weight.grad().defined(), "zero_grad() does not set to none");
}

Tensor one_gradient(const Group& group, const DistributedDataParallelOptions& options) {
  DistributedDataParallel<Net> net(seeded_net(), group, options);
  loss_of(net(batch_of(group->getRank(), 0))).backward();
  return flat(gradients(*net.module()));
}

void compression(const Group& group) {
  const Tensor exact = one_gradient(group, {});
  for (const auto kind : {muster::Compression::fp16, muster::Compression::bf16}) {
    const Tensor rounded = one_gradient(group, {.compression = kind});
    expect(!torch::equal(rounded, exact), "nothing was compressed");
    expect((rounded - exact).abs().max().item<double>() < 1e-2, "compressed gradients are far off");
    expect_same_on_all(group, rounded, "a compressed gradient");
  }
  DistributedDataParallel<Net> net(seeded_net(), group, {.compression = muster::Compression::fp16});
  net.join([&] { train(net, group->getRank(), 2 + group->getRank()); },
           {.divide_by_initial_world_size = false});
  const Tensor off = (weights(*net.module()) - uneven_alone(false)).abs().max();
  expect(off.item<double>() < 1e-3, "compressed while joining: off by " + c10::str(off));
}

void user_hook(const Group& group) {
  int calls = 0;
  const Tensor doubled = one_gradient(group, {.hook = [&](c10d::GradBucket& bucket) {
                                        ++calls;
                                        bucket.getBufferRef().mul_(2.0 / group->getSize());
                                        std::vector<Tensor> tensors{bucket.getBuffer()};
                                        return group->allreduce(tensors)->getFuture();
                                      }});
  expect(calls == 1, "the hook was called " + std::to_string(calls) + " times");
  expect_close(doubled, 2 * one_gradient(group, {}), "the hook's result is not the gradient");
  const std::string text = message_of([&] {
    one_gradient(group, {.compression = muster::Compression::fp16,
                         .hook = [](auto&) { return c10::intrusive_ptr<c10::ivalue::Future>(); }});
  });
  expect(text.find("compression") != text.npos, "a hook and compression together: " + text);
}

// Uses a Gloo group that is named "mpi". muster's own hook is then used, but sums are added in
// Gloo's order, so that the bits can be compared.
void average_hook(const Group& /*group*/) {
  const auto gloo = muster::test::gloo_group();
  const auto mpi = muster::test::gloo_group(c10d::ProcessGroup::BackendType::MPI);
  expect(mpi->getBackendName() == "mpi", "the group is called " + mpi->getBackendName());
  for (const bool view : {false, true}) {
    for (const bool set_to_none : {false, true}) {
      for (const int64_t bucket_bytes : {1 << 20, 64}) {
        const DistributedDataParallelOptions options{.gradient_as_bucket_view = view,
                                                     .first_bucket_bytes = bucket_bytes,
                                                     .bucket_bytes = bucket_bytes};
        expect(
            torch::equal(trained(mpi, options, set_to_none), trained(gloo, options, set_to_none)),
            "our hook gives other bits than the Reducer");
      }
    }
  }
  DistributedDataParallel<Net> net(seeded_net(), mpi);
  net.join([&] { train(net, mpi->getRank(), 2 + mpi->getRank()); },
           {.divide_by_initial_world_size = false});
  expect_close(weights(*net.module()), uneven_alone(false), "our hook while joining");
}

void sparse(const Group& /*group*/) {
  const auto embedding = [] {
    torch::manual_seed(7);
    return nn::Sequential(nn::Embedding(nn::EmbeddingOptions(5, 3).sparse(true)));
  };
  const auto gloo = muster::test::gloo_group();
  DistributedDataParallel net(embedding(), gloo);
  net(torch::full({1}, gloo->getRank())).sum().backward();
  const Tensor expected = torch::cat({torch::ones({3, 3}), torch::zeros({2, 3})}) / 3;
  expect_close(net.parameters()[0].grad().to_dense(), expected, "a sparse gradient");
  const auto mpi = muster::test::gloo_group(c10d::ProcessGroup::BackendType::MPI);
  const std::string text = message_of([&] { DistributedDataParallel refused(embedding(), mpi); });
  expect(text.find("the gradient of 0.weight is sparse") != text.npos, "sparse over MPI: " + text);
}

Tensor part_of(const Tensor& whole, int rank) {  // 2, 3 and 0 samples
  return rank == 2 ? whole.narrow(0, 0, 0) : whole.narrow(0, rank == 0 ? 0 : 2, 2 + rank);
}

void expect_part(const Tensor& part, const Tensor& whole, int rank, const std::string& what) {
  expect_close(part, part_of(whole, rank), what);
}

void sync_batch_norm(const Group& group) {
  const int rank = group->getRank();
  muster::SyncBatchNorm ours(nn::BatchNormOptions(4).momentum(0.3), group);
  nn::BatchNorm2d reference(nn::BatchNormOptions(4).momentum(0.3));
  {
    torch::NoGradGuard no_grad;
    torch::manual_seed(3);
    reference->weight.uniform_();
    reference->bias.uniform_();
    ours->weight.copy_(reference->weight);
    ours->bias.copy_(reference->bias);
  }
  const Tensor whole = (torch::randn({5, 4, 3, 3}) * 3 + 100).requires_grad_();
  const Tensor pull = torch::randn({5, 4, 3, 3});
  const Tensor part = part_of(whole.detach(), rank).clone().requires_grad_();
  const Tensor expected = reference(whole);
  const Tensor output = ours(part);
  expect_part(output, expected, rank, "output");
  (expected * pull).sum().backward();
  (output * part_of(pull, rank)).sum().backward();
  expect_part(part.grad(), whole.grad(), rank, "gradient of the input");
  std::vector<Tensor> sums{ours->weight.grad().clone(), ours->bias.grad().clone()};
  for (Tensor& sum : sums) {
    std::vector<Tensor> one{sum};
    group->allreduce(one)->wait();
  }
  expect_close(sums[0], reference->weight.grad(), "gradient of the weight");
  expect_close(sums[1], reference->bias.grad(), "gradient of the bias");
  for (size_t i = 0; i < 3; ++i) {
    expect_close(ours->buffers()[i], reference->buffers()[i], "running statistics");
  }
  ours->eval();
  reference->eval();
  expect_close(ours(whole), reference(whole), "evaluation");
}

void sync_batch_norm_options(const Group& group) {
  torch::manual_seed(3 + group->getRank());
  const Tensor input = torch::randn({4, 2, 3, 3});
  const auto own = nn::BatchNormOptions(2).track_running_stats(false);
  muster::SyncBatchNorm evaluating(own, group);
  evaluating->eval();
  if (group->getRank() == 1) {
    // Only on this rank: if it waited for the others, the test would hang.
    expect_close(evaluating(input), nn::BatchNorm2d(own)(input), "evaluation by one's own batch");
  }
  const auto options = nn::BatchNormOptions(2).affine(false).momentum(std::nullopt);
  muster::SyncBatchNorm ours(options, group);
  nn::BatchNorm2d reference(options);
  for (int step = 0; step < 3; ++step) {
    std::vector<std::vector<Tensor>> parts{{}};
    for (int rank = 0; rank < group->getSize(); ++rank) parts[0].push_back(torch::zeros({4, 2}));
    std::vector<Tensor> mine{input.select(3, step).select(2, 0).contiguous()};
    group->allgather(parts, mine)->wait();
    const Tensor whole = torch::cat(parts[0]).view({-1, 2, 1, 1});
    const Tensor part = whole.narrow(0, 4 * group->getRank(), 4).detach().requires_grad_();
    const Tensor output = ours(part);
    expect_close(output, reference(whole).narrow(0, 4 * group->getRank(), 4), "without weights");
    output.square().sum().backward();
  }
  for (size_t i = 0; i < 3; ++i) {
    expect_close(ours->buffers()[i], reference->buffers()[i], "the average of all batches");
  }
}

void clip(const Group& group) {
  DistributedDataParallel<Net> net(seeded_net(), group);
  for (const double type : {2.0, std::numeric_limits<double>::infinity()}) {
    net.zero_grad();
    loss_of(net(batch_of(group->getRank(), 0))).backward();
    const Tensor before = flat(gradients(*net.module()));
    // Simulates a CPU that rounds differently. Rank 0's value must be used.
    if (group->getRank() == 1) net->out->bias.mutable_grad()[0] += 1e-3;
    const double norm = net.clip_grad_norm(0.01, type);
    expect_same_on_all(group, torch::tensor(norm, torch::kDouble), "the norm");
    expect_close(torch::tensor(norm), torch::norm(before, type).cpu(), "the norm");
    const Tensor after = flat(gradients(*net.module()));
    if (group->getRank() != 1) expect_close(after, before * (0.01 / norm), "clipped gradients");
    const double small = net.clip_grad_norm(1e9, type);
    expect(torch::equal(flat(gradients(*net.module())), after), "clipped a small gradient");
    expect(small <= 0.011, "the norm after clipping is " + std::to_string(small));
  }
}

void mismatch(const Group& group) {
  std::string text = message_of([&] {
    DistributedDataParallel net(std::make_shared<Net>(group->getRank() == 1 ? 5 : 6), group);
  });
  expect(text.find("parameter hidden.weight: float32 [6, 4] on ranks 0,2, "
                   "float32 [5, 4] on rank 1") != text.npos,
         text);
  text = message_of([&] {
    nn::Sequential model(nn::Linear(2, 2));
    if (group->getRank() == 2) model->push_back(nn::BatchNorm1d(2));
    DistributedDataParallel net(model, group);
  });
  expect(
      text.find("buffer 1.running_mean: absent on ranks 0,1, float32 [2] on rank 2") != text.npos,
      text);
  text = message_of([&] {
    auto model = std::make_shared<Net>();
    if (group->getRank() == 0) model->out->bias.requires_grad_(false);
    DistributedDataParallel net(model, group);
  });
  expect(text.find("out.bias: float32 [3] without gradient on rank 0, float32 [3] on ranks 1,2") !=
             text.npos,
         text);
}

struct Counter : nn::Module {
  Tensor forward(const Tensor& input) { return input * weight + value; }
  Tensor weight = register_parameter("weight", torch::ones({1}));
  Tensor value = register_buffer("value", torch::zeros({1}));
};

void buffers(const Group& group) {
  const int rank = group->getRank();
  const Tensor input = torch::ones({1});
  const auto value_after = [&](DistributedDataParallel<Counter>& net) {
    net->value.fill_(rank + 5);
    net(input).sum().backward();
    return net->value.item<int>();
  };
  DistributedDataParallel<Counter> net(std::make_shared<Counter>(), group);
  expect(value_after(net) == 5, "a forward does not bring rank 0's buffers");
  {
    const auto guard = net.no_sync();
    expect(value_after(net) == 5, "the first forward after a synchronised one");
    expect(value_after(net) == 5 + rank, "a forward after one without synchronisation");
  }
  DistributedDataParallel<Counter> own(std::make_shared<Counter>(), group,
                                       {.broadcast_buffers = false});
  expect(value_after(own) == 5 + rank, "broadcast_buffers is off");
}

struct Pair {
  Tensor used;
  Tensor spare;
};
void collect_tensors(Pair& pair, muster::OutputTensors& found) {
  collect_tensors(pair.used, found);
  collect_tensors(pair.spare, found);
}
struct Opaque {
  Tensor tensor;
};

template <class Output>
struct Returns : nn::Module {
  Output forward(const Tensor& input) { return {left(input), right(input)}; }
  nn::Linear left = register_module("left", nn::Linear(4, 3));
  nn::Linear right = register_module("right", nn::Linear(4, 3));
};
enum class Kind { plain };
using Mixed = std::tuple<Tensor, int64_t, Kind, std::pair<Tensor, std::string>, std::vector<double>,
                         std::vector<bool>>;
template <>
Mixed Returns<Mixed>::forward(const Tensor& input) {
  return {left(input), 1, Kind::plain, {right(input), "spare"}, {0.5}, {true}};
}
struct ReturnsFigures : nn::Module {
  std::vector<double> forward(const Tensor& input) { return {left(input).sum().item<double>()}; }
  nn::Linear left = register_module("left", nn::Linear(4, 3));
};
struct ReturnsOpaque : nn::Module {
  Opaque forward(const Tensor& input) { return {left(input)}; }
  nn::Linear left = register_module("left", nn::Linear(4, 3));
};

// The loss uses one of two outputs. Parameters behind the other output must get no gradient, in two
// steps in a row.
template <class Output, class First>
void one_of_two(const Group& group, First first, const std::string& what) {
  DistributedDataParallel net(std::make_shared<Returns<Output>>(), group,
                              {.find_unused_parameters = true});
  for (int step = 0; step < 2; ++step) {
    Output output = net(batch_of(group->getRank(), step));
    loss_of(first(output)).backward();
  }
  expect(net->left->weight.grad().defined(), what + ": the used output has no gradient");
  expect(!net->right->weight.grad().defined(), what + ": the spare output has a gradient");
}

void outputs(const Group& group) {
  one_of_two<std::tuple<Tensor, Tensor>>(group, [](auto& o) { return std::get<0>(o); }, "tuple");
  one_of_two<std::vector<Tensor>>(group, [](auto& o) { return o[0]; }, "vector");
  one_of_two<Mixed>(group, [](auto& o) { return std::get<0>(o); }, "figures beside tensors");
  one_of_two<Pair>(group, [](auto& o) { return o.used; }, "a type of one's own");
  {
    torch::NoGradGuard no_grad;
    DistributedDataParallel figures(std::make_shared<ReturnsFigures>(), group,
                                    {.find_unused_parameters = true});
    expect(figures(batch_of(0, 0)).size() == 1, "an output without tensors");
  }
  DistributedDataParallel net(std::make_shared<ReturnsOpaque>(), group);
  loss_of(net(batch_of(0, 0)).tensor).backward();
  DistributedDataParallel searching(std::make_shared<ReturnsOpaque>(), group,
                                    {.find_unused_parameters = true});
  const std::string text = message_of([&] { searching(batch_of(0, 0)); });
  expect(text.find("collect_tensors") != text.npos, "an opaque output: " + text);
}

}  // namespace

int main(int count, char** words) {
  torch::set_num_threads(1);
  const bool over_mpi = count > 1 && words[1] == std::string("mpi");
  const Group group = over_mpi ? muster::join().group("mpi", {.timeout = muster::test::kTimeout})
                               : muster::test::gloo_group();
  const std::vector<std::pair<std::string, void (*)(const Group&)>> cases = {
      {"no_sync", no_sync},
      {"static_graph", static_graph},
      {"bucket_view", bucket_view},
      {"join", join},
      {"join_with_buffers", join_with_buffers},
      {"after_join", after_join},
      {"join_unused", join_unused},
      {"join_evaluates", join_evaluates},
      {"join_throws", join_throws},
      {"compression", compression},
      {"user_hook", user_hook},
      {"average_hook", average_hook},
      {"sparse", sparse},
      {"sync_batch_norm", sync_batch_norm},
      {"sync_batch_norm_options", sync_batch_norm_options},
      {"clip", clip},
      {"mismatch", mismatch},
      {"buffers", buffers},
      {"outputs", outputs},
  };
  for (const auto& [name, run] : cases) {
    const std::string text = message_of([&, run = run] { run(group); });
    std::cout << name << (text.empty() ? " ok" : " FAILED: " + text) << std::endl;
  }
}
