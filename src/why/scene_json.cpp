#include "base/json_fields.hpp"
#include "base/json_schema.hpp"
#include "why/scene_fields.hpp"

namespace muster::why {

std::string name_of(Kind kind) {
  for (const auto& [known, text] : texts_of(kind)) {
    if (known == kind) return text;
  }
  return "unknown";
}

std::string to_json(const Scene& scene) {
  SceneJson json{.ranks = scene.ranks,
                 .silent_hosts = scene.silent_hosts,
                 .master_address = scene.master_address,
                 .master_port = scene.master_port,
                 .started_ago_s = scene.started_ago_s,
                 .silent_s = scene.silent_s};
  for (const auto& [host, view] : scene.hosts) json.hosts.push_back({.host = host, .view = view});
  for (const auto& [host, lines] : scene.kernel_logs) {
    json.kernel_logs.push_back({.host = host, .lines = lines});
  }
  return json_of_fields(json);
}

std::string to_json(const Verdict& verdict) {
  return json_of_fields(verdict);
}

Result<Scene> parse_scene(const std::string& text) {
  JsonLimits limits = kOwnFile;
  limits.may_lack_fields = true;
  MUSTER_TRY(auto json, parse_fields<SceneJson>(text, "this is no evidence of a hang", limits));
  Scene scene{.ranks = std::move(json.ranks),
              .hosts = {},
              .silent_hosts = std::move(json.silent_hosts),
              .master_address = std::move(json.master_address),
              .master_port = json.master_port,
              .started_ago_s = json.started_ago_s,
              .silent_s = json.silent_s};
  for (NamedHost& host : json.hosts) scene.hosts.try_emplace(host.host, std::move(host.view));
  for (NamedLines& lines : json.kernel_logs) {
    scene.kernel_logs.try_emplace(lines.host, std::move(lines.lines));
  }
  return scene;
}

nlohmann::ordered_json verdict_schema() {
  return json_schema_of<Verdict>();
}

}  // namespace muster::why
