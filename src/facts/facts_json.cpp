// One description of each struct's fields, `fields`, serves the writer and the reader. What a host
// sent is hostile: every field must be there with its type and within bounds.
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "facts/facts.hpp"
#include "facts/summary.hpp"

namespace muster::facts {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxStringBytes = std::size_t{256} << 10;  // an environment variable's value
constexpr std::size_t kMaxItems = 65536;

template <class V>
void fields(V& v, Address& a) {
  v("ip", a.ip), v("prefix", a.prefix);
}

template <class V>
void fields(V& v, Interface& i) {
  v("name", i.name), v("kind", i.kind), v("up", i.up), v("mtu", i.mtu);
  v("speed_mbit", i.speed_mbit), v("addresses", i.addresses);
}

template <class V>
void fields(V& v, Route& r) {
  v("destination", r.destination), v("interface", r.interface), v("gateway", r.gateway);
  v("metric", r.metric);
}

template <class V>
void fields(V& v, Gid& g) {
  v("index", g.index), v("gid", g.gid), v("type", g.type), v("interface", g.interface);
}

template <class V>
void fields(V& v, RdmaPort& p) {
  v("device", p.device), v("port", p.port), v("active", p.active), v("link_layer", p.link_layer);
  v("rate", p.rate), v("gids", p.gids);
}

template <class V>
void fields(V& v, Cpu& c) {
  v("architecture", c.architecture), v("model", c.model), v("isa", c.isa), v("cores", c.cores);
  v("usable", c.usable), v("numa_nodes", c.numa_nodes), v("affinity", c.affinity);
}

template <class V>
void fields(V& v, Limit& l) {
  v("soft", l.soft), v("hard", l.hard);
}

template <class V>
void fields(V& v, Limits& l) {
  v("nofile", l.nofile), v("memlock", l.memlock), v("nproc", l.nproc);
}

template <class V>
void fields(V& v, Listener& l) {
  v("port", l.port), v("address", l.address), v("pid", l.pid), v("user", l.user);
  v("command", l.command);
}

template <class V>
void fields(V& v, FileMode& f) {
  v("path", f.path), v("mode", f.mode), v("uid", f.uid), v("problem", f.problem);
}

template <class V>
void fields(V& v, FileIdentity& f) {
  v("path", f.path), v("hash", f.hash), v("bytes", f.bytes);
}

template <class V>
void fields(V& v, Mpi& m) {
  v("kind", m.kind), v("version", m.version), v("launcher", m.launcher), v("library", m.library);
}

template <class V>
void fields(V& v, Torch& t) {
  v("torchrun", t.torchrun), v("version", t.version), v("threads", t.threads);
}

template <class V>
void fields(V& v, Program& p) {
  v("name", p.name), v("path", p.path), v("executable", p.executable), v("identity", p.identity);
  v("libmpi", p.libmpi), v("libmpi_kind", p.libmpi_kind), v("libmpi_version", p.libmpi_version);
  v("missing_libraries", p.missing_libraries);
  v("missing_interpreter", p.missing_interpreter), v("only_in_folder", p.only_in_folder);
}

template <class V>
void fields(V& v, NotSeen& n) {
  v("what", n.what), v("why", n.why);
}

template <class V>
void fields(V& v, Environment& e) {
  v("activated", e.activated), v("failure", e.failure), v("seen", e.seen), v("digest", e.digest);
}

template <class V>
void fields(V& v, Facts& f) {
  v("host", f.host), v("hostname", f.hostname), v("uid", f.uid), v("user", f.user);
  v("home", f.home), v("folder_exists", f.folder_exists), v("os", f.os);
  v("kernel", f.kernel), v("cpu", f.cpu), v("memory_bytes", f.memory_bytes);
  v("interfaces", f.interfaces), v("routes", f.routes);
  v("own_name_resolves_to", f.own_name_resolves_to), v("rdma", f.rdma), v("gpus", f.gpus);
  v("limits", f.limits), v("shm_bytes", f.shm_bytes), v("shm_free_bytes", f.shm_free_bytes);
  v("clock_s", f.clock_s), v("port_range_first", f.port_range_first);
  v("port_range_last", f.port_range_last), v("listeners", f.listeners);
  v("ssh_files", f.ssh_files), v("mpi", f.mpi), v("torch", f.torch), v("program", f.program);
  v("environment", f.environment), v("not_seen", f.not_seen);
}

template <class V>
void fields(V& v, Request& r) {
  v("host", r.host), v("activate", r.activate), v("launchers", r.launchers);
  v("program", r.program), v("folder", r.folder);
}

constexpr std::array kKinds = {InterfaceKind::kPort, InterfaceKind::kLoopback,
                               InterfaceKind::kVirtual, InterfaceKind::kTunnel,
                               InterfaceKind::kInfiniband};

class Writer {
 public:
  template <class T>
  void operator()(const char* name, T& value) {
    json_[name] = json_of(value);
  }

