// What bytes stand for: simulated contents, without bytes.
//
// A content is nothing, one Put's bytes, or a fold of contents for a target;
// a fold keeps each element as often as it went in, so that "exactly once" is
// a property that one can read off. Contents are interned: two are equal
// where their ids are.
//
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_SIM_CONTENT_H_
#define HOPLITE_SIM_CONTENT_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "hoplite/base/byte_range.h"
#include "hoplite/base/id.h"
#include "hoplite/base/reduction.h"

namespace hoplite::sim {

// Zero: bytes that nobody has written.
using ContentId = StrongInt<struct ContentIdTag, std::uint32_t>;

// The bytes of one Put: of the client that asked for it so.
struct PutContent {
  ObjectId object;
  NodeId node;
  RequestId request;
  friend auto operator<=>(const PutContent&, const PutContent&) = default;
};

// How a target's bytes are computed.
struct FoldRule {
  ObjectId target;
  ReduceOp op = ReduceOp::kSum;
  DataType type = DataType::kF32;
  friend auto operator<=>(const FoldRule&, const FoldRule&) = default;
};

// A partial or whole result for a target.
struct FoldContent {
  FoldRule rule;
  std::uint64_t divisor = 1;
  std::vector<ContentId> elements;  // sorted; as often as they went in
  friend auto operator<=>(const FoldContent&, const FoldContent&) = default;
};

class ContentTable {
 public:
  ContentId Put(const PutContent& put);
  // Folds `inputs` for a target. Partial results of the same rule are taken
  // apart into their elements; anything else is one element. Nothing folded
  // with something is nothing.
  ContentId Fold(const FoldRule& rule, std::uint64_t divisor,
                 const std::vector<ContentId>& inputs);

  bool IsPut(ContentId content) const;
  // REQUIRES: IsPut(content).
  const PutContent& put(ContentId content) const;
  bool IsFold(ContentId content) const;
  // REQUIRES: IsFold(content).
  const FoldContent& fold(ContentId content) const;
  // The elements of `content` as a result for `target`: of a fold for it, its
  // elements; else the content itself.
  std::vector<ContentId> Elements(const ObjectId& target,
                                  ContentId content) const;
  // For people: "put(object by node)", "fold(target of 3)".
  std::string Describe(ContentId content) const;

 private:
  using FoldKey = std::tuple<FoldRule, std::uint64_t, std::vector<ContentId>>;

  // Contents are numbered from 1; `index` is into puts_ or folds_.
  struct Entry {
    bool is_put = false;
    std::uint32_t index = 0;
  };
  ContentId Enter(bool is_put, std::size_t index);

  std::vector<Entry> entries_;
  std::vector<PutContent> puts_;
  std::vector<FoldContent> folds_;
  std::map<PutContent, ContentId> put_ids_;
  std::map<FoldContent, ContentId> fold_ids_;
  std::map<FoldKey, ContentId> folded_;  // by inputs as given
};

// A piece of a buffer and what it holds; pieces are contiguous from some
// first byte on.
struct Segment {
  std::uint64_t end = 0;
  ContentId content;
  friend bool operator==(const Segment&, const Segment&) = default;
};

// The contents of [begin, end), piece by piece.
class Segments {
 public:
  explicit Segments(std::uint64_t begin = 0) : begin_(begin), end_(begin) {}

  // REQUIRES: end > this->end().
  void Append(std::uint64_t end, ContentId content);
  void Append(const Segments& more);  // REQUIRES: more.begin() == end()
  // REQUIRES: begin() <= range.begin <= range.end <= end().
  Segments Slice(ByteRange range) const;
  // What the byte at `offset` holds. REQUIRES: begin() <= offset < end().
  ContentId At(std::uint64_t offset) const;
  // The end of the piece in which `offset` lies; same requirement.
  std::uint64_t PieceEnd(std::uint64_t offset) const;

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  const std::vector<Segment>& pieces() const { return pieces_; }
  friend bool operator==(const Segments&, const Segments&) = default;

 private:
  std::size_t PieceIndex(std::uint64_t offset) const;

  std::uint64_t begin_;
  std::uint64_t end_;
  std::vector<Segment> pieces_;  // neighbours differ
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_CONTENT_H_
