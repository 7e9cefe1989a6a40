#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/commands.h"
#include "hoplite/cli/files.h"
#include "hoplite/runtime/node_report.h"

namespace hoplite::cli {
namespace {

// What is to be put: a file of known size, or all that a pipe has brought.
struct Content {
  Descriptor file;
  std::optional<std::uint64_t> size;
  std::string text;  // where there is no size
};

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

absl::Status CheckRoom(std::uint64_t size, std::uint64_t room) {
  if (size <= room) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(size, " bytes are larger than the store of ", room,
                   " bytes; start this node with a larger --store"));
}

absl::StatusOr<Content> Open(const std::string& path, std::uint64_t room,
                             absl::Time deadline) {
  Content content;
  HOPLITE_ASSIGN_OR_RETURN(content.file, OpenForReading(path));
  content.size = RegularFileSize(content.file.number());
  // The files of /proc say 0, whatever they have.
  if (content.size.value_or(0) > 0) {
    HOPLITE_RETURN_IF_ERROR(CheckRoom(*content.size, room));
    return content;
  }
  content.size.reset();
  HOPLITE_ASSIGN_OR_RETURN(content.text,
                           ReadUntilEnd(content.file.number(), room, deadline));
  return content;
}

// The same content has the same id.
absl::StatusOr<ObjectId> IdOfContent(const Content& content,
                                     absl::Time deadline) {
  if (!content.size.has_value()) {
    return IdFromName(Sha256Hex(BytesOf(content.text)));
  }
  Sha256 sha256;
  HOPLITE_RETURN_IF_ERROR(ReadThrough(
      content.file.number(), *content.size, deadline,
      [&](std::span<const std::byte> piece) { sha256.Update(piece); }));
  lseek(content.file.number(), 0, SEEK_SET);
  return IdFromName(sha256.Hex());
}

// Written straight into the store; readers follow from the first piece on.
absl::Status Fill(const Content& content, absl::Time deadline,
                  WritableBuffer& buffer) {
  if (!content.size.has_value()) {
    std::ranges::copy(BytesOf(content.text), buffer.data().begin());
    return absl::OkStatus();
  }
  std::uint64_t done = 0;
  return ReadFull(content.file.number(), buffer.data(), deadline,
                  [&](std::span<const std::byte> piece) {
                    buffer.Advance(done += piece.size());
                  });
}

struct Done {
  ObjectId id;
  std::uint64_t size = 0;
};

// Without `id` the content says which.
absl::StatusOr<Done> PutFile(Client& client, const std::string& path,
                             std::optional<ObjectId> id, absl::Time deadline) {
  const bool by_content = !id.has_value();
  HOPLITE_ASSIGN_OR_RETURN(const NodeReport report,
                           client.Report({.timeout = TimeLeft(deadline)}));
  HOPLITE_ASSIGN_OR_RETURN(
      const Content content,
      Open(path, report.counters.store_bytes_capacity, deadline));
  if (by_content) {
    HOPLITE_ASSIGN_OR_RETURN(id, IdOfContent(content, deadline));
  }
  const std::uint64_t size = content.size.value_or(content.text.size());
  HOPLITE_ASSIGN_OR_RETURN(
      WritableBuffer buffer,
      client.Create(*id, size,
                    {.timeout = TimeLeft(deadline), .streams = true}));
  HOPLITE_RETURN_IF_ERROR(Fill(content, deadline, buffer));
  if (by_content && IdFromName(Sha256Hex(buffer.data())) != *id) {
    return absl::FailedPreconditionError(
        "the file has changed while it was read");
  }
  HOPLITE_RETURN_IF_ERROR(buffer.Seal());
  return Done{.id = *id, .size = size};
}

absl::Status Put(const cxxopts::ParseResult& parsed) {
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                           Positionals(parsed, 1, 1,
                                       "a FILE, or - for "
                                       "standard input"));
  HOPLITE_ASSIGN_OR_RETURN(const absl::Time deadline, DeadlineOf(parsed));
  std::optional<ObjectId> id;
  if (parsed.count("id") > 1) return UsageError("give --id once");
  if (parsed.count("id") > 0) {
    HOPLITE_ASSIGN_OR_RETURN(id, ParseId(TextOf(parsed, "id")));
  }
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                           ConnectClient(parsed, deadline));
  const absl::StatusOr<Done> done = PutFile(*client, files[0], id, deadline);
  if (!done.ok()) {
    return absl::Status(
        done.status().code(),
        absl::StrCat("put of ", files[0], ": ", done.status().message()));
  }
  return PrintResult(parsed, {{"id", done->id.ToHex()}, {"bytes", done->size}},
                     absl::StrCat(done->id.ToHex(), " ", done->size, " bytes"));
}

}  // namespace

int PutCommand(int argc, char** argv) {
  cxxopts::Options options(
      "hoplite put",
      "Puts a file's bytes into the cluster and prints the object's id and "
      "size.");
  options.custom_help("FILE [OPTION…]").positional_help("");
  options.add_options()(
      "id",
      "56 hexadecimal digits, or any name, which is hashed (default: of the "
      "content's SHA-256)",
      cxxopts::value<std::string>(), "ID");
  AddClientOptions(options);
  return RunCommand(options, argc, argv, Put);
}

}  // namespace hoplite::cli
