// Trains a linear model, using only the variables of `env://` (RANK, WORLD_SIZE, LOCAL_RANK,
// MASTER_ADDR, MASTER_PORT) and libtorch's TCPStore. A user's program: it does not use muster and
// is not part of its build. linear_model.hpp describes the arguments.
#include <cstring>
#include <stdexcept>

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "linear_model.hpp"

namespace {

using linear_model::Vector;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) throw std::runtime_error(std::string(name) + " is not set");
  return value;
}

// Connects to the store as torch's env:// does. Rank 0 serves it unless torchrun's agent already
// does.
c10::intrusive_ptr<c10d::TCPStore> join(const linear_model::Place& place) {
  const char* agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(std::stoi(variable("MASTER_PORT")));
  options.isServer = place.rank == 0 && (agent == nullptr || std::string_view(agent) != "True");
  options.numWorkers = place.ranks;
  options.waitWorkers = false;
  options.timeout = std::chrono::seconds(60);
  return c10::make_intrusive<c10d::TCPStore>(variable("MASTER_ADDR"), options);
}

std::vector<std::uint8_t> to_bytes(const Vector& vector) {
  std::vector<std::uint8_t> bytes(sizeof vector);
  std::memcpy(bytes.data(), vector.data(), sizeof vector);
  return bytes;
}

Vector to_vector(const std::vector<std::uint8_t>& bytes) {
  Vector vector{};
  if (bytes.size() != sizeof vector) throw std::runtime_error("the store holds something else");
  std::memcpy(vector.data(), bytes.data(), sizeof vector);
  return vector;
}

class Exchange {
 public:
  explicit Exchange(const linear_model::Place& place) : place_(place), store_(join(place)) {}

  Vector operator()(const Vector& mine) {
    const std::string step = "train_env/" + std::to_string(step_++) + "/";
    store_->set(step + std::to_string(place_.rank), to_bytes(mine));
    Vector sum{};
    for (int rank = 0; rank < place_.ranks; ++rank) {
      const Vector one = to_vector(store_->get(step + std::to_string(rank)));
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
    }
    return sum;
  }

  // The store lives as long as rank 0, so rank 0 must leave last.
  void leave() {
    if (place_.rank != 0) store_->add("train_env/left", 1);
    while (place_.rank == 0 && store_->add("train_env/left", 0) < place_.ranks - 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

 private:
  linear_model::Place place_;
  c10::intrusive_ptr<c10d::TCPStore> store_;
  int step_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const linear_model::Place place{.rank = std::stoi(variable("RANK")),
                                  .ranks = std::stoi(variable("WORLD_SIZE")),
                                  .local_rank = std::stoi(variable("LOCAL_RANK"))};
  Exchange exchange(place);
  linear_model::train(linear_model::read_wishes(argc, argv), place,
                      [&](const Vector& mine) { return exchange(mine); });
  exchange.leave();
  return 0;
}
