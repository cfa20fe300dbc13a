#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/run_command.hpp"
#include "trainflags/train_options.hpp"

namespace muster::cli {
namespace {

constexpr const char* kTrainer = "muster-train";
constexpr const char* kTrainerFlag = "--trainer";

struct TrainCommand {
  RunOptions run;
  trainflags::TrainOptions train;
  std::string trainer;
};

// The folder is looked for where the ranks start, which is here.
Result<void> check_places(const trainflags::TrainOptions& options) {
  if (!options.dataset_dir.empty()) return {};
  return unexpected(
      Error{.code = ErrorCode::kUsage,
            .what = "--dataset-dir is missing",
            .hint = fmt::format("pass the directory of the data set on the hosts: muster train {} "
                                "--dataset-dir /data/{} ...",
                                options.model, options.model == "mnist" ? "mnist" : "cifar10")});
}

Result<int> train_command(const TrainCommand& given, const CLI::App& command,
                          const Program& program) {
  if (!program.empty()) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what = "muster train takes no program after --",
        .hint = "muster train runs its own program, muster-train; to run yours, use muster run"});
  }
  MUSTER_CHECK(check_places(given.train));
  Program words = {given.trainer.empty() ? own_program(kTrainer) : given.trainer,
                   given.train.model};
  const auto flags = trainflags::given_words(command, /*of_trainer=*/true);
  words.insert(words.end(), flags.begin(), flags.end());
  // With these Slurm is asked to start `muster run`, which brings no trainer.
  auto own = trainflags::given_words(command, /*of_trainer=*/false);
  if (const auto flag = std::find(own.begin(), own.end(), kTrainerFlag); flag != own.end()) {
    own.erase(flag, flag + 2);
  }
  return run_program(given.run, own, words);
}

}  // namespace

void add_train(CLI::App& app, Action& action, const Program& program) {
  auto given = std::make_shared<TrainCommand>();
  CLI::App* command =
      app.add_subcommand("train", "Train MNIST or a ResNet on all hosts with muster's own trainer");
  command->footer(trainflags::defaults_text() +
                  "\n\nExamples:\n"
                  "  muster train mnist -n 2 --dataset-dir /data/mnist\n"
                  "  muster train resnet18 -H node1,node2 --dataset-dir /data/cifar10");
  trainflags::add_train_options(*command, given->train);
  command
      ->add_option(
          kTrainerFlag, given->trainer,
          "Path of muster-train on the hosts; default: the directory of this binary, else PATH")
      ->type_name("PATH")
      ->group(kEngineGroup);
  add_start_options(*command, given->run);
  command->callback([given, command, &action, &program] {
    action = [given, command, &program] { return train_command(*given, *command, program); };
  });
}

}  // namespace muster::cli
