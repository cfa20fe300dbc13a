#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/config_file.hpp"
#include "cli/run_command.hpp"
#include "trainflags/models.hpp"
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

// Fails without --dataset-dir. Does not look for the data set, because this machine need not have
// it. A relative path needs no change, because the ranks start in the current directory too.
Result<void> check_places(const trainflags::TrainOptions& options) {
  if (!options.dataset_dir.empty()) return {};
  return unexpected(
      Error{.code = ErrorCode::kUsage,
            .what = "--dataset-dir is missing",
            .hint = fmt::format("pass the directory of the data set on the hosts: muster train {} "
                                "--dataset-dir /data/{} ...",
                                options.model, trainflags::model_named(options.model).data)});
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
  // Slurm starts `muster run` with these flags, and `run` has no flag for the trainer's path.
  auto own = trainflags::given_words(command, /*of_trainer=*/false);
  if (const auto flag = std::find(own.begin(), own.end(), kTrainerFlag); flag != own.end()) {
    own.erase(flag, flag + 2);
  }
  return run_program(given.run, own, words);
}

}  // namespace

Result<Line> read_train_line(const Words& words, const Flags& own) {
  const std::size_t models = std::min<std::size_t>(leading_arguments(words), 1);
  if (models == 0 && !asks_for_help(words)) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = "the model must come right after 'muster train'",
              .hint = "muster train " + trainflags::model_names("|", "|") + " FLAGS"});
  }
  return in_own_words_after(models, words, own);
}

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
    action = [given, command, &program]() -> Result<int> {
      MUSTER_CHECK(take_config(*command, given->run.job.cluster));
      return train_command(*given, *command, program);
    };
  });
}

}  // namespace muster::cli
