#include "hoplite/base/id_prefix.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace hoplite {
namespace {

// An id whose n-th byte is n, but for its last.
ObjectId Counted(std::uint8_t last) {
  ObjectId::Bytes bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(i);
  }
  bytes.back() = last;
  return ObjectId(bytes);
}

TEST(IdPrefixTest, IsTheBeginOfAnId) {
  const IdPrefix prefix = IdPrefix::Of(Counted(1));
  EXPECT_EQ(prefix.ToHex(), "000102030405060708090a0b0c0d0e0f");
  EXPECT_EQ(prefix, IdPrefix::Of(Counted(2)));
  EXPECT_NE(prefix, IdPrefix());
  EXPECT_EQ(prefix, IdPrefix(prefix.bytes()));
}

TEST(IdPrefixTest, ComesBackFromItsBytesOnly) {
  const IdPrefix prefix = IdPrefix::Of(Counted(1));
  EXPECT_EQ(IdPrefix::FromBinary(prefix.binary()), prefix);
  EXPECT_EQ(IdPrefix::FromBinary(Counted(1).binary()), std::nullopt);
  EXPECT_EQ(IdPrefix::FromBinary(""), std::nullopt);
}

TEST(IdPrefixTest, IdsThatBeginSoStandTogether) {
  const IdPrefix prefix = IdPrefix::Of(Counted(1));
  EXPECT_EQ(IdPrefix::Of(prefix.First()), prefix);
  EXPECT_LT(prefix.First(), Counted(0));
  IdPrefix::Bytes next = prefix.bytes();
  ++next.back();
  EXPECT_LT(Counted(255), IdPrefix(next).First());
}

}  // namespace
}  // namespace hoplite
