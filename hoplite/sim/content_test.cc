#include "hoplite/sim/content.h"

#include <gtest/gtest.h>

#include <vector>

#include "hoplite/base/digest.h"

namespace hoplite::sim {
namespace {

ContentId PutOf(ContentTable& table, absl::string_view name) {
  return table.Put(PutContent{IdFromName(name), NodeId(1), RequestId(1)});
}

TEST(ContentTest, TheSameContentHasTheSameId) {
  ContentTable table;
  EXPECT_EQ(PutOf(table, "a"), PutOf(table, "a"));
  EXPECT_NE(PutOf(table, "a"), PutOf(table, "b"));
  EXPECT_NE(PutOf(table, "a"),
            table.Put(PutContent{IdFromName("a"), NodeId(1), RequestId(2)}));
}

TEST(ContentTest, AFoldKnowsItsElementsInWhateverOrderTheyCame) {
  ContentTable table;
  const FoldRule rule{IdFromName("target"), ReduceOp::kSum, DataType::kF32};
  const ContentId a = PutOf(table, "a");
  const ContentId b = PutOf(table, "b");
  const ContentId c = PutOf(table, "c");
  const ContentId left = table.Fold(rule, 1, {c, table.Fold(rule, 1, {a, b})});
  const ContentId right = table.Fold(rule, 1, {table.Fold(rule, 1, {b, c}), a});
  EXPECT_EQ(left, right);
  EXPECT_EQ(table.fold(left).elements, (std::vector<ContentId>{a, b, c}));
}

TEST(ContentTest, ASourceThatGoesInTwiceIsThereTwice) {
  ContentTable table;
  const FoldRule rule{IdFromName("target"), ReduceOp::kSum, DataType::kF32};
  const ContentId a = PutOf(table, "a");
  const ContentId twice = table.Fold(rule, 1, {table.Fold(rule, 1, {a}), a});
  EXPECT_EQ(table.fold(twice).elements, (std::vector<ContentId>{a, a}));
}

TEST(ContentTest, AnotherReductionsResultIsOneElement) {
  ContentTable table;
  const FoldRule inner{IdFromName("inner"), ReduceOp::kMax, DataType::kF32};
  const FoldRule outer{IdFromName("outer"), ReduceOp::kSum, DataType::kF32};
  const ContentId result =
      table.Fold(inner, 1, {PutOf(table, "a"), PutOf(table, "b")});
  const ContentId whole = table.Fold(outer, 1, {result, PutOf(table, "c")});
  EXPECT_EQ(table.fold(whole).elements.size(), 2u);
  EXPECT_EQ(table.Elements(IdFromName("inner"), result).size(), 2u);
  EXPECT_EQ(table.Elements(IdFromName("outer"), result),
            (std::vector<ContentId>{result}));
}

TEST(ContentTest, WhatIsFoldedWithNothingIsNothing) {
  ContentTable table;
  const FoldRule rule{IdFromName("target"), ReduceOp::kSum, DataType::kF32};
  EXPECT_EQ(table.Fold(rule, 1, {PutOf(table, "a"), ContentId()}), ContentId());
}

TEST(SegmentsTest, EqualNeighboursAreOnePiece) {
  Segments segments;
  segments.Append(10, ContentId(1));
  segments.Append(20, ContentId(1));
  segments.Append(30, ContentId(2));
  ASSERT_EQ(segments.pieces().size(), 2u);
  EXPECT_EQ(segments.At(19), ContentId(1));
  EXPECT_EQ(segments.At(20), ContentId(2));
  EXPECT_EQ(segments.PieceEnd(5), 20u);
}

TEST(SegmentsTest, ASliceCanBeAppendedWhereItBegins) {
  Segments segments;
  segments.Append(10, ContentId(1));
  segments.Append(30, ContentId(2));
  Segments copy(0);
  copy.Append(segments.Slice(ByteRange{0, 5}));
  copy.Append(segments.Slice(ByteRange{5, 5}));
  copy.Append(segments.Slice(ByteRange{5, 25}));
  copy.Append(segments.Slice(ByteRange{25, 30}));
  EXPECT_EQ(copy, segments);
}

}  // namespace
}  // namespace hoplite::sim
