#include "facts/packages.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fake_tree.hpp"

namespace muster::facts {
namespace {

using Versions = std::map<std::string, std::string>;

Versions versions_in(const FakeTree& tree, const std::vector<std::string>& folders) {
  std::vector<std::string> paths;
  for (const std::string& folder : folders) paths.push_back(tree.root() + "/" + folder);
  return read_packages(paths).versions;
}

TEST(Packages, are_read_from_the_names_of_their_folders) {
  FakeTree tree;
  tree.write("site-packages/numpy-2.1.0.dist-info/METADATA", "");
  tree.write("site-packages/Typing_Extensions-4.16.0.dist-info/METADATA", "");
  tree.write("site-packages/six-1.16.0-py3.11.egg-info", "");
  tree.write("site-packages/torch-2.13.0+cpu.dist-info/METADATA", "");
  tree.write("site-packages/numpy/__init__.py", "");
  EXPECT_EQ(versions_in(tree, {"site-packages", "not-there"}),
            (Versions{{"numpy", "2.1.0"},
                      {"six", "1.16.0"},
                      {"torch", "2.13.0+cpu"},
                      {"typing-extensions", "4.16.0"}}));
}

TEST(Packages, that_are_there_twice_are_those_that_python_finds_first) {
  FakeTree tree;
  tree.write("a/site-packages/numpy-1.26.4.dist-info/METADATA", "");
  tree.write("b/site-packages/numpy-2.1.0.dist-info/METADATA", "");
  EXPECT_EQ(versions_in(tree, {"a/site-packages", "b/site-packages"}),
            (Versions{{"numpy", "1.26.4"}}));
}

TEST(Packages, without_a_version_in_the_name_have_it_in_their_metadata) {
  FakeTree tree;
  tree.write("dist-packages/old.egg-info/PKG-INFO", "Metadata-Version: 1.2\nVersion: 0.7\n");
  EXPECT_EQ(versions_in(tree, {"dist-packages"}), (Versions{{"old", "0.7"}}));
}

TEST(Packages, that_are_editable_are_named_as_such) {
  FakeTree tree;
  tree.write("site-packages/mine-0.1.dist-info/direct_url.json",
             R"({"url": "file:///home/a/mine", "dir_info": {"editable": true}})");
  tree.write("site-packages/built-0.2.dist-info/direct_url.json",
             R"({"url": "file:///home/a/editable", "dir_info": {}})");
  tree.write("site-packages/bad-0.3.dist-info/direct_url.json", "[\"editable\"");
  tree.write("project/dev.egg-info/PKG-INFO", "Version: 3\n");
  EXPECT_EQ(versions_in(tree, {"site-packages", "project"}),
            (Versions{{"bad", "0.3"},
                      {"built", "0.2"},
                      {"dev", "3 (editable: " + tree.root() + "/project)"},
                      {"mine", "0.1 (editable: /home/a/mine)"}}));
}

TEST(Packages, that_an_interrupted_pip_left_do_not_count) {
  FakeTree tree;
  tree.write("site-packages/~umpy-1.26.4.dist-info/METADATA", "");
  tree.write("site-packages/_own-1.dist-info/METADATA", "");
  tree.write("site-packages/2to3-1.0.dist-info/METADATA", "");
  EXPECT_EQ(versions_in(tree, {"site-packages"}), (Versions{{"2to3", "1.0"}}));
}

TEST(Packages, of_the_distribution_are_known_by_their_folder) {
  for (const char* folder : {"/usr/lib/python3/dist-packages", "/usr/lib/python3.9/site-packages",
                             "/usr/lib64/python3.9/site-packages"}) {
    EXPECT_TRUE(is_system_folder(folder)) << folder;
  }
  for (const char* folder :
       {"/usr/local/lib/python3.11/dist-packages", "/usr/lib/python3.11",
        "/opt/conda/lib/python3.11/site-packages", "/home/a/.local/lib/python3.11/site-packages"}) {
    EXPECT_FALSE(is_system_folder(folder)) << folder;
  }
}

TEST(Packages, with_hostile_names_are_made_harmless) {
  FakeTree tree;
  tree.write("site-packages/" + std::string(200, 'x') + "-1.dist-info/METADATA", "");
  tree.write("site-packages/-.dist-info/METADATA", "");
  tree.write("site-packages/a\033[2J-\033[1m.dist-info/METADATA", "");
  tree.write(
      "site-packages/mine-0.1.dist-info/direct_url.json",
      R"({"url": "file:///)" + std::string(5000, 'x') + R"(", "dir_info": {"editable": true}})");
  const Versions versions = versions_in(tree, {"site-packages"});
  ASSERT_EQ(versions.size(), 2U);
  for (const auto& [name, version] : versions) {
    EXPECT_EQ((name + version).find('\033'), std::string::npos);
    EXPECT_LE(version.size(), 256U);
  }
}

TEST(Packages, are_at_most_so_many) {
  FakeTree tree;
  for (std::size_t i = 0; i <= kMostPackages; ++i) {
    tree.write("site-packages/p" + std::to_string(i) + "-1.egg-info", "");
  }
  const Packages packages = read_packages({{tree.root() + "/site-packages"}});
  EXPECT_EQ(packages.versions.size(), kMostPackages);
  EXPECT_FALSE(packages.complete);
}

}  // namespace
}  // namespace muster::facts
