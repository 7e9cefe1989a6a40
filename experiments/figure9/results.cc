#include "experiments/figure9/results.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/files.h"

namespace hoplite::experiments {
namespace {

constexpr std::uint64_t kFileBytesMax = 1 << 20;

}  // namespace

Results::Results(std::string path, std::vector<Row> rows)
    : path_(std::move(path)), rows_(std::move(rows)) {}

absl::StatusOr<Results> Results::Open(const std::string& path) {
  std::vector<Row> rows;
  if (access(path.c_str(), F_OK) == 0) {
    HOPLITE_ASSIGN_OR_RETURN(const cli::Descriptor file,
                             cli::OpenForReading(path));
    HOPLITE_ASSIGN_OR_RETURN(const std::string text,
                             cli::ReadUntilEnd(file.number(), kFileBytesMax,
                                               absl::InfiniteFuture()));
    auto parsed = ParseRows(text);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", parsed.status().message(),
                       "; remove it, or give another --output"));
    }
    rows = *std::move(parsed);
  }
  HOPLITE_RETURN_IF_ERROR(cli::CheckWritable(path));
  return Results(path, std::move(rows));
}

bool Results::Stands(const Row& wanted) const {
  // As the file has its texts.
  const auto written =
      ParseRows(absl::StrCat(RowHeader(), "\n", RowLine(wanted), "\n"));
  return written.ok() && std::ranges::any_of(rows_, [&](const Row& row) {
           const Row& same = written->front();
           return row.cell == same.cell && row.options == same.options &&
                  row.machine == same.machine && row.build == same.build;
         });
}

absl::Status Results::Add(const Row& row) {
  std::erase_if(rows_,
                [&](const Row& other) { return other.cell == row.cell; });
  rows_.push_back(row);
  std::ranges::sort(rows_, {}, &Row::cell);
  std::string text = absl::StrCat(RowHeader(), "\n");
  for (const Row& each : rows_) absl::StrAppend(&text, RowLine(each), "\n");
  return cli::WriteFile(path_, std::as_bytes(std::span(text)));
}

}  // namespace hoplite::experiments
