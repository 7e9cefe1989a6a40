#include "ray_integration/wire/pack.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "hoplite/base/id.h"

namespace hoplite::task {
namespace {

TEST(PackTest, IntegersAreLittleEndian) {
  std::string out;
  Pack(std::uint32_t{0x01020304}, out);
  EXPECT_EQ(out, "\x04\x03\x02\x01");
}

TEST(PackTest, ATextHasItsLengthBeforeIt) {
  std::string out;
  Pack(std::string("ab"), out);
  EXPECT_EQ(out, std::string("\x02\0\0\0ab", 6));
}

TEST(PackTest, ALengthThatLiesAllocatesNothing) {
  std::string lie;
  Pack(std::uint32_t{0xffffffff}, lie);
  lie += "abc";
  std::string text;
  Unpacker of_text(lie);
  of_text.Take(text);
  EXPECT_FALSE(of_text.ok());
  EXPECT_EQ(text, "");
  EXPECT_LT(text.capacity(), 100u);

  std::vector<ObjectId> list;
  Unpacker of_list(lie);
  of_list.Take(list);
  EXPECT_FALSE(of_list.ok());
  EXPECT_EQ(list.capacity(), 0u);
}

// The length is possible for elements of one byte, but these are longer.
TEST(PackTest, AListEndsWhereItsBytesDo) {
  std::string lie;
  Pack(std::uint32_t{1000}, lie);
  lie.append(1000, '\0');
  std::vector<std::pair<std::string, std::int64_t>> list;
  Unpacker unpacker(lie);
  unpacker.Take(list);
  EXPECT_FALSE(unpacker.ok());
  EXPECT_LE(list.size(), 1000 / 12 + 1);
}

TEST(PackTest, ALengthOfListsInListsThatLiesIsRefused) {
  std::string lie;
  Pack(std::uint32_t{2}, lie);
  Pack(std::uint32_t{1}, lie);
  Pack(std::uint32_t{1}, lie);
  Pack(std::uint8_t{0}, lie);
  Pack(std::uint32_t{0x7fffffff}, lie);
  std::vector<std::vector<std::string>> lists;
  Unpacker unpacker(lie);
  unpacker.Take(lists);
  EXPECT_FALSE(unpacker.ok());
}

TEST(PackTest, AfterAFailureNothingIsTaken) {
  const std::string bytes = "\x05";
  Unpacker unpacker(bytes);
  std::uint32_t number = 77;
  unpacker.Take(number);
  EXPECT_FALSE(unpacker.ok());
  EXPECT_EQ(number, 77u);
  std::uint8_t small = 66;
  unpacker.Take(small);  // there would be one
  EXPECT_EQ(small, 66u);
  EXPECT_FALSE(unpacker.AtEnd());
}

TEST(PackTest, ABoolIsZeroOrOne) {
  bool flag = false;
  Unpacker one(absl::string_view("\x01", 1));
  one.Take(flag);
  EXPECT_TRUE(one.AtEnd());
  EXPECT_TRUE(flag);
  Unpacker two(absl::string_view("\x02", 1));
  two.Take(flag);
  EXPECT_FALSE(two.ok());
}

TEST(PackTest, TheEndOfNothingIsAtOnce) { EXPECT_TRUE(Unpacker("").AtEnd()); }

}  // namespace
}  // namespace hoplite::task
