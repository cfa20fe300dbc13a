#include "facts/hash_cache.hpp"

#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.hpp"
#include "fake_tree.hpp"

namespace muster::facts {
namespace {

constexpr HashBudget kPlenty{.time = std::chrono::hours(1)};
constexpr HashBudget kNothing{};
constexpr HashBudget kOnePart{.at_least = 1,  // one part, since a part is read whole
                              .at_least_within = std::chrono::hours(1)};

std::vector<HashedFile> cached(const std::string& path) {
  std::ifstream file(path);
  return parse_hashed_files({std::istreambuf_iterator<char>(file), {}});
}

void write_cache(const std::string& path, const std::vector<HashedFile>& files) {
  std::ofstream(path) << to_json(files);
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
}

// Returns the cache entry for the file, with the given hashes of its parts.
HashedFile entry_of(const std::string& path, std::string parts) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  const auto ns = [](const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
  return {.path = path,
          .device = status.st_dev,
          .inode = status.st_ino,
          .bytes = static_cast<std::uint64_t>(status.st_size),
          .modified_ns = ns(status.st_mtim),
          .changed_ns = ns(status.st_ctim),
          .used_s = 1,
          .parts = std::move(parts)};
}

const std::string kOther(32, '7');

TEST(HashCache, hashes_follow_the_content) {
  FakeTree tree;
  const std::string one = tree.write("one", "content");
  const std::string same = tree.write("same", "content");
  const std::string other = tree.write("other", "contenT");
  HashCache cache("", kPlenty);
  EXPECT_EQ(cache.hash_of(one).size(), 32U);
  EXPECT_EQ(cache.hash_of(one), cache.hash_of(same));
  EXPECT_NE(cache.hash_of(one), cache.hash_of(other));
  EXPECT_EQ(cache.hash_of(tree.root()), "");
  EXPECT_EQ(cache.hash_of(tree.root() + "/missing"), "");
  ASSERT_EQ(::mkfifo((tree.root() + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(cache.hash_of(tree.root() + "/fifo"), "");
}

TEST(HashCache, believes_only_what_is_of_the_same_file) {
  FakeTree tree;
  const std::string file = tree.write("file", "content");
  const std::string path = tree.root() + "/cache";
  const HashedFile entry = entry_of(file, kOther);
  const std::string real = HashCache("", kPlenty).hash_of(file);
  write_cache(path, {entry});
  // It returns the cached hash, even though that is wrong.
  EXPECT_NE(HashCache(path, kPlenty).hash_of(file), real);
  EXPECT_NE(HashCache(path, kNothing).hash_of(file), "");
  for (const auto change : {&HashedFile::device, &HashedFile::inode, &HashedFile::bytes}) {
    HashedFile stale = entry;
    stale.*change += 1;
    write_cache(path, {stale});
    EXPECT_EQ(HashCache(path, kPlenty).hash_of(file), real);
    EXPECT_EQ(HashCache(path, kNothing).hash_of(file), "");
  }
  for (const auto change : {&HashedFile::modified_ns, &HashedFile::changed_ns}) {
    HashedFile stale = entry;
    stale.*change -= 1;
    write_cache(path, {stale});
    EXPECT_EQ(HashCache(path, kPlenty).hash_of(file), real);
  }
}

TEST(HashCache, reads_on_where_an_earlier_check_ran_out_of_time) {
  FakeTree tree;
  const std::string file = tree.write("file", std::string(3 * kHashedPart - 5, 'x'));
  const std::string whole = HashCache("", kPlenty).hash_of(file);
  HashCache first("", kOnePart);
  EXPECT_EQ(first.hash_of(file), "");
  const std::string part =
      HashCache("", kPlenty)
          .hash_of(tree.write("first", std::string(kHashedPart, 'x')));  // only one part
  EXPECT_NE(part, whole);
  const std::string path = tree.root() + "/cache";
  write_cache(path, {entry_of(file, kOther)});
  EXPECT_EQ(HashCache(path, kOnePart).hash_of(file), "");  // two of three parts are done
  HashCache last(path, {.at_least = 2 * kHashedPart - 5, .at_least_within = std::chrono::hours(1)});
  const std::string continued = last.hash_of(file);
  EXPECT_EQ(continued.size(), 32U);
  EXPECT_NE(continued, whole);  // it continued after the cached part
}

TEST(HashCache, reads_no_longer_than_the_budget_even_from_a_slow_disk) {
  FakeTree tree;
  const std::string file = tree.write("file", "content");
  EXPECT_EQ(HashCache("", {.at_least = std::size_t{32} << 20}).hash_of(file), "");
}

TEST(HashCache, does_not_count_the_time_before_the_first_hash) {
  FakeTree tree;
  const std::string file = tree.write("file", "content");
  HashCache cache("", {.time = std::chrono::milliseconds(1)});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_NE(cache.hash_of(file), "");
}

TEST(HashCache, is_not_for_file_systems_that_other_machines_serve) {
  for (const std::uint32_t type : {0x6969, 0x01021997, 0x65735546}) {  // NFS, 9p, FUSE
    EXPECT_TRUE(is_remote_file_system(type));
  }
  for (const std::uint32_t type : {0xef53, 0x01021994, 0x794c7630}) {  // ext4, tmpfs, overlayfs
    EXPECT_FALSE(is_remote_file_system(type));
  }
}

TEST(HashCache, is_kept_for_the_next_check) {
  const std::string program = "/bin/sh";  // unlike a file that was written recently, it is cached
  FakeTree tree;
  const std::string path = tree.root() + "/cache";
  HashCache first(path, kPlenty);
  const std::string hash = first.hash_of(program);
  first.save();
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(cached(path).size(), 1U);
  EXPECT_EQ(HashCache(path, kNothing).hash_of(program), hash);
}

TEST(HashCache, keeps_nothing_of_a_file_that_was_just_written) {
  FakeTree tree;
  const std::string file = tree.write("file", "content");
  const std::string path = tree.root() + "/cache";
  HashCache cache(path, kPlenty);
  EXPECT_NE(cache.hash_of(file), "");
  cache.save();
  EXPECT_TRUE(cached(path).empty());
}

TEST(HashCache, does_not_take_the_file_of_another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  FakeTree tree;
  const std::string file = tree.write("file", "content");
  const std::string path = tree.root() + "/cache";
  write_cache(path, {entry_of(file, kOther)});
  ASSERT_EQ(::chown(path.c_str(), 4711, 4711), 0);
  EXPECT_EQ(HashCache(path, kNothing).hash_of(file), "");
  ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_EQ(HashCache(path, kNothing).hash_of(file), "");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_NE(HashCache(path, kNothing).hash_of(file), "");
  std::filesystem::create_symlink(path, tree.root() + "/link");
  EXPECT_EQ(HashCache(tree.root() + "/link", kNothing).hash_of(file), "");
}

TEST(HashCache, refuses_hostile_content) {
  const std::string good =
      to_json({{.path = "/a", .bytes = kHashedPart + 1, .parts = kOther + kOther}});
  EXPECT_EQ(parse_hashed_files(good).size(), 1U);
  const auto with = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    EXPECT_NE(text.find(from), std::string::npos);
    return parse_hashed_files(text.replace(text.find(from), from.size(), to)).size();
  };
  EXPECT_EQ(with(kOther + kOther, kOther + kOther + kOther), 0U);  // more parts than the file has
  EXPECT_EQ(with(kOther + kOther, kOther + "7"), 0U);
  EXPECT_EQ(with(kOther + kOther, kOther + std::string(32, 'X')), 0U);
  EXPECT_EQ(with("\"format\":2", "\"format\":1"), 0U);
  EXPECT_EQ(with("\"inode\":0", "\"inode\":-1"), 0U);
  EXPECT_EQ(with("\"files\":[", "\"files\":[7,"), 0U);
  EXPECT_TRUE(parse_hashed_files("").empty());
  EXPECT_TRUE(parse_hashed_files(std::string(std::size_t{5} << 20, ' ') + good).empty());
  EXPECT_TRUE(parse_hashed_files(to_json(std::vector<HashedFile>(kMostHashedFiles + 1))).empty());
}

TEST(HashCache, stays_small) {
  FakeTree tree;
  const std::string path = tree.root() + "/cache";
  std::vector<HashedFile> files;
  for (std::size_t i = 0; i < kMostHashedFiles; ++i) {
    files.push_back({.path = "/gone/" + std::to_string(i), .used_s = static_cast<std::int64_t>(i)});
  }
  write_cache(path, files);
  HashCache cache(path, kPlenty);
  (void)cache.hash_of("/bin/sh");
  cache.save();
  const auto kept = cached(path);
  EXPECT_EQ(kept.size(), kMostHashedFiles);
  EXPECT_EQ(kept.front().path, "/bin/sh");
  EXPECT_EQ(kept.back().path, "/gone/1");  // the entry that was unused for longest was dropped
}

}  // namespace
}  // namespace muster::facts