  template <class T>
  static Json json_of(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return Json(value);
    } else {
      Writer writer;
      fields(writer, value);
      return writer.json_;
    }
  }
  static Json json_of(InterfaceKind& kind) { return to_text(kind); }
  template <class T>
  static Json json_of(std::vector<T>& items) {
    Json list = Json::array();
    for (T& item : items) list.push_back(json_of(item));
    return list;
  }
  template <class T>
  static Json json_of(std::optional<T>& value) {
    return value ? json_of(*value) : Json();
  }
  static Json json_of(std::map<std::string, std::string>& map) {
    Json object = Json::object();
    for (const auto& [name, value] : map) object[name] = value;
    return object;
  }

 private:
  Json json_ = Json::object();
};

// Keeps the first thing that is wrong and reads nothing more after it.
class Reader {
 public:
  explicit Reader(const Json& json) { read(json); }

  template <class T>
  void operator()(const char* name, T& value) {
    if (!wrong_.empty()) return;
    const auto found = object_->find(name);
    path_.emplace_back(name);
    if (found == object_->end()) {
      fail("is missing");
    } else {
      take(*found, value);
    }
    path_.pop_back();
  }

  // What is wrong and where: "interfaces.mtu is no whole number"; empty: nothing.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  void read(const Json& json) {
    object_ = &json;
    if (!json.is_object()) fail("is no object");
  }

  void fail(const char* what) {
    if (wrong_.empty()) wrong_ = fmt::format("{} {}", fmt::join(path_, "."), what);
  }

  void take(const Json& json, bool& value) {
    if (!json.is_boolean()) return fail("is neither true nor false");
    value = json.get<bool>();
  }
  void take(const Json& json, double& value) {
    if (!json.is_number()) return fail("is no number");
    value = json.get<double>();
    if (!std::isfinite(value)) fail("is no finite number");
  }
  template <class T>
    requires std::is_integral_v<T>
  void take(const Json& json, T& value) {
    if (!json.is_number_integer()) return fail("is no whole number");
    const bool fits =
        json.is_number_unsigned()
            ? json.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max())
            : std::is_signed_v<T> && json.get<std::int64_t>() >= std::int64_t(kLowest<T>);
    if (!fits) return fail("is out of range");
    value = json.get<T>();
  }
  void take(const Json& json, std::string& value) {
    if (!json.is_string()) return fail("is no text");
    const auto& text = json.get_ref<const std::string&>();
    if (text.size() > kMaxStringBytes) return fail("is too long");
    value = text;
  }
  void take(const Json& json, InterfaceKind& kind) {
    for (const InterfaceKind known : kKinds) {
      if (json == to_text(known)) return void(kind = known);
    }
    fail("is no kind of interface");
  }
  template <class T>
  void take(const Json& json, std::vector<T>& items) {
    if (!json.is_array()) return fail("is no list");
    if (json.size() > kMaxItems) return fail("has too many items");
    items.clear();
    for (const Json& item : json) {
      if (!wrong_.empty()) return;
      take(item, items.emplace_back());
    }
  }
  template <class T>
  void take(const Json& json, std::optional<T>& value) {
    if (json.is_null()) return value.reset();
    take(json, value.emplace());
  }
  void take(const Json& json, std::map<std::string, std::string>& map) {
    if (!json.is_object()) return fail("is no object");
    if (json.size() > kMaxItems) return fail("has too many items");
    map.clear();
    for (const auto& [name, item] : json.items()) {
      if (!wrong_.empty()) return;
      if (name.size() > kMaxStringBytes) return fail("has too long a name");
      take(item, map[name]);
    }
  }
  template <class T>
    requires std::is_class_v<T>
  void take(const Json& json, T& value) {
    const Json* const outer = object_;
    read(json);
    if (wrong_.empty()) fields(*this, value);
    object_ = outer;
  }

  template <class T>
  static constexpr T kLowest = std::numeric_limits<T>::lowest();

  const Json* object_ = nullptr;
  std::vector<std::string> path_;
  std::string wrong_;
};

template <class T>
std::string written(T value) {
  // What a host's files hold need not be UTF-8.
  return Writer::json_of(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Error refused(const char* type, const std::string& why) {
  return {.code = ErrorCode::kSystem, .what = fmt::format("these are no {}: {}", type, why)};
}

template <class T>
Result<T> parsed(const std::string& text, const char* type) {
  if (text.size() > kMaxJsonBytes) return unexpected(refused(type, "too long"));
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return unexpected(refused(type, "no JSON"));
  T value{};
  Reader reader(json);
  if (reader.wrong().empty()) fields(reader, value);
  if (!reader.wrong().empty()) return unexpected(refused(type, printable(reader.wrong())));
  return value;
}

}  // namespace

std::string to_json(const Facts& facts) {
  return written(facts);
}

Result<Facts> parse_facts(const std::string& json) {
  return parsed<Facts>(json, "facts of a host");
}

std::string to_json(const Request& request) {
  return written(request);
}

Result<Request> parse_request(const std::string& json) {
  return parsed<Request>(json, "questions to a host");
}

}  // namespace muster::facts
