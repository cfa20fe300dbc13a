#include "facts/script.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fake_tree.hpp"
#include "sys/hash.hpp"

namespace muster::facts {
namespace {

using Names = std::vector<std::string>;

Names names(const Script& script) {
  Names all;
  for (const auto& [name, hash] : script.files) all.push_back(name);
  return all;
}

TEST(Script, that_is_not_there_has_no_path) {
  const FakeTree tree;
  const Script script = read_script("train.py", false, tree.root());
  EXPECT_EQ(script.name, "train.py");
  EXPECT_EQ(script.path, "");
  EXPECT_TRUE(script.files.empty());
  EXPECT_EQ(read_script("train.py", false, "/no/such").path, "");
}

TEST(Script, is_hashed_with_what_it_imports_from_beside_it) {
  FakeTree tree;
  const std::string text =
      "import torch, model\nfrom data.sets import mnist\nimport space.deep\nfrom . import "
      "nothing\n";
  tree.write("job/train.py", text);
  tree.write("job/model.py", "from layers import *\n");
  tree.write("job/layers.py", "import train\n");
  tree.write("job/data/__init__.py", "");
  tree.write("job/data/sets/__init__.py", "from ..files import read\nfrom .... import up\n");
  tree.write("job/data/sets/mnist.py", "");
  tree.write("job/data/files.py", "");
  tree.write("job/space/deep.py", "");
  tree.write("job/other.py", "");
  tree.write("up.py", "");
  const Script script = read_script("job/train.py", false, tree.root());
  EXPECT_EQ(script.path, tree.root() + "/job/train.py");
  EXPECT_EQ(names(script),
            (Names{"data/__init__.py", "data/files.py", "data/sets/__init__.py",
                   "data/sets/mnist.py", "layers.py", "model.py", "space/deep.py", "train.py"}));
  EXPECT_EQ(script.files.at("train.py"), sys::hash_text(text));
  EXPECT_TRUE(script.complete);
}

TEST(Script, may_be_a_folder_or_a_module) {
  FakeTree tree;
  tree.write("job/__main__.py", "import near\n");
  tree.write("job/near.py", "");
  EXPECT_EQ(names(read_script("job", false, tree.root())), (Names{"__main__.py", "near.py"}));
  const Script module = read_script("job.near", true, tree.root());
  EXPECT_EQ(module.path, std::filesystem::canonical(tree.root()));
  EXPECT_EQ(names(module), Names{"job/near.py"});
  EXPECT_EQ(names(read_script("job", true, tree.root())), Names{"job/__main__.py"});
  EXPECT_EQ(read_script("job.far", true, tree.root()).path, "");
  EXPECT_EQ(read_script("../job", true, tree.root() + "/job").path, "");
}

TEST(Script, is_followed_where_a_link_leads_but_modules_are_not) {
  FakeTree tree;
  tree.write("real/v2.py", "import beside, secret, looped\n");
  tree.write("real/beside.py", "");
  tree.write("elsewhere/secret.py", "");
  std::filesystem::create_directory(tree.root() + "/job");
  std::filesystem::create_symlink("../real/v2.py", tree.root() + "/job/train.py");
  std::filesystem::create_symlink("../elsewhere/secret.py", tree.root() + "/real/secret.py");
  std::filesystem::create_symlink("looped.py", tree.root() + "/real/looped.py");
  const Script script = read_script("train.py", false, tree.root() + "/job");
  EXPECT_EQ(names(script), (Names{"beside.py", "train.py"}));
}

TEST(Script, is_not_read_without_end) {
  FakeTree tree;
  std::string text;
  for (int i = 0; i < 300; ++i) {
    tree.write(fmt::format("m{}.py", i), "");
    text += fmt::format("import m{}\n", i);
  }
  tree.write("train.py", text);
  const Script many = read_script("train.py", false, tree.root());
  EXPECT_EQ(many.files.size(), 256U);
  EXPECT_FALSE(many.complete);
  const std::string large = tree.write("large.py", "");
  std::filesystem::resize_file(large, std::size_t{33} << 20);
  const Script script = read_script("large.py", false, tree.root());
  EXPECT_NE(script.path, "");
  EXPECT_TRUE(script.files.empty());
  EXPECT_FALSE(script.complete);
}

}  // namespace
}  // namespace muster::facts
