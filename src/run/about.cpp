#include "run/about.hpp"

#include <optional>

#include "base/json_fields.hpp"
#include "sys/file.hpp"

namespace muster::run {
namespace {

constexpr const char* kAboutFile = "/about.json";

}  // namespace

struct AboutFile {
  int schema = 1;
  About about;
  // Missing in files of an older muster.
  std::optional<int> rank_end = std::nullopt;
  std::optional<double> orphan_after_s = std::nullopt;
};

template <class V>
void fields(V& v, AboutFile& file) {
  About& a = file.about;
  v("schema", file.schema), v("id", a.id), v("name", a.name), v("command", a.command);
  v("engine", a.engine), v("started", a.started_s), v("hosts", a.hosts), v("ranks", a.ranks);
  v.maybe("rank_end", file.rank_end), v.maybe("orphan_after", file.orphan_after_s);
}

About about(const Record& record, double orphan_after_s) {
  About about{.id = record.id,
              .name = record.name,
              .command = record.command,
              .engine = record.engine,
              .started_s = record.started_s,
              .ranks = static_cast<int>(record.ranks.size()),
              .rank_end = record.ranks.empty() ? 0 : record.ranks.back().rank + 1,
              .orphan_after_s = orphan_after_s};
  for (const RankRecord& rank : record.ranks) {
    if (about.hosts.empty() || about.hosts.back() != rank.host) about.hosts.push_back(rank.host);
  }
  return about;
}

Result<void> write_about(const std::string& folder, const About& about) {
  const AboutFile file{
      .about = about, .rank_end = about.rank_end, .orphan_after_s = about.orphan_after_s};
  return sys::write_file(folder + kAboutFile, sorted_json_of_fields(file, 1) + "\n", 0600);
}

Result<About> read_about(const std::string& folder) {
  MUSTER_TRY(const std::string text, sys::read_file(folder + kAboutFile));
  MUSTER_TRY(AboutFile file,
             parse_fields<AboutFile>(text, "this does not describe a run", kOwnFile));
  file.about.rank_end = file.rank_end.value_or(file.about.ranks);
  file.about.orphan_after_s = file.orphan_after_s.value_or(0);
  return std::move(file.about);
}

}  // namespace muster::run
