#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "facts/facts.hpp"
#include "facts/packages.hpp"
#include "facts/software.hpp"

namespace muster::facts {
namespace {

Facts full() {
  Facts facts;
  facts.host = "n1";
  facts.hostname = "node";
  facts.uid = 1000;
  facts.user = "ada";
  facts.home = "/home/ada";
  facts.folder_exists = false;
  facts.os = "Debian";
  facts.kernel = "6.1";
  facts.cpu = {.architecture = "x86_64",
               .model = "m",
               .isa = {"avx2", "fma"},
               .cores = 4,
               .usable = 3,
               .numa_nodes = 2};
  facts.memory_bytes = std::int64_t{1} << 40;
  facts.interfaces = {{.name = "ib0",
                       .kind = InterfaceKind::kInfiniband,
                       .up = true,
                       .mtu = 2044,
                       .speed_mbit = 100000,
                       .addresses = {{.ip = "198.18.0.1", .prefix = 16}}}};
  facts.routes = {
      {.destination = "0.0.0.0/0", .interface = "e", .gateway = "1.2.3.4", .metric = 7}};
  facts.own_name_resolves_to = {"127.0.1.1"};
  facts.rdma = {{.device = "mlx5_0",
                 .port = 2,
                 .active = true,
                 .link_layer = "Ethernet",
                 .rate = "100",
                 .gids = {{.index = 3, .gid = "fe80::", .type = "RoCE v2", .interface = "eth0"}}}};
  facts.gpus = {{.index = 0, .vendor = "NVIDIA", .model = "A100", .pci = "0000:07:00.0"}};
  facts.gpus[0].remap_pending = false;
  facts.gpus[0].throttled_by = {"hw_slowdown"};
  facts.gpus[0].mig_devices = {{.profile = "1g.5gb", .uuid = "MIG-1"}};
  facts.gpus[0].processes = {{.pid = 4, .user = "bob", .command = "python", .memory_bytes = 5}};
  facts.gpus[0].xids = {{.code = 79, .count = 2, .seconds_ago = 1.5}};
  facts.gpu_drivers = {.nvidia = "535.129.03", .cuda = "12.2", .fabric_manager = true};
  facts.torch.uses_gpus = true;
  facts.torch.nccl = "2.21.5";
  facts.limits.memlock = {.soft = -1, .hard = -1};
  facts.shm_bytes = 5;
  facts.shm_free_bytes = 4;
  facts.clock_s = 1794715709.25;
  facts.port_range_first = 32768;
  facts.port_range_last = 60999;
  facts.listeners = {{.port = 22, .address = "::", .pid = 9, .user = "root", .command = "sshd"}};
  facts.ssh_files = {{.path = "/home/ada", .mode = 0777, .uid = 1000, .problem = "bad"}};
  facts.mpi = {{.kind = "openmpi",
                .version = "5.0.11",
                .launcher = "/m",
                .library = {.path = "/l", .hash = "ab", .bytes = ~std::uint64_t{0}}}};
  facts.program = Program{.name = "p", .path = "/p", .executable = true};
  facts.program->libmpi = FileIdentity{.path = "/l", .hash = "cd", .bytes = 1};
  facts.program->missing_libraries = {"libx.so"};
  facts.program->missing_interpreter = "/no/python";
  facts.program->only_in_folder = true;
  facts.program->noexec_mount = "/opt";
  facts.program->torch = "2.13.0+cpu";
  facts.script =
      Script{.name = "t.py", .path = "/t.py", .files = {{"t.py", "ef"}}, .complete = false};
  facts.environment = {
      .activated = true, .failure = "", .seen = {{"PATH", "/bin"}}, .digest = {{"A", "00"}}};
  facts.environment.settings = {{"NCCL_ALGO", "ring"}};
  facts.software = Software{.python = "3.11.2",
                            .packages = {{"numpy", "2.1.0"}},
                            .system_packages = {{"six", "1.16.0"}},
                            .libraries = {{.name = "libc10.so",
                                           .path = "/t/libc10.so",
                                           .bytes = 7,
                                           .build_id = "ab",
                                           .hash = "cd",
                                           .remote = true},
                                          {.name = "libcuda.so.1"}},
                            .all_packages = false,
                            .all_libraries = false};
  facts.not_seen = {{.what = "routes", .why = "no"}};
  return facts;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(FactsJson, both_ways_lose_nothing) {
  const std::string json = to_json(full());
  EXPECT_EQ(json.find('\n'), std::string::npos);
  const auto read = parse_facts(json);
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(to_json(*read), json);
  EXPECT_EQ(read->interfaces.at(0).kind, InterfaceKind::kInfiniband);
  EXPECT_EQ(read->mpi.at(0).library.bytes, ~std::uint64_t{0});
  EXPECT_EQ(read->clock_s, 1794715709.25);
  EXPECT_EQ(read->program->missing_libraries, std::vector<std::string>{"libx.so"});
  EXPECT_EQ(read->limits.memlock.soft, -1);
  EXPECT_EQ(read->home, "/home/ada");
  EXPECT_EQ(read->software, full().software);
  EXPECT_EQ(read->environment.settings, full().environment.settings);
  EXPECT_EQ(read->folder_exists, std::optional(false));
  EXPECT_EQ(read->program->missing_interpreter, "/no/python");
  EXPECT_TRUE(read->program->only_in_folder);
  EXPECT_EQ(read->program->noexec_mount, "/opt");
}

TEST(FactsJson, of_a_host_that_knows_nothing_can_be_read) {
  const auto read = parse_facts(to_json(Facts{}));
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_FALSE(read->program);
  EXPECT_FALSE(read->folder_exists);
}

TEST(FactsJson, text_that_is_no_utf8_is_replaced) {
  Facts facts;
  facts.gpus = {{.model = "a\xff"}};
  EXPECT_TRUE(parse_facts(to_json(facts)));
}

// Appends hostile text to every string in the JSON, and adds an entry with a hostile name to every
// map.
void spoil(nlohmann::json& json, const std::string& with) {
  if (json.is_string()) json = json.get<std::string>() + with;
  if (!json.is_structured()) return;
  for (auto& item : json) spoil(item, with);
  for (const char* map : {"files", "seen", "digest", "settings", "packages", "system_packages"}) {
    if (json.is_object() && json.contains(map)) json[map][with] = with;
  }
}

TEST(FactsJson, no_text_of_a_host_can_control_a_terminal) {
  auto json = nlohmann::json::parse(to_json(full()));
  spoil(json, "\x1b]52;c;x\a\r\u009b");
  for (auto& interface : json["interfaces"]) interface["kind"] = "port";
  const auto read = parse_facts(json.dump());
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->torch.version, "?]52;c;x???");
  const std::string clean = nlohmann::json::parse(to_json(*read)).dump();
  for (const char* bad : {"\\u00", "\\r", "\u009b"}) {
    EXPECT_EQ(clean.find(bad), std::string::npos) << bad;
  }
}

TEST(FactsJson, names_the_field_that_is_wrong) {
  const std::string json = to_json(full());
  const struct {
    std::string from, to, says;
  } cases[] = {
      {R"("mtu":2044)", R"("mtu":"x")", "interfaces.mtu is not a whole number"},
      {R"("mtu":2044)", R"("mtu":1.5)", "interfaces.mtu is not a whole number"},
      {R"("mtu":2044)", R"("mtu":99999999999)", "interfaces.mtu is out of range"},
      {R"("mtu":2044)", R"("mtu":-99999999999)", "interfaces.mtu is out of range"},
      {R"("mtu":2044)", R"("mtv":2044)", "interfaces.mtu is missing"},
      {R"("bytes":18446744073709551615)", R"("bytes":-1)", "mpi.library.bytes is out of range"},
      {R"("kind":"infiniband")", R"("kind":"warp")",
       "interfaces.kind is not one of the allowed words"},
      {R"("kind":"infiniband")", R"("kind":3)", "interfaces.kind is not one of the allowed words"},
      {R"("folder_exists":false)", R"("folder_exists":0)", "folder_exists is neither"},
      {R"("up":true)", R"("up":1)", "interfaces.up is neither true nor false"},
      {R"("hostname":"node")", R"("hostname":null)", "hostname is not text"},
      {R"("gpus":[{)", R"("gpus":7,"was":[{)", "gpus is not a list"},
      {R"("gpus":[{)", R"("gpus":["A100",{)", "gpus is not an object"},
      {R"("model":"A100")", R"("model":7)", "gpus.model is not text"},
      {R"("remap_pending":false)", R"("remap_pending":0)", "gpus.remap_pending is neither"},
      {R"("seen":{"PATH":"/bin"})", R"("seen":["PATH"])", "environment.seen is not an object"},
      {R"("cpu":{)", R"("cpu":7,"was":{)", "cpu is not an object"},
      {R"("packages":{"numpy":"2.1.0"})", R"("packages":["numpy"])",
       "software.packages is not an object"},
      {R"("numpy":"2.1.0")", R"("numpy":2)", "software.packages is not text"},
      {R"("remote":true)", R"("remote":1)", "software.libraries.remote is neither"},
      {R"("clock_s":1794715709.25)", R"("clock_s":"now")", "clock_s is not a number"},
      {R"("clock_s":1794715709.25)", R"("clock_s":1e999)", ""},
  };
  for (const auto& one : cases) {
    const auto read = parse_facts(replaced(json, one.from, one.to));
    ASSERT_FALSE(read) << one.to;
    EXPECT_NE(to_text(read.error()).find(one.says), std::string::npos) << to_text(read.error());
  }
}

TEST(FactsJson, refuses_what_is_none) {
  for (const std::string text : {"", "{", "[]", "7", "null", "{}", "\"x\""}) {
    EXPECT_FALSE(parse_facts(text)) << text;
  }
  EXPECT_FALSE(parse_facts(std::string(100'000, '[')));
  EXPECT_FALSE(parse_facts(std::string(20'000'000, ' ') + to_json(Facts{})));
}

TEST(FactsJson, bounds_lists_and_texts) {
  Facts facts;
  facts.own_name_resolves_to.assign(65537, "x");
  EXPECT_FALSE(parse_facts(to_json(facts)));
  facts.own_name_resolves_to = {std::string(300'000, 'x')};
  EXPECT_FALSE(parse_facts(to_json(facts)));
  std::string packages = "\"numpy\":\"2.1.0\"";
  for (int i = 0; i < 65536; ++i) packages += ",\"" + std::to_string(i) + "\":\"1\"";
  EXPECT_FALSE(parse_facts(replaced(to_json(full()), "\"numpy\":\"2.1.0\"", packages)));
}

// A line from a host may have up to 8 MiB.
TEST(FactsJson, of_all_the_software_that_muster_reports_fit_a_line) {
  Facts facts = full();
  for (std::size_t i = 0; i < kMostPackages; ++i) {
    facts.software->packages[std::string(120, 'p') + std::to_string(i)] = std::string(256, 'v');
  }
  facts.software->libraries.assign(kMostLibraries, {.name = std::string(255, 'n'),
                                                    .path = std::string(4095, 'p'),
                                                    .build_id = std::string(128, 'b'),
                                                    .hash = std::string(32, 'h')});
  const std::string json = to_json(facts);
  EXPECT_LT(json.size(), std::size_t{8} << 20);
  EXPECT_TRUE(parse_facts(json));
}

TEST(RequestJson, both_ways_lose_nothing) {
  const Request request{.host = "n1",
                        .activate = "source 'x'\nexport A=\"b\"",
                        .launchers = {"/a", "/b"},
                        .program = "p",
                        .script = "t",
                        .script_is_module = true,
                        .folder = "/f",
                        .answer_within_s = 45,
                        .software = true,
                        .hash_within_ms = 7};
  const auto read = parse_request(to_json(request));
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->activate, request.activate);
  EXPECT_EQ(read->launchers, request.launchers);
  EXPECT_EQ(read->answer_within_s, 45);
  EXPECT_EQ(to_json(*read), to_json(request));
  EXPECT_FALSE(parse_request(R"({"host":7})"));
}

}  // namespace
}  // namespace muster::facts
