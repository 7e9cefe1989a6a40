#include "hoplite/sim/content.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"

namespace hoplite::sim {

ContentId ContentTable::Enter(bool is_put, std::size_t index) {
  entries_.push_back(Entry{is_put, static_cast<std::uint32_t>(index)});
  return ContentId(static_cast<std::uint32_t>(entries_.size()));
}

ContentId ContentTable::Put(const PutContent& put) {
  const auto known = put_ids_.find(put);
  if (known != put_ids_.end()) return known->second;
  puts_.push_back(put);
  const ContentId content = Enter(true, puts_.size() - 1);
  put_ids_[put] = content;
  return content;
}

ContentId ContentTable::Fold(const FoldRule& rule, std::uint64_t divisor,
                             const std::vector<ContentId>& inputs) {
  FoldKey key(rule, divisor, inputs);
  const auto done = folded_.find(key);
  if (done != folded_.end()) return done->second;
  FoldContent result{rule, divisor, {}};
  bool whole = true;
  for (ContentId input : inputs) {
    whole = whole && input;
    const bool partial =
        IsFold(input) && fold(input).rule == rule && fold(input).divisor == 1;
    if (!partial) {
      result.elements.push_back(input);
      continue;
    }
    const std::vector<ContentId>& elements = fold(input).elements;
    result.elements.insert(result.elements.end(), elements.begin(),
                           elements.end());
  }
  ContentId content;
  if (whole) {
    std::sort(result.elements.begin(), result.elements.end());
    const auto known = fold_ids_.find(result);
    if (known != fold_ids_.end()) {
      content = known->second;
    } else {
      folds_.push_back(result);
      content = Enter(false, folds_.size() - 1);
      fold_ids_[std::move(result)] = content;
    }
  }
  folded_[std::move(key)] = content;
  return content;
}

bool ContentTable::IsPut(ContentId content) const {
  return content && entries_[content.value() - 1].is_put;
}

const PutContent& ContentTable::put(ContentId content) const {
  HOPLITE_CHECK(IsPut(content));
  return puts_[entries_[content.value() - 1].index];
}

bool ContentTable::IsFold(ContentId content) const {
  return content && !entries_[content.value() - 1].is_put;
}

const FoldContent& ContentTable::fold(ContentId content) const {
  HOPLITE_CHECK(IsFold(content));
  return folds_[entries_[content.value() - 1].index];
}

std::vector<ContentId> ContentTable::Elements(const ObjectId& target,
                                              ContentId content) const {
  if (IsFold(content) && fold(content).rule.target == target) {
    return fold(content).elements;
  }
  return {content};
}

std::string ContentTable::Describe(ContentId content) const {
  if (!content) return "nothing";
  if (IsPut(content)) {
    return absl::StrCat("put(", put(content).object.ToHex().substr(0, 8),
                        " by ", ToString(put(content).node), " request ",
                        put(content).request.value(), ")");
  }
  return absl::StrCat("fold(", fold(content).rule.target.ToHex().substr(0, 8),
                      " of ", fold(content).elements.size(), " divisor ",
                      fold(content).divisor, ")");
}

void Segments::Append(std::uint64_t end, ContentId content) {
  HOPLITE_CHECK(end > end_);
  if (!pieces_.empty() && pieces_.back().content == content) {
    pieces_.back().end = end;
  } else {
    pieces_.push_back(Segment{end, content});
  }
  end_ = end;
}

void Segments::Append(const Segments& more) {
  HOPLITE_CHECK(more.begin() == end_);
  for (const Segment& piece : more.pieces()) Append(piece.end, piece.content);
}

std::size_t Segments::PieceIndex(std::uint64_t offset) const {
  HOPLITE_CHECK(offset >= begin_ && offset < end_);
  const auto piece = std::upper_bound(
      pieces_.begin(), pieces_.end(), offset,
      [](std::uint64_t at, const Segment& other) { return at < other.end; });
  return static_cast<std::size_t>(piece - pieces_.begin());
}

Segments Segments::Slice(ByteRange range) const {
  HOPLITE_CHECK(range.begin >= begin_ && range.end <= end_);
  Segments slice(range.begin);
  if (range.empty()) return slice;
  for (std::size_t i = PieceIndex(range.begin); slice.end() < range.end; ++i) {
    slice.Append(std::min(pieces_[i].end, range.end), pieces_[i].content);
  }
  return slice;
}

ContentId Segments::At(std::uint64_t offset) const {
  return pieces_[PieceIndex(offset)].content;
}

std::uint64_t Segments::PieceEnd(std::uint64_t offset) const {
  return pieces_[PieceIndex(offset)].end;
}

}  // namespace hoplite::sim
