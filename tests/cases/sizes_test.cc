// Objects of awkward sizes, and every type.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/testing/status_matchers.h"
#include "tests/cases/cases_cluster.h"

namespace hoplite {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

constexpr std::uint64_t kSizes[] = {0, 1, 65535, 65536, 65537};

void PutPattern(Client& client, const ObjectId& id, std::uint64_t size,
                std::uint64_t seed) {
  ASSERT_THAT(client.Put(id, Pattern(size, seed), kPatiently), IsOk());
}

// E2. trilinos/Trilinos#10154 divided by a size of zero; pmodels/mpich#264 and
// open-mpi/ompi#4135, #100 failed on counts of zero.
TEST(SizesCaseTest, EverySizeIsBroadcast) {
  CasesCluster cluster(4);
  for (const std::uint64_t size : kSizes) {
    SCOPED_TRACE(size);
    const ObjectId id = NewId();
    std::vector<Future<Buffer>> gets;
    for (int i = 0; i < 4; ++i) {
      gets.push_back(cluster[i].GetAsync(id, kPatiently));
    }
    PutPattern(cluster[1], id, size, 5);
    for (const Future<Buffer>& get : gets) {
      const auto got = get.Get();
      ASSERT_THAT(got, IsOk());
      EXPECT_EQ(got->size(), size);
      EXPECT_TRUE(HasPattern(got->bytes(), 5));
    }
  }
}

// E2, F10. The first implementation (suquark/hoplite@946bd6f) had a path for
// up to 64 KiB and another above it.
TEST(SizesCaseTest, EverySizeIsReduced) {
  CasesCluster cluster(4);
  for (const std::uint64_t size : kSizes) {
    SCOPED_TRACE(size);
    const std::vector<ObjectId> ids = NewIds(2);
    for (int i = 0; i < 2; ++i) PutPattern(cluster[i + 1], ids[i], size, i);
    const ObjectId target = NewId();
    const auto result = cluster[3].Reduce(
        target, ids, {.type = DataType::kU8, .timeout = kPatience});
    ASSERT_THAT(result, IsOk());
    EXPECT_THAT(result->sources, UnorderedElementsAreArray(ids));
    for (int i = 0; i < 4; ++i) {
      const auto got = cluster[i].Get(target, kPatiently);
      ASSERT_THAT(got, IsOk());
      EXPECT_EQ(got->size(), size);
      EXPECT_TRUE(HasPatternSum(got->bytes(), 0, 1));
    }
  }
}

// E2. open-mpi/ompi#100: an allgatherv of which some counts were zero.
TEST(SizesCaseTest, SomeOfWhatIsGatheredIsEmpty) {
  CasesCluster cluster(4);
  const std::vector<ObjectId> ids = NewIds(8);
  const auto size_of = [](int i) -> std::uint64_t {
    return i % 2 == 0 ? 0 : 40'000 * i;
  };
  std::vector<Future<Buffer>> gets;
  for (const ObjectId& id : ids) {
    gets.push_back(cluster[0].GetAsync(id, kPatiently));
  }
  for (int i = 0; i < 8; ++i) PutPattern(cluster[i % 4], ids[i], size_of(i), i);
  for (int i = 0; i < 8; ++i) {
    const auto got = gets[i].Get();
    ASSERT_THAT(got, IsOk());
    EXPECT_EQ(got->size(), size_of(i));
    EXPECT_TRUE(HasPattern(got->bytes(), i));
  }
}

// E2, F8. A size that is no multiple of the element's was waited for for ever.
TEST(SizesCaseTest, HalfAnElementIsRefused) {
  CasesCluster cluster(2);
  struct Case {
    DataType type;
    std::uint64_t size;
  };
  for (const Case& each :
       {Case{DataType::kF32, 3}, Case{DataType::kF16, 1},
        Case{DataType::kF64, 80'004}, Case{DataType::kI32, 200'002}}) {
    SCOPED_TRACE(each.size);
    const std::vector<ObjectId> ids = NewIds(2);
    for (int i = 0; i < 2; ++i) PutPattern(cluster[i], ids[i], each.size, i);
    EXPECT_THAT(cluster[0].Reduce(NewId(), ids,
                                  {.type = each.type, .timeout = kPatience}),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

// The bits of 1, 2, 3 and 6 in a type.
struct Encoding {
  DataType type;
  std::uint64_t one, two, three, six;
};
constexpr Encoding kEncodings[] = {
    {DataType::kU8, 1, 2, 3, 6},
    {DataType::kI8, 1, 2, 3, 6},
    {DataType::kI32, 1, 2, 3, 6},
    {DataType::kI64, 1, 2, 3, 6},
    {DataType::kU32, 1, 2, 3, 6},
    {DataType::kU64, 1, 2, 3, 6},
    {DataType::kF16, 0x3c00, 0x4000, 0x4200, 0x4600},
    {DataType::kBF16, 0x3f80, 0x4000, 0x4040, 0x40c0},
    {DataType::kF32, 0x3f800000, 0x40000000, 0x40400000, 0x40c00000},
    {DataType::kF64, 0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000,
     0x4018000000000000},
};

std::vector<std::byte> Repeated(DataType type, std::uint64_t bits,
                                std::size_t count) {
  const std::size_t width = SizeOf(type);
  std::vector<std::byte> bytes(width * count);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  return bytes;
}

// F8. The first implementation added f32 only, four bytes at a time.
TEST(SizesCaseTest, EveryTypeIsReducedByEveryOperation) {
  constexpr std::size_t kOddCount = 70'001;
  CasesCluster cluster(3);
  for (const Encoding& bits : kEncodings) {
    const std::vector<ObjectId> ids = NewIds(3);
    const std::array inputs = {bits.one, bits.two, bits.three};
    for (int i = 0; i < 3; ++i) {
      ASSERT_THAT(
          cluster[i].Put(ids[i], Repeated(bits.type, inputs[i], kOddCount),
                         kPatiently),
          IsOk());
    }
    for (const auto& [op, expected] :
         {std::pair{ReduceOp::kSum, bits.six},
          std::pair{ReduceOp::kProduct, bits.six},
          std::pair{ReduceOp::kMin, bits.one},
          std::pair{ReduceOp::kMax, bits.three},
          std::pair{ReduceOp::kAverage, bits.two}}) {
      SCOPED_TRACE(testing::Message()
                   << ToString(op) << " of " << ToString(bits.type));
      const ObjectId target = NewId();
      ASSERT_THAT(
          cluster[0].Reduce(
              target, ids, {.op = op, .type = bits.type, .timeout = kPatience}),
          IsOk());
      const auto got = cluster[0].Get(target, kPatiently);
      ASSERT_THAT(got, IsOk());
      EXPECT_TRUE(std::ranges::equal(got->bytes(),
                                     Repeated(bits.type, expected, kOddCount)));
      ASSERT_THAT(cluster[0].Delete(target, kPatiently), IsOk());
    }
    for (const ObjectId& id : ids) {
      ASSERT_THAT(cluster[0].Delete(id, kPatiently), IsOk());
    }
  }
}

// E8. NVIDIA/nccl's operations page: members that disagree about the size
// wait indefinitely. F10: 65,535, 65,536 and 65,537 bytes in one call.
TEST(SizesCaseTest, SourcesOfDifferentSizesAreNamedToEveryWaiter) {
  CasesCluster cluster(4);
  for (const auto& [first, second] :
       {std::pair{65535, 65536}, std::pair{65536, 65537}, std::pair{8, 4},
        std::pair{0, 4}, std::pair{4, 1'000'000},
        std::pair{2'000'000, 1'000'000}}) {
    SCOPED_TRACE(testing::Message() << first << " and " << second);
    const std::vector<ObjectId> ids = NewIds(2);
    const ObjectId target = NewId();
    const ReduceOptions options = {.type = DataType::kU8, .timeout = kPatience};
    const auto names_both = [&] {
      return StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(HasSubstr(ids[0].ToHex()), HasSubstr(ids[1].ToHex())));
    };
    const auto reduction = cluster[0].ReduceAsync(target, ids, options);
    const auto early = cluster[3].GetAsync(target, kPatiently);
    PutPattern(cluster[1], ids[0], first, 1);
    PutPattern(cluster[2], ids[1], second, 2);
    EXPECT_THAT(reduction.Get(), names_both());
    EXPECT_THAT(early.Get(), names_both());
    EXPECT_THAT(cluster[1].Get(target, kPatiently), names_both());
  }
}

}  // namespace
}  // namespace hoplite
