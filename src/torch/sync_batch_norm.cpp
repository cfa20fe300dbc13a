#include "muster/sync_batch_norm.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

namespace muster {
namespace {

using GroupPtr = c10::intrusive_ptr<c10d::ProcessGroup>;
using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Statistics over all ranks together, with one value per channel.
struct Statistics {
  Tensor mean;
  Tensor variance;   // biased
  double count = 0;  // values per channel
};

at::ScalarType accumulation_type(const Tensor& input) {
  return input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

std::vector<int64_t> all_but_channels(const Tensor& input) {
  std::vector<int64_t> dimensions;
  for (int64_t i = 0; i < input.dim(); ++i) {
    if (i != 1) dimensions.push_back(i);
  }
  return dimensions;
}

// Reshapes [C] to [1, C, 1, ...].
Tensor along_channels(const Tensor& values, const Tensor& like) {
  std::vector<int64_t> shape(like.dim(), 1);
  shape[1] = -1;
  return values.view(shape);
}

// This rank's means, variances and count in one tensor.
Tensor own_statistics(const Tensor& input) {
  const int64_t channels = input.size(1);
  const auto options = input.options().dtype(at::kDouble);
  const Tensor packed = torch::zeros({2 * channels + 1}, options);
  if (input.numel() == 0) return packed;
  const auto [variance, mean] = torch::var_mean(input.to(accumulation_type(input)),
                                                all_but_channels(input), /*unbiased=*/false);
  packed.narrow(0, 0, channels).copy_(mean);
  packed.narrow(0, channels, channels).copy_(variance);
  packed[2 * channels].fill_(static_cast<double>(input.numel() / channels));
  return packed;
}

// Gathers the ranks' means and variances in a single collective, to pay its latency only once.
// Summing squares instead would lose precision by cancellation.
Statistics joint_statistics(const GroupPtr& group, const Tensor& input) {
  std::vector<Tensor> own{own_statistics(input)};
  std::vector<std::vector<Tensor>> gathered(1);
  for (int rank = 0; rank < group->getSize(); ++rank) {
    gathered[0].push_back(torch::empty_like(own[0]));
  }
  c10d::AllgatherOptions options;
  options.asyncOp = false;
  if (const auto work = group->allgather(gathered, own, options)) work->wait();
  const int64_t channels = input.size(1);
  const Tensor all = torch::stack(gathered[0]);
  const Tensor means = all.narrow(1, 0, channels);
  const Tensor variances = all.narrow(1, channels, channels);
  const Tensor counts = all.narrow(1, 2 * channels, 1);
  const Tensor total = counts.sum();
  const Tensor mean = (means * counts).sum(0) / total;
  const Tensor variance = ((variances + (means - mean).square()) * counts).sum(0) / total;
  return {mean, variance, total.item<double>()};
}

class Normalise : public torch::autograd::Function<Normalise> {
 public:
  // Function::apply does not accept undefined tensors, so without affine parameters weight and bias
  // are passed as nullopt.
  static Tensor forward(AutogradContext* context, const Tensor& input,
                        const std::optional<Tensor>& some_weight, const std::optional<Tensor>& bias,
                        const Tensor& mean, const Tensor& inverse_deviation, double count,
                        const GroupPtr& group) {
    const Tensor weight = some_weight.value_or(Tensor());
    context->save_for_backward({input, weight, mean, inverse_deviation});
    context->saved_data["count"] = count;
    context->saved_data["group"] = c10::IValue::make_capsule(group);
    context->saved_data["affine"] = weight.defined();
    Tensor scale = inverse_deviation;
    if (weight.defined()) scale = scale * weight;
    Tensor output = (input - along_channels(mean, input)) * along_channels(scale, input);
    if (bias) output += along_channels(*bias, input);
    return output.to(input.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &input = saved[0], &weight = saved[1], &mean = saved[2], &inverse = saved[3];
    const auto group = c10::static_intrusive_pointer_cast<c10d::ProcessGroup>(
        context->saved_data["group"].toCapsule());
    const auto type = accumulation_type(input);
    const Tensor gradient = gradients[0].to(type);
    const Tensor centred = input.to(type) - along_channels(mean, input);
    const auto dimensions = all_but_channels(input);
    // Two rows: the sum of the gradient, and its sum weighted by the distance from the mean.
    const Tensor own =
        torch::stack({gradient.sum(dimensions), (gradient * centred).sum(dimensions)});
    const Tensor joint = summed(group, own) / context->saved_data["count"].toDouble();
    const Tensor through_variance = along_channels(joint[1] * inverse.square(), input);
    Tensor scale = inverse;
    if (weight.defined()) scale = scale * weight;
    const Tensor for_input =
        (gradient - along_channels(joint[0], input) - centred * through_variance) *
        along_channels(scale, input);
    Tensor for_weight, for_bias;
    if (weight.defined()) {
      // Only this rank's part. Like the gradient of any parameter, it is reduced between ranks
      // later.
      for_weight = (own[1] * inverse).to(weight.scalar_type());
      for_bias = own[0].to(weight.scalar_type());
    }
    return {for_input.to(input.scalar_type()), for_weight, for_bias, {}, {}, {}, {}};
  }

 private:
  static Tensor summed(const GroupPtr& group, const Tensor& own) {
    std::vector<Tensor> tensors{own.clone()};
    c10d::AllreduceOptions options;
    options.asyncOp = false;
    if (const auto work = group->allreduce(tensors, options)) work->wait();
    return tensors[0];
  }
};

}  // namespace

SyncBatchNormImpl::SyncBatchNormImpl(const torch::nn::BatchNormOptions& wanted, GroupPtr group)
    : NormImplBase(wanted), group_(std::move(group)) {
  if (!group_) throw std::invalid_argument("SyncBatchNorm needs a process group");
}

void SyncBatchNormImpl::_check_input_dim(const Tensor& input) {
  if (input.dim() >= 2 && input.size(1) == options.num_features()) return;
  throw std::invalid_argument("SyncBatchNorm of " + std::to_string(options.num_features()) +
                              " features: the input is " + c10::str(input.sizes()) +
                              ", but must be [N, " + std::to_string(options.num_features()) +
                              ", ...]");
}

double SyncBatchNormImpl::next_momentum() {
  num_batches_tracked += 1;
  return options.momentum().value_or(1.0 / num_batches_tracked.item<double>());
}

Tensor SyncBatchNormImpl::forward(const Tensor& input) {
  _check_input_dim(input);
  if (!is_training()) {
    // No collective, because one rank may evaluate alone. Without running statistics, it uses those
    // of its own batch.
    return torch::batch_norm(input, weight, bias, running_mean, running_var,
                             /*training=*/!options.track_running_stats(), /*momentum=*/0,
                             options.eps(), /*cudnn_enabled=*/true);
  }
  Tensor mean, inverse_deviation;
  double count = 0;
  {
    torch::NoGradGuard no_grad;
    const Statistics joint = joint_statistics(group_, input);
    count = joint.count;
    if (count <= 1) {
      throw std::invalid_argument(
          "SyncBatchNorm: a channel has fewer than two values on all ranks together, so it has no "
          "variance; use larger batches, or eval()");
    }
    if (options.track_running_stats()) {
      const double momentum = next_momentum();
      running_mean.lerp_(joint.mean.to(running_mean.scalar_type()), momentum);
      const Tensor unbiased = joint.variance * (count / (count - 1));
      running_var.lerp_(unbiased.to(running_var.scalar_type()), momentum);
    }
    const auto type = accumulation_type(input);
    mean = joint.mean.to(type);
    inverse_deviation = (joint.variance + options.eps()).rsqrt().to(type);
  }
  const auto if_defined = [](const Tensor& tensor) {
    return tensor.defined() ? std::optional(tensor) : std::nullopt;
  };
  return Normalise::apply(input, if_defined(weight), if_defined(bias), mean, inverse_deviation,
                          count, group_);
}

void SyncBatchNormImpl::pretty_print(std::ostream& stream) const {
  stream << "muster::SyncBatchNorm(" << options.num_features() << ", eps=" << options.eps()
         << ", affine=" << std::boolalpha << options.affine() << ", ranks=" << group_->getSize()
         << ")";
}

}  // namespace muster
