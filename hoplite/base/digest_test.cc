#include "hoplite/base/digest.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "hoplite/base/id.h"

namespace hoplite {
namespace {

std::string Sha256OfText(absl::string_view text) {
  return Sha256Hex(std::as_bytes(std::span(text.data(), text.size())));
}

// The examples of FIPS 180-4.
TEST(DigestTest, DigestsAreThoseOfTheStandard) {
  EXPECT_EQ(IdFromName("abc").ToHex(),
            "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7");
  EXPECT_EQ(Sha256OfText("abc"),
            "ba7816bf8f01cfea414140de5dae2223"
            "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256OfText(""),
            "e3b0c44298fc1c149afbf4c8996fb924"
            "27ae41e4649b934ca495991b7852b855");
}

TEST(DigestTest, FiftySixDigitsAreAnIdAndAnyOtherTextIsAName) {
  const std::string hex(56, 'a');
  EXPECT_EQ(IdFromText(hex).ToHex(), hex);
  EXPECT_EQ(IdFromText("weights"), IdFromName("weights"));
  EXPECT_EQ(IdFromText(hex + "a"), IdFromName(hex + "a"));
  EXPECT_EQ(IdFromText(""), IdFromName(""));
}

TEST(DigestTest, OtherNamesAreOtherIds) {
  EXPECT_NE(IdFromName("weights"), IdFromName("weights "));
  EXPECT_NE(IdFromName(absl::string_view("a\0b", 3)), IdFromName("a"));
}

}  // namespace
}  // namespace hoplite
