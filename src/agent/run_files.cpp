#include "agent/run_files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/record.hpp"
#include "base/printable.hpp"

namespace muster::agent {
namespace {

constexpr std::size_t kMaxName = 255;
constexpr double kOrphanAfterSeconds = 60;  // used if the warden has written no value
constexpr double kLongestSeconds = 1e9;
constexpr std::size_t kMaxPlacement = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kHandoutComes{10'000};  // longest wait for the handout

std::string own_name() {
  std::array<char, kMaxName + 1> name{};
  if (::gethostname(name.data(), kMaxName) != 0) return "?";
  const std::string whole = name.data();
  return printable(whole.substr(0, whole.find('.')));
}

}  // namespace

Result<RunFiles> RunFiles::open(const std::string& run_id) {
  RunFiles files;
  if (run_id.empty()) return files;
  files.run_id_ = run_id;
  MUSTER_TRY(files.folder_, run_folder(run_id));
  MUSTER_CHECK(sys::make_private_folder(files.folder_.substr(0, files.folder_.rfind('/'))));
  MUSTER_CHECK(sys::make_private_folder(files.folder_));
  return files;
}

std::string RunFiles::host() const {
  if (folder_.empty()) return own_name();
  const auto text = sys::read_file(folder_ + "/host", kMaxName + 1);
  if (!text) return own_name();
  const std::string name = printable(text->substr(0, text->find('\n')));
  return name.empty() ? own_name() : name;
}

Result<HandedOut> RunFiles::handout() const {
  if (folder_.empty()) return HandedOut();
  return ask_for_handout(folder_, kHandoutComes);
}

std::optional<Assignment> RunFiles::placement() const {
  const std::string path = folder_ + "/placement";
  if (folder_.empty() || !sys::exists(path)) return std::nullopt;
  const auto text = sys::read_file(path, kMaxPlacement);
  return text ? parse_placement(*text) : std::nullopt;
}

bool RunFiles::over() const {
  return !folder_.empty() && sys::exists(folder_ + "/" + kOverMark);
}

bool RunFiles::seen() const {
  return !folder_.empty() && sys::exists(folder_ + "/" + kSeenMark);
}

std::string RunFiles::record(int rank) const {
  return folder_.empty() ? std::string() : fmt::format("{}/rank.{}.jsonl", folder_, rank);
}

std::chrono::milliseconds RunFiles::orphan_after() const {
  constexpr std::size_t kMaxNumber = 64;
  const auto text = sys::read_file(folder_ + "/" + kOrphanAfterFile, kMaxNumber);
  double seconds = kOrphanAfterSeconds;
  if (text) (void)std::from_chars(text->data(), text->data() + text->size(), seconds);
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(std::clamp(seconds, 0.0, kLongestSeconds)));
}

}  // namespace muster::agent
