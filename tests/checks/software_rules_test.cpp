#include <stdexcept>

#include <gtest/gtest.h>

#include "checks/judged.hpp"

namespace muster::checks {
namespace {

constexpr const char* kPackages = "/venv/lib/python3.11/site-packages";

facts::Library library(const std::string& name, const std::string& folder = "/usr/lib") {
  return {.name = name,
          .path = folder + "/" + name,
          .bytes = 100,
          .build_id = "b1",
          .hash = "h of " + name};
}

// Hosts that all run Python with PyTorch and load the same libraries.
World python_world(int hosts) {
  World world = good_world_with_program(hosts);
  world.job.program = {"/venv/bin/python", "train.py"};
  const std::string torch = std::string(kPackages) + "/torch";
  for (int number = 1; number <= hosts; ++number) {
    facts::Facts& host = world.host(number);
    host.program->torch = "2.13.0";
    host.program->torch_folder = torch;
    host.program->libmpi.reset();
    host.program->libmpi_kind = host.program->libmpi_version = "";
    host.script = facts::Script{.name = "train.py", .path = "/opt/job/train.py"};
    host.software = facts::Software{
        .python = "3.11.2",
        .packages = {{"einops", "0.8"},
                     {"numpy", "2.1.0"},
                     {"nvidia-nccl-cu12", "2.21.5"},
                     {"torch", "2.13.0"}},
        .libraries = {library("libc.so.6"),
                      library("libnccl.so.2", std::string(kPackages) + "/nvidia/nccl/lib"),
                      library("libstdc++.so.6"), library("libtorch_cpu.so", torch + "/lib")}};
  }
  return world;
}

facts::Library& library_of(World& world, int host, std::string_view name) {
  for (facts::Library& one : world.host(host).software->libraries) {
    if (one.name == name) return one;
  }
  throw std::out_of_range("no such library");
}

TEST(Software, ThatIsEqualGivesNoFinding) {
  EXPECT_EQ(brief(python_world(4)), "");
}

TEST(Packages, ThatDifferAreShownAsDifferencesOfGroups) {
  World world = python_world(4);
  for (const int number : {3, 4}) {
    world.host(number).software->packages["numpy"] = "1.26.4";
    world.host(number).software->packages.erase("einops");
  }
  ASSERT_EQ(brief(world), "warning n[3-4] python-packages-differ");
  EXPECT_EQ(judged(world)[0].what, "2 Python packages differ from those on n[1-2]");
  EXPECT_EQ(judged(world)[0].evidence, "einops is missing, numpy 1.26.4 instead of 2.1.0");
  world.host(2).software->packages["extra"] = "1 (editable: /home/a)";
  ASSERT_EQ(brief(world),
            "warning n2 python-packages-differ; warning n[3-4] python-packages-differ");
  EXPECT_EQ(judged(world)[0].what, "1 Python package differs from the one on most hosts");
  EXPECT_EQ(judged(world)[0].evidence, "extra 1 (editable: /home/a) is only here");
}

TEST(Packages, AreCutWithTheCommandThatShowsAll) {
  World world = python_world(3);
  world.job.activate = "source 'my venv'";
  for (int number = 1; number <= 3; ++number) world.host(number).environment.activated = true;
  for (int i = 10; i < 30; ++i) world.host(2).software->packages["p" + std::to_string(i)] = "1";
  ASSERT_EQ(brief(world), "warning n2 python-packages-differ");
  EXPECT_TRUE(has(judged(world)[0].evidence, "p17 1 is only here and 12 more"));
  EXPECT_TRUE(judged(world)[0].fix.ends_with(
      "\n  muster facts -H n2 --json --program /venv/bin/python\nwith the same --activate as now"))
      << judged(world)[0].fix;
  EXPECT_FALSE(has(judged(world)[0].fix, "my venv"));  // it may be secret
}

TEST(Packages, OfTheSystemAreANote) {
  World world = python_world(3);
  for (int number = 1; number <= 3; ++number) {
    world.host(number).software->system_packages = {
        {"numpy-fft", "1"}, {"pygobject", "3.42"}, {"six", "1.16"}, {"urllib3", "1.26"}};
  }
  auto& odd = world.host(3).software->system_packages;
  odd["pygobject"] = "3.46";
  odd.erase("six");
  ASSERT_EQ(brief(world), "note n3 python-packages-differ");
  EXPECT_EQ(judged(world)[0].what,
            "2 Python packages of the operating system differ from those on most hosts");
  EXPECT_EQ(judged(world)[0].evidence, "pygobject 3.46 instead of 3.42, six is missing");
  odd["numpy-fft"] = "2";                               // a package that jobs depend on
  world.host(3).software->packages["urllib3"] = "2.0";  // from a virtual environment
  odd.erase("urllib3");
  ASSERT_EQ(brief(world), "warning n3 python-packages-differ; note n3 python-packages-differ");
  EXPECT_EQ(judged(world)[0].evidence, "numpy-fft 2 instead of 1, urllib3 2.0 instead of 1.26");
}

TEST(Packages, ThatWereNotReportedAreNotMissing) {
  World world = python_world(3);
  auto& software = *world.host(2).software;
  software.packages.erase("einops");
  software.all_packages = false;
  EXPECT_EQ(brief(world), "");
  software.packages["numpy"] = "1.26.4";
  EXPECT_EQ(brief(world), "warning n2 python-packages-differ");
  EXPECT_EQ(judged(world)[0].evidence, "numpy 1.26.4 instead of 2.1.0");
  std::erase_if(software.libraries,
                [](const facts::Library& one) { return one.name == "libstdc++.so.6"; });
  EXPECT_EQ(brief(world),
            "warning n2 python-packages-differ; warning n2 libraries-differ-between-hosts");
  software.all_libraries = false;
  EXPECT_EQ(brief(world), "warning n2 python-packages-differ");
}

TEST(Packages, WithHostileTextsAreCut) {
  World world = python_world(3);
  world.host(2).software->packages[std::string(100'000, 'x')] = std::string(100'000, 'y');
  ASSERT_EQ(brief(world), "warning n2 python-packages-differ");
  EXPECT_LT(judged(world)[0].evidence.size(), 1000U);
}

TEST(Python, OfAnotherVersionIsOneFinding) {
  World world = python_world(3);
  facts::Facts& odd = world.host(3);
  odd.software->python = "3.12.1";
  odd.program->identity.hash = "another";
  odd.software->libraries = {library("libpython3.12.so.1.0")};
  ASSERT_EQ(brief(world), "warning n3 python-packages-differ");
  EXPECT_EQ(judged(world)[0].what, "the version of Python differs from the one on most hosts");
  EXPECT_EQ(judged(world)[0].evidence, "Python 3.12.1 instead of 3.11.2");
  odd.software->packages.erase("einops");
  EXPECT_EQ(judged(world)[0].what, "Python and 1 package differ from those on most hosts");
}

TEST(Libraries, AreComparedByWhatBothHostsKnow) {
  World world = python_world(3);
  facts::Library& odd = library_of(world, 2, "libtorch_cpu.so");
  odd.hash = "other";
  ASSERT_EQ(brief(world), "warning n2 libraries-differ-between-hosts");
  EXPECT_EQ(judged(world)[0].what,
            "1 library that the ranks load differs from the one on most hosts");
  EXPECT_EQ(judged(world)[0].evidence, std::string(kPackages) + "/torch/lib/libtorch_cpu.so");
  odd.hash = "";
  EXPECT_EQ(brief(world), "");
  odd.build_id = "b2";
  EXPECT_EQ(brief(world), "warning n2 libraries-differ-between-hosts");
  odd.build_id = "b1";
  odd.bytes = 99;
  EXPECT_EQ(brief(world), "warning n2 libraries-differ-between-hosts");
  odd.hash = "other";
  EXPECT_EQ(brief(world), "warning n2 libraries-differ-between-hosts");
}

TEST(Libraries, ThatDifferInSizeDoNotDecideWhichContentIsUsual) {
  World world = python_world(4);
  for (const int number : {2, 3}) library_of(world, number, "libtorch_cpu.so").hash = "";
  facts::Library& odd = library_of(world, 1, "libtorch_cpu.so");
  odd.build_id = "b2";
  odd.hash = "other";
  EXPECT_EQ(brief(world), "warning n1 libraries-differ-between-hosts");
  library_of(world, 3, "libtorch_cpu.so").hash = "third";
  EXPECT_EQ(brief(world),
            "warning n1 libraries-differ-between-hosts; warning n4 libraries-differ-between-hosts");
}

TEST(Libraries, FromAnotherFolderShowBothPaths) {
  World world = python_world(3);
  facts::Library& odd = library_of(world, 3, "libstdc++.so.6");
  odd.path = "/conda/lib/libstdc++.so.6";
  EXPECT_EQ(brief(world), "");  // the same content
  odd.hash = "other";
  ASSERT_EQ(brief(world), "warning n3 libraries-differ-between-hosts");
  EXPECT_EQ(judged(world)[0].evidence,
            "/conda/lib/libstdc++.so.6 instead of /usr/lib/libstdc++.so.6");
  odd.path = "";
  EXPECT_EQ(judged(world)[0].evidence, "libstdc++.so.6 is missing");
}

TEST(Libraries, OfTheSystemAreANote) {
  World world = python_world(3);
  library_of(world, 3, "libc.so.6").build_id = "b2";
  ASSERT_EQ(brief(world), "note n3 libraries-differ-between-hosts");
  EXPECT_EQ(judged(world)[0].what, "1 system library differs from the one on most hosts");
  library_of(world, 3, "libstdc++.so.6").build_id = "b2";
  EXPECT_EQ(brief(world),
            "warning n3 libraries-differ-between-hosts; note n3 libraries-differ-between-hosts");
}

TEST(Libraries, ThatFollowFromAnotherPyTorchAreNotReported) {
  World world = python_world(3);
  facts::Facts& odd = world.host(2);
  for (facts::Library& one : odd.software->libraries) {
    if (one.path.starts_with("/venv")) one.hash = "other";
  }
  odd.program->torch = odd.software->packages["torch"] = "2.12.1";
  odd.software->packages["nvidia-nccl-cu12"] = "2.20.0";
  EXPECT_EQ(brief(world), "warning n2 torch-version-skew");
  std::erase_if(odd.software->libraries,
                [](const facts::Library& one) { return one.path.starts_with("/venv"); });
  EXPECT_EQ(brief(world), "warning n2 torch-version-skew");
}

TEST(Libraries, ThatFollowFromAnotherPackageAreNotReported) {
  World world = python_world(3);
  world.host(2).software->packages["nvidia-nccl-cu12"] = "2.20.0";
  library_of(world, 2, "libnccl.so.2").hash = "other";
  EXPECT_EQ(brief(world), "warning n2 python-packages-differ");
  library_of(world, 2, "libtorch_cpu.so").hash = "other";  // from another package
  EXPECT_EQ(brief(world),
            "warning n2 python-packages-differ; warning n2 libraries-differ-between-hosts");
}

TEST(Libraries, OfAnMpiThatDiffersAreNotReported) {
  World world = good_world_with_program(3);
  for (int number = 1; number <= 3; ++number) {
    world.host(number).software =
        facts::Software{.libraries = {library("libmpi.so.40"), library("libopen-pal.so.40"),
                                      library("libown.so", "/opt/job")}};
  }
  world.host(3).program->libmpi->hash = "m2";
  library_of(world, 3, "libmpi.so.40").hash = "m2";
  library_of(world, 3, "libopen-pal.so.40").hash = "p2";
  EXPECT_EQ(brief(world), "warning n3 ompi-version-mismatch");
  library_of(world, 3, "libown.so").hash = "o2";
  EXPECT_EQ(brief(world),
            "warning n3 ompi-version-mismatch; warning n3 libraries-differ-between-hosts");
  world.host(3).software->libraries.pop_back();
  world.host(3).program->missing_libraries = {"libown.so"};
  EXPECT_EQ(brief(world),
            "error n3 remote-shared-library-missing; warning n3 ompi-version-mismatch");
}

TEST(Software, ThatWasComparedIsTold) {
  World world = python_world(2);
  const layout::Layout layout = world.layout();
  const Scene scene{world.job, world.cluster, world.surveys, world.launcher, layout};
  EXPECT_EQ(compared_software(scene),
            "compared on all hosts: Python 3.11.2, 4 packages, 4 libraries");
  library_of(world, 2, "libtorch_cpu.so").hash = "";
  library_of(world, 2, "libstdc++.so.6").remote = true;
  EXPECT_EQ(compared_software(scene),
            "compared on all hosts: Python 3.11.2, 4 packages, 4 libraries; 1 by size and "
            "build-id only, until a later check has read it; 1 on a network file system by size "
            "and build-id");
  world.host(1).software.reset();
  EXPECT_EQ(compared_software(scene), "");
}

TEST(Libraries, ThatCouldNotBeListedAreNotSaidToBeCompared) {
  World world = python_world(2);
  world.host(2).software->libraries.clear();
  world.host(2).not_seen = {{.what = "software.libraries", .why = "the loader crashed"}};
  ASSERT_EQ(brief(world), "note n2 facts-not-gathered");
  EXPECT_EQ(judged(world)[0].what, "not examined: software.libraries");
  const layout::Layout layout = world.layout();
  EXPECT_EQ(compared_software({world.job, world.cluster, world.surveys, world.launcher, layout}),
            "");
  world.host(2).not_seen.push_back({.what = "program.libraries", .why = "the loader crashed"});
  ASSERT_EQ(brief(world), "note n2 facts-not-gathered");
  EXPECT_EQ(judged(world)[0].what, "not examined: program.libraries");
}

TEST(Settings, OfLibrariesAreComparedWithoutActivation) {
  World world = good_world(3);
  for (int number = 1; number <= 3; ++number) {
    world.host(number).environment.settings = {{"NCCL_ALGO", "ring"},
                                               {"NCCL_SOCKET_IFNAME", std::to_string(number)}};
  }
  EXPECT_EQ(brief(world), "");
  world.host(2).environment.settings["NCCL_ALGO"] = "tree";
  world.host(3).environment.settings.erase("NCCL_ALGO");
  world.host(3).environment.settings["UCX_TLS"] = "tcp";
  ASSERT_EQ(brief(world),
            "warning n2 nccl-env-differs-per-host; warning n3 nccl-env-differs-per-host");
  EXPECT_EQ(judged(world)[0].evidence, "NCCL_ALGO=tree instead of ring");
  EXPECT_EQ(judged(world)[1].evidence, "NCCL_ALGO (not set, instead of ring), UCX_TLS=tcp");
  world.job.env_values = {{"NCCL_ALGO", "ring"}, {"UCX_TLS", "rc"}};  // for all ranks
  EXPECT_EQ(brief(world), "");
}

TEST(Settings, ThatHoldTheNameOfTheirHostAreAlike) {
  World world = good_world(5);
  for (int number = 1; number <= 5; ++number) {
    facts::Facts& host = world.host(number);
    const std::string name = host.host;
    host.hostname = name + ".site.org";
    host.environment.settings = {{"CUDA_CACHE_PATH", "/scratch/" + name + ".site.org/cuda"},
                                 {"NCCL_HOSTID", name + "-1"},
                                 {"TORCH_EXTENSIONS_DIR", "/local/" + name + "/ext"},
                                 {"UCX_TLS", "n3"}};  // a value that is also a host's name
  }
  EXPECT_EQ(brief(world), "");
  world.host(2).environment.settings["TORCH_EXTENSIONS_DIR"] = "/local/n21/ext";
  ASSERT_EQ(brief(world), "warning n2 nccl-env-differs-per-host");
  EXPECT_EQ(judged(world)[0].evidence,
            "TORCH_EXTENSIONS_DIR=/local/n21/ext instead of /local/n1/ext");
}

TEST(Settings, OfWhichEachHostHasItsOwnAreOneNote) {
  World world = good_world(100);
  for (int number = 1; number <= 100; ++number) {
    world.host(number).environment.settings = {
        {"CUDA_CACHE_PATH", "/tmp/" + std::to_string(7 * number)}, {"NCCL_ALGO", "ring"}};
  }
  ASSERT_EQ(brief(world), "note all nccl-env-differs-per-host");
  EXPECT_EQ(judged(world)[0].evidence, "CUDA_CACHE_PATH");
  world.host(7).environment.settings["NCCL_ALGO"] = "tree";
  ASSERT_EQ(brief(world),
            "warning n7 nccl-env-differs-per-host; note all nccl-env-differs-per-host");
  EXPECT_EQ(judged(world)[0].evidence, "NCCL_ALGO=tree instead of ring");
}

TEST(Settings, ThatMusterSetsOnlyByDefaultAreComparedIfTheActivationSetsThem) {
  World world = good_world(3);
  world.job.activate = "module load job";
  for (int number = 1; number <= 3; ++number) {
    const std::string threads = number == 3 ? "1" : "8";
    world.host(number).environment = {.activated = true,
                                      .digest = {{"OMP_NUM_THREADS", "d" + threads}},
                                      .settings = {{"OMP_NUM_THREADS", threads}}};
  }
  EXPECT_EQ(brief(world), "warning n3 nccl-env-differs-per-host");
  world.job.env_values = {{"OMP_NUM_THREADS", "8"}};  // -x takes precedence over the activation
  for (const Finding& finding : judged(world)) EXPECT_NE(finding.id, "nccl-env-differs-per-host");
}

}  // namespace
}  // namespace muster::checks
