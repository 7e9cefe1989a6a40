#include "ray_integration/api/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <eigen3/Eigen/Core>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hoplite/base/id.h"
#include "hoplite/base/random.h"
#include "hoplite/base/testing/status_matchers.h"
#include "ray_integration/api/fields.h"
#include "ray_integration/api/meta.h"
#include "ray_integration/api/object_ref.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {

// Of many fields, one of which is called `value`.
struct Sample {
  int value = 0;
  std::string name;
  std::vector<float> points;
  Eigen::MatrixXd weights;
  std::map<std::string, std::vector<std::string>> labels;
  std::optional<std::pair<int, std::string>> note;
  std::vector<bool> flags;
  ObjectRef<int> ref;
  int not_sent = 0;
};
HOPLITE_FIELDS(Sample, value, name, points, weights, labels, note, flags, ref);

struct Wide {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
HOPLITE_FIELDS(Wide, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);

struct Tree {
  int value = 0;
  std::vector<Tree> children;
};
HOPLITE_FIELDS(Tree, value, children);

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Point {
  double x, y;
  friend bool operator==(const Point&, const Point&) = default;
};
enum class Colour : std::uint8_t { kRed, kBlue };

// As the runtime does it: the bytes are elsewhere afterwards.
Stored Deliver(const Encoded& encoded) {
  auto bytes = std::make_shared<std::string>();
  encoded.AppendTo(*bytes);
  return {.bytes = std::as_bytes(std::span(*bytes)),
          .meta = encoded.meta,
          .references = encoded.references,
          .actors = encoded.actors,
          .pin = bytes};
}

template <typename T>
absl::StatusOr<T> Travel(const T& value) {
  return Decode<T>(Deliver(Encode(value)));
}

std::vector<float> Numbers(std::size_t count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  return numbers;
}

Sample MakeSample() {
  Sample sample{.value = 7,
                .name = std::string(1000, 'n'),
                .points = Numbers(3000),
                .weights = Eigen::MatrixXd::Random(20, 30),
                .labels = {{"a", {"x", "y"}}, {"b", {}}},
                .note = std::pair(3, std::string("three")),
                .flags = {true, false, true},
                .not_sent = 1};
  sample.ref =
      ObjectRef<int>(std::make_shared<ReferenceState>(ObjectId({1, 2, 3})));
  return sample;
}

TEST(CodecTest, PlainValuesAndStringsTravel) {
  EXPECT_THAT(Travel(-5), IsOkAndHolds(-5));
  EXPECT_THAT(Travel(true), IsOkAndHolds(true));
  EXPECT_THAT(Travel(Colour::kBlue), IsOkAndHolds(Colour::kBlue));
  EXPECT_THAT(Travel(Point{1, 2}), IsOkAndHolds(Point{1, 2}));
  EXPECT_THAT(Travel(std::string("text")), IsOkAndHolds("text"));
  EXPECT_THAT(Travel(std::string()), IsOkAndHolds(""));
}

TEST(CodecTest, VectorsTuplesAndOptionalsTravel) {
  EXPECT_THAT(Travel(Numbers(3)), IsOkAndHolds(ElementsAre(1, 2, 3)));
  EXPECT_THAT(Travel(std::vector<std::string>{"a", ""}),
              IsOkAndHolds(ElementsAre("a", "")));
  EXPECT_THAT(Travel(std::vector<bool>{true, false}),
              IsOkAndHolds(ElementsAre(true, false)));
  const std::tuple<int, std::string, Point> tuple(1, "b", {2, 3});
  EXPECT_THAT(Travel(tuple), IsOkAndHolds(tuple));
  EXPECT_THAT(Travel(std::optional<int>()), IsOkAndHolds(std::nullopt));
  EXPECT_THAT(Travel(std::vector<int>()), IsOkAndHolds(ElementsAre()));
}

TEST(CodecTest, MatricesTravelWithTheirShape) {
  const Eigen::MatrixXf matrix = Eigen::MatrixXf::Random(3, 5);
  const Eigen::Vector3d vector(1, 2, 3);
  const Eigen::ArrayXXi array = Eigen::ArrayXXi::Constant(2, 0, 7);
  EXPECT_TRUE(*Travel(matrix) == matrix);
  EXPECT_TRUE(*Travel(vector) == vector);
  EXPECT_EQ(Travel(array)->rows(), 2);
  EXPECT_EQ(DescribeMeta(Encode(matrix).meta), "a 3 x 5 matrix of f32");
}

TEST(CodecTest, AStructTravelsFieldByField) {
  const Sample sample = MakeSample();
  const auto came = Travel(sample);
  ASSERT_THAT(came, IsOk());
  EXPECT_EQ(came->value, 7);
  EXPECT_EQ(came->name, sample.name);
  EXPECT_EQ(came->points, sample.points);
  EXPECT_TRUE(came->weights == sample.weights);
  EXPECT_EQ(came->labels, sample.labels);
  EXPECT_EQ(came->note, sample.note);
  EXPECT_EQ(came->flags, sample.flags);
  EXPECT_EQ(came->ref, sample.ref);
  EXPECT_EQ(came->not_sent, 0);
}

TEST(CodecTest, SixteenFieldsTravel) {
  const auto came = Travel(Wide{.a = 1, .h = 8, .p = 16});
  ASSERT_THAT(came, IsOk());
  EXPECT_EQ(came->a + came->h + came->p, 25);
}

TEST(CodecTest, FlatValuesAndLongRunsAreNotCopied) {
  const std::vector<float> numbers = Numbers(1000);
  const Encoded flat = Encode(numbers);
  ASSERT_EQ(flat.pieces.size(), 1);
  EXPECT_EQ(static_cast<const void*>(flat.pieces[0].data()), numbers.data());
  EXPECT_EQ(flat.owner, nullptr);
  const std::pair<int, std::vector<float>> pair(1, numbers);
  const Encoded composite = Encode(pair);
  ASSERT_EQ(composite.pieces.size(), 2);
  EXPECT_EQ(static_cast<const void*>(composite.pieces[1].data()),
            pair.second.data());
}

TEST(CodecTest, AnOwnedValueOutlivesItsSource) {
  const Sample sample = MakeSample();
  Encoded encoded = EncodeOwned(MakeSample());
  const Encoded moved = std::move(encoded);
  EXPECT_EQ(Decode<Sample>(Deliver(moved))->points, sample.points);
  EXPECT_THAT(Decode<int>(Deliver(EncodeOwned(3))), IsOkAndHolds(3));
}

TEST(CodecTest, AnotherTypeIsRefusedWithBothNames) {
  EXPECT_THAT(Decode<Eigen::MatrixXd>(Deliver(Encode(Numbers(3)))),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a value is 3 of f32; expected is a matrix")));
  EXPECT_THAT(Decode<std::string>(Deliver(Encode(Tree{}))),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(
      Decode<Tree>(Deliver(Encode(1))),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("another type")));
  EXPECT_THAT(Decode<Eigen::Matrix2f>(Deliver(Encode(Eigen::MatrixXf(3, 2)))),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CodecTest, AMatrixBeyondTheRoomOfItsTypeIsRefused) {
  using Small = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, 0, 2, 2>;
  const Eigen::MatrixXf large = Eigen::MatrixXf::Zero(3, 3);
  EXPECT_THAT(Decode<Small>(Deliver(Encode(large))),
              StatusIs(absl::StatusCode::kInvalidArgument));
  using Inside = std::vector<Eigen::MatrixXf>;
  EXPECT_THAT(
      Decode<std::vector<Small>>(Deliver(Encode(Inside{large}))),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a matrix has")));
}

TEST(CodecTest, AByteThatIsNoBoolBecomesTrue) {
  Stored stored = Deliver(Encode(false));
  const std::byte seven{7};
  stored.bytes = std::span(&seven, 1);
  EXPECT_THAT(Decode<bool>(stored), IsOkAndHolds(true));
}

TEST(CodecTest, AReferenceThatDidNotComeIsRefused) {
  Stored stored = Deliver(Encode(MakeSample()));
  stored.references.clear();
  EXPECT_THAT(Decode<Sample>(stored),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a reference that did not come")));
}

TEST(CodecTest, TreesTravelUpToTheBoundOfNesting) {
  Tree tree{.value = 99};
  for (int depth = 1; depth < kNestingMax; ++depth) {
    Tree parent{.value = depth};
    parent.children.push_back(std::move(tree));
    tree = std::move(parent);
  }
  EXPECT_THAT(Travel(tree), IsOk());
  Tree deeper;
  deeper.children.push_back(std::move(tree));
  EXPECT_THAT(Travel(deeper), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("more than 100")));
}

TEST(CodecTest, APayloadThatIsCutAnywhereIsRefused) {
  const Stored whole = Deliver(Encode(MakeSample()));
  for (std::size_t size = 0; size < whole.bytes.size(); ++size) {
    Stored cut = whole;
    cut.bytes = whole.bytes.first(size);
    ASSERT_THAT(Decode<Sample>(cut),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << size;
  }
}

TEST(CodecTest, ChangedBytesAreReadOrRefusedAndNothingElse) {
  const std::uint64_t seed = 3;
  Random random(seed);
  std::string bytes;
  const Encoded encoded = EncodeOwned(MakeSample());
  encoded.AppendTo(bytes);
  Stored changed = Deliver(encoded);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string other = bytes;
    // The head, where every byte matters, is at the front.
    for (int j = 0; j < 3; ++j) {
      other[random.Below(300)] = static_cast<char>(random.Below(256));
    }
    changed.bytes = std::as_bytes(std::span(other));
    if (!Decode<Sample>(changed).ok()) ++refused;
  }
  EXPECT_GT(refused, 100) << "seed " << seed;
}

}  // namespace
}  // namespace hoplite::task
