#include "mpi/recording.hpp"

#include <cstdio>
#include <exception>
#include <string>

#include <torch/csrc/distributed/c10d/control_plane/Handlers.hpp>

#include "mpi/backend.hpp"

namespace muster::mpi {
namespace {

recorder::Operations& process_operations() {
  // Never destroyed: the server thread may still use it.
  static auto* const operations = new recorder::Operations("mpi");
  return *operations;
}

void answer(const c10d::control_plane::Request& request, c10d::control_plane::Response& response) {
  response.setContent(process_operations().json(request.getParam("onlyactive") == "true"),
                      "application/json");
  response.setStatus(200);
}

// Returns whether our handler was registered. This fails if libmuster and muster-torch are both in
// this process and the other one has registered its handler first.
bool register_handler() noexcept {
  try {
    c10d::control_plane::registerHandler("muster_operations", &answer);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// Returns a name that is the same on all members. PyTorch renames most groups later.
std::string first_name(const Group& group) {
  char id[sizeof(group.id) * 2 + 1] = {};
  std::snprintf(id, sizeof(id), "%016llx", static_cast<unsigned long long>(group.id));
  return std::string("mpi/") + id;
}

}  // namespace

std::shared_ptr<recorder::GroupRecord> new_record(const Group& group) {
  static const bool is_registered = register_handler();
  return is_registered ? process_operations().add(first_name(group), group.world_ranks) : nullptr;
}

void MpiBackend::setGroupUid(const std::string& pg_uid) {
  Backend::setGroupUid(pg_uid);
  if (record_) record_->set_name(pg_uid);
}

// PyTorch sets a group's description after its name, without a notification, so it is read at the
// first operation.
const std::shared_ptr<recorder::GroupRecord>& MpiBackend::record() {
  if (record_ && !is_described_.exchange(true)) record_->set_description(getGroupDesc());
  return record_;
}

}  // namespace muster::mpi
