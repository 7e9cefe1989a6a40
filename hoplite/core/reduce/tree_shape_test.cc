#include "hoplite/core/reduce/tree_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"

namespace hoplite {
namespace {

using Children = std::vector<std::uint32_t>;

// Every shape of up to 64 positions and a degree of up to 8.
class AnyTreeShapeTest : public ::testing::TestWithParam<std::tuple<int, int>> {
 protected:
  std::uint32_t count() const {
    return static_cast<std::uint32_t>(std::get<0>(GetParam()));
  }
  std::uint32_t degree() const {
    return static_cast<std::uint32_t>(std::get<1>(GetParam()));
  }
  TreeShape shape_ = TreeShape(count(), degree());
};

// The positions below and at `root`, in the order first child, node, others.
void VisitInOrder(const TreeShape& shape, std::uint32_t root,
                  std::vector<std::uint32_t>& visited) {
  const Children& children = shape.Children(root);
  if (!children.empty()) VisitInOrder(shape, children.front(), visited);
  visited.push_back(root);
  for (std::size_t i = 1; i < children.size(); ++i) {
    VisitInOrder(shape, children[i], visited);
  }
}

TEST_P(AnyTreeShapeTest, IsNumberedInOrder) {
  std::vector<std::uint32_t> visited;
  VisitInOrder(shape_, shape_.root(), visited);
  ASSERT_EQ(visited.size(), count());
  for (std::uint32_t i = 0; i < count(); ++i) EXPECT_EQ(visited[i], i);
}

TEST_P(AnyTreeShapeTest, ParentsAndChildrenAgree) {
  EXPECT_EQ(shape_.count(), count());
  EXPECT_EQ(shape_.degree(), degree());
  EXPECT_EQ(shape_.Parent(shape_.root()), std::nullopt);
  std::set<std::uint32_t> found = {shape_.root()};
  for (std::uint32_t position = 0; position < count(); ++position) {
    EXPECT_LE(shape_.Children(position).size(), degree());
    for (std::uint32_t child : shape_.Children(position)) {
      EXPECT_EQ(shape_.Parent(child), position);
      EXPECT_TRUE(found.insert(child).second) << child << " has two parents";
    }
  }
  EXPECT_EQ(found.size(), count());
}

// So that a partial sum can start with two objects.
TEST_P(AnyTreeShapeTest, OnlyTheFirstChildHasALowerNumber) {
  for (std::uint32_t position = 0; position < count(); ++position) {
    const Children& children = shape_.Children(position);
    for (std::size_t i = 0; i < children.size(); ++i) {
      EXPECT_EQ(children[i] < position, i == 0)
          << "child " << children[i] << " of " << position;
      EXPECT_TRUE(i == 0 || children[i] > children[i - 1]);
    }
  }
}

TEST_P(AnyTreeShapeTest, AncestorsLeadToTheRoot) {
  for (std::uint32_t position = 0; position < count(); ++position) {
    std::uint32_t below = position;
    for (std::uint32_t ancestor : shape_.Ancestors(position)) {
      EXPECT_EQ(shape_.Parent(below), ancestor);
      below = ancestor;
    }
    EXPECT_EQ(below, shape_.root());
  }
}

TEST_P(AnyTreeShapeTest, IsAsFlatAsTheDegreeAllows) {
  // Nodes that a complete tree of one level less has.
  std::size_t height = 0;
  for (std::uint32_t position = 0; position < count(); ++position) {
    height = std::max(height, shape_.Ancestors(position).size());
  }
  std::uint64_t smaller = 0;
  std::uint64_t level = 1;
  for (std::size_t i = 0; i < height; ++i) {
    smaller += level;
    level *= degree();
  }
  EXPECT_GT(count(), smaller);
  EXPECT_LE(count(), smaller + level);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AnyTreeShapeTest,
    ::testing::Combine(::testing::Range(1, 65), ::testing::Range(1, 9)),
    [](const ::testing::TestParamInfo<std::tuple<int, int>>& info) {
      return absl::StrCat(std::get<0>(info.param), "PositionsOfDegree",
                          std::get<1>(info.param));
    });

TEST(TreeShapeTest, AChainEndsAtTheLastArrival) {
  const TreeShape chain(16, 1);
  EXPECT_EQ(chain.root(), 15u);
  EXPECT_EQ(chain.Children(0), Children{});
  for (std::uint32_t i = 1; i < 16; ++i) {
    EXPECT_EQ(chain.Children(i), Children{i - 1});
  }
}

TEST(TreeShapeTest, AStarStartsWithTwo) {
  const TreeShape star(6, 5);
  EXPECT_EQ(star.root(), 1u);
  EXPECT_EQ(star.Children(1), (Children{0, 2, 3, 4, 5}));
}

TEST(TreeShapeTest, ADegreeAboveTheCountIsAStar) {
  const TreeShape star(4, 100);
  EXPECT_EQ(star.root(), 1u);
  EXPECT_EQ(star.Children(1), (Children{0, 2, 3}));
}

// The picture in the header.
TEST(TreeShapeTest, SixPositionsInABinaryTree) {
  const TreeShape shape(6, 2);
  EXPECT_EQ(shape.root(), 3u);
  EXPECT_EQ(shape.Children(3), (Children{1, 5}));
  EXPECT_EQ(shape.Children(1), (Children{0, 2}));
  EXPECT_EQ(shape.Children(5), (Children{4}));
  EXPECT_EQ(shape.Ancestors(4), (Children{5, 3}));
}

TEST(TreeShapeTest, ALongChainNeedsNoDeepStack) {
  const TreeShape chain(16384, 1);
  EXPECT_EQ(chain.root(), 16383u);
  EXPECT_EQ(chain.Ancestors(0).size(), 16383u);
}

TEST(TreeShapeDeathTest, AnEmptyTreeIsAMistake) {
  EXPECT_DEATH(TreeShape(0, 2), "count > 0");
  EXPECT_DEATH(TreeShape(3, 0), "degree > 0");
}

}  // namespace
}  // namespace hoplite
