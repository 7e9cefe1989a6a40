#include "hoplite/store/shared_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hoplite {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kCapacity = 8192;

class SharedMappingTest : public ::testing::Test {
 protected:
  SharedMappingTest() : descriptor_(memfd_create("test", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(descriptor_, kCapacity), 0);
  }
  ~SharedMappingTest() override { close(descriptor_); }

  std::unique_ptr<SharedMapping> MustMap(bool writable) {
    auto mapping = SharedMapping::Map(descriptor_, kCapacity, writable);
    EXPECT_TRUE(mapping.ok()) << mapping.status();
    return std::move(mapping).value();
  }

  const int descriptor_;
};

TEST_F(SharedMappingTest, ItsBytesAreTheMemorys) {
  const auto writer = MustMap(true);
  const auto reader = MustMap(false);
  EXPECT_EQ(reader->capacity(), kCapacity);
  writer->WritableBytes(4000, 8)->front() = std::byte{9};
  EXPECT_EQ(reader->Bytes(4000, 8)->front(), std::byte{9});
  EXPECT_EQ(reader->Bytes(0, kCapacity)->size(), kCapacity);
  EXPECT_EQ(reader->Bytes(kCapacity, 0)->size(), 0u);
}

TEST_F(SharedMappingTest, GarbageIsAnError) {
  const auto mapping = MustMap(true);
  struct Case {
    std::uint64_t offset;
    std::uint64_t size;
  };
  for (const Case& c : {Case{0, kCapacity + 1}, Case{kCapacity, 1},
                        Case{kCapacity + 1, 0}, Case{UINT64_MAX, 2},
                        Case{100, UINT64_MAX}, Case{UINT64_MAX, UINT64_MAX}}) {
    const absl::Status status = mapping->Bytes(c.offset, c.size).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("8192"));
    EXPECT_FALSE(mapping->WritableBytes(c.offset, c.size).ok());
  }
}

TEST_F(SharedMappingTest, WhatOnlyReadsGivesNothingToWriteTo) {
  EXPECT_EQ(MustMap(false)->WritableBytes(0, 1).status().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST_F(SharedMappingTest, AWrongDescriptorIsRefused) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (const int wrong : {-1, ends[0]}) {
    EXPECT_EQ(SharedMapping::Map(wrong, kCapacity, false).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  close(ends[0]);
  close(ends[1]);
  // Else the pages behind the end would stop the program.
  for (const std::uint64_t wrong : {std::uint64_t{0}, kCapacity + 1}) {
    EXPECT_EQ(SharedMapping::Map(descriptor_, wrong, false).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(SharedMappingTest, ItOutlivesTheDescriptor) {
  const int copy = dup(descriptor_);
  auto mapping = SharedMapping::Map(copy, kCapacity, false);
  close(copy);
  ASSERT_TRUE(mapping.ok());
  EXPECT_EQ((*mapping)->Bytes(0, 1)->front(), std::byte{0});
}

}  // namespace
}  // namespace hoplite
