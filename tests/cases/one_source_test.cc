// C17, E2, F10, F11. Reductions of one source, of every size and out of
// several.

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/testing/status_matchers.h"
#include "tests/cases/cases_cluster.h"

namespace hoplite {
namespace {

using ::testing::ElementsAre;

// learning-at-home/hivemind#450, suquark/hoplite@946bd6f: who was alone, or
// the first of many, got nothing or zeros.
TEST(OneSourceCaseTest, AReductionOfOneSourceIsThatSource) {
  CasesCluster cluster(4);
  for (const std::uint64_t size : {0, 1, 65535, 65536, 65537, 400'000}) {
    for (const int sources : {1, 6}) {
      SCOPED_TRACE(testing::Message() << size << " bytes, 1 of " << sources);
      const std::vector<ObjectId> ids = NewIds(sources);
      ASSERT_THAT(cluster[1].Put(ids[0], Pattern(size, 1), kPatiently), IsOk());
      // An average of one divides by one.
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage}) {
        const ObjectId target = NewId();
        const auto result = cluster[3].Reduce(target, ids,
                                              {.op = op,
                                               .type = DataType::kU8,
                                               .count = 1,
                                               .timeout = kPatience});
        ASSERT_THAT(result, IsOk());
        EXPECT_THAT(result->sources, ElementsAre(ids[0]));
        for (int i = 0; i < 4; ++i) {
          const auto got = cluster[i].Get(target, kPatiently);
          ASSERT_THAT(got, IsOk());
          EXPECT_EQ(got->size(), size);
          EXPECT_TRUE(HasPattern(got->bytes(), 1));
        }
      }
    }
  }
}

}  // namespace
}  // namespace hoplite
