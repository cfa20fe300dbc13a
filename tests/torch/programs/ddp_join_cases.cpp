// DistributedDataParallel::join: ranks with different numbers of batches, and what follows.
#include "ddp_cases.hpp"

namespace muster::test {
namespace {

struct Either : nn::Module {
  Tensor forward(const Tensor& input, bool first) { return first ? left(input) : right(input); }
  nn::Linear left = register_module("left", nn::Linear(4, 3));
  nn::Linear right = register_module("right", nn::Linear(4, 3));
};

}  // namespace

void join(const Group& group) {
  for (const bool by_initial_size : {true, false}) {
    for (const bool unused : {false, true}) {
      DistributedDataParallel<Net> net(seeded_net(), group, {.find_unused_parameters = unused});
      net.join([&] { train(net, group->getRank(), 2 + group->getRank()); },
               {.divide_by_initial_world_size = by_initial_size});
      expect_close(weights(*net.module()), uneven_alone(by_initial_size),
                   "uneven inputs give other weights than one process");
      expect_same_on_all(group, weights(*net.module()), "the model after join");
    }
  }
}

void join_with_buffers(const Group& group) {
  DistributedDataParallel net(nn::Sequential(nn::Linear(4, 3), nn::BatchNorm1d(3)), group);
  net.join([&] {
    for (int step = 0; step < 2 + group->getRank(); ++step) {
      if (step == 1) {
        const auto guard = net.no_sync();
        loss_of(net(batch_of(group->getRank(), step))).backward();
      } else {
        loss_of(net(batch_of(group->getRank(), step))).backward();
      }
    }
  });
  expect_same_on_all(group, net->buffers()[0], "a buffer after join");
}

void after_join(const Group& group) {
  const auto model = seeded_net();
  DistributedDataParallel<Net> net(model, group);
  net.join([&] { train(net, group->getRank(), 2 + group->getRank()); },
           {.divide_by_initial_world_size = false});
  DistributedDataParallel<Net> plain(seeded_net(), group);
  {
    torch::NoGradGuard no_grad;
    for (size_t i = 0; i < plain.parameters().size(); ++i) {
      plain.parameters()[i].copy_(net.parameters()[i]);
    }
  }
  for (auto* each : {&net, &plain}) {
    each->zero_grad();
    loss_of((*each)(batch_of(group->getRank(), 9))).backward();
  }
  const Tensor gradient = flat(gradients(*net.module()));
  expect_close(gradient, flat(gradients(*plain.module())), "a gradient after join");
  expect_same_on_all(group, gradient, "a gradient after join");
}

// In its only step, rank 0 uses one half of the model. The other ranks' second step uses only the
// other half, so the first half must get no gradient in it.
void join_unused(const Group& group) {
  DistributedDataParallel net(std::make_shared<Either>(), group, {.find_unused_parameters = true});
  const int steps = group->getRank() == 0 ? 1 : 2;
  net.join([&] {
    for (int step = 0; step < steps; ++step) {
      net.zero_grad();
      loss_of(net(batch_of(0, step), step == 0)).backward();
    }
  });
  expect(steps == 1 || !net->left->weight.grad().defined(),
         "what a rank that is through has used counts as used");
}

// Ranks may run forward passes without gradients inside join. The first one comes right after the
// step in which the order of the buckets is learnt.
void join_evaluates(const Group& group) {
  DistributedDataParallel<Net> net(seeded_net(), group);
  const auto loop = [&] {
    for (int step = 0; step < 2 + group->getRank(); ++step) {
      net.zero_grad();
      loss_of(net(batch_of(group->getRank(), step))).backward();
      torch::NoGradGuard no_grad;
      net(batch_of(0, step));
    }
  };
  net.join(loop);
  expect_same_on_all(group, weights(*net.module()), "the model after join");
  DistributedDataParallel<Net> fixed(seeded_net(), group, {.static_graph = true});
  const std::string text = message_of([&] { fixed.join([] {}); });
  expect(text.find("static_graph") != text.npos, "join with static_graph: " + text);
}

void join_throws(const Group& group) {
  DistributedDataParallel<Net> net(seeded_net(), group);
  int steps = 0;
  const std::string text = message_of([&] {
    net.join(
        [&] {
          for (; steps < 2 + group->getRank(); ++steps) loss_of(net(batch_of(0, steps))).backward();
        },
        {.throw_on_early_termination = true});
  });
  expect(text.find("run out of input") != text.npos, "no exception: " + text);
  expect(steps == 2, "stopped after " + std::to_string(steps) + " steps");
}

}  // namespace muster::test
