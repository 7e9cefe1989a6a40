#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/commands.h"
#include "hoplite/cli/files.h"
#include "hoplite/cli/mapped_memory.h"

namespace hoplite::cli {
namespace {

// What is to be put: a file of known size, or all that a pipe has brought.
struct Content {
  Descriptor file;
  std::optional<std::uint64_t> size;
  std::string text;  // where there is no size
};

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

absl::StatusOr<Content> Open(const std::string& path) {
  Content content;
  HOPLITE_ASSIGN_OR_RETURN(content.file, OpenForReading(path));
  content.size = RegularFileSize(content.file.number());
  if (content.size.has_value()) return content;
  HOPLITE_ASSIGN_OR_RETURN(content.text, ReadUntilEnd(content.file.number()));
  return content;
}

// The same content has the same id.
absl::StatusOr<ObjectId> IdOfContent(const Content& content) {
  if (!content.size.has_value()) {
    return IdFromName(Sha256Hex(BytesOf(content.text)));
  }
  HOPLITE_ASSIGN_OR_RETURN(const MappedMemory mapped,
                           MappedMemory::OfFile(content.file.number()));
  return IdFromName(Sha256Hex(mapped.bytes()));
}

// Written straight into the store; readers follow from the first piece on.
absl::Status Fill(const Content& content, WritableBuffer& buffer) {
  if (content.size.has_value()) {
    return ReadFull(content.file.number(), buffer.data(),
                    [&](std::uint64_t to) { buffer.Advance(to); });
  }
  if (!content.text.empty()) {
    std::memcpy(buffer.data().data(), content.text.data(), content.text.size());
  }
  return absl::OkStatus();
}

absl::Status Put(const cxxopts::ParseResult& parsed) {
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                           Positionals(parsed, 1, 1,
                                       "a FILE, or - for "
                                       "standard input"));
  HOPLITE_ASSIGN_OR_RETURN(const absl::Duration timeout, TimeoutOf(parsed));
  ObjectId id;
  if (parsed.count("id") > 0) {
    HOPLITE_ASSIGN_OR_RETURN(id, ParseId(TextOf(parsed, "id")));
  }
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                           ConnectClient(parsed));
  HOPLITE_ASSIGN_OR_RETURN(const Content content, Open(files[0]));
  if (parsed.count("id") == 0) {
    HOPLITE_ASSIGN_OR_RETURN(id, IdOfContent(content));
  }
  const std::uint64_t size = content.size.value_or(content.text.size());
  HOPLITE_ASSIGN_OR_RETURN(
      WritableBuffer buffer,
      client->Create(id, size, {.timeout = timeout, .streams = true}));
  HOPLITE_RETURN_IF_ERROR(Fill(content, buffer));
  HOPLITE_RETURN_IF_ERROR(buffer.Seal());
  PrintResult(parsed, {{"id", id.ToHex()}, {"bytes", size}},
              absl::StrCat(id.ToHex(), " ", size, " bytes"));
  return absl::OkStatus();
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
