#include "bootstrap_wire.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace railwave::comm {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire is little-endian");

constexpr std::array<char, 8> kMagic{'R', 'W', 'B', 'O', 'O', 'T', '0', '1'};

void put_bytes(Bytes& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
void put(Bytes& out, T value) {
  put_bytes(out, std::as_bytes(std::span(&value, 1)));
}

/// Takes values off the front; once one is missing, every later one is too.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> take(std::uint64_t count) {
    if (count > bytes_.size()) {
      whole_ = false;
      bytes_ = {};
      return {};
    }
    const auto taken = bytes_.first(static_cast<std::size_t>(count));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  template <class T>
  T get() {
    T value{};
    const auto bytes = take(sizeof(T));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  std::string get_text() {
    const auto bytes = take(get<std::uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// True when everything asked for was there, and nothing more.
  [[nodiscard]] bool finished() const { return whole_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool whole_ = true;
};

void put_text(Bytes& out, const std::string& text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  put_bytes(out, std::as_bytes(std::span(text)));
}

}  // namespace

SharedBytes encode(MessageKind kind, std::uint32_t round, std::span<const std::byte> body) {
  auto out = std::make_shared<Bytes>();
  out->reserve(kMessageHeaderBytes + body.size());
  put_bytes(*out, std::as_bytes(std::span(kMagic)));
  put(*out, static_cast<std::uint32_t>(kind));
  put(*out, round);
  put(*out, static_cast<std::uint64_t>(body.size()));
  put_bytes(*out, body);
  return out;
}

bool may_begin_message(std::span<const std::byte> bytes) {
  return std::memcmp(bytes.data(), kMagic.data(), std::min(bytes.size(), kMagic.size())) == 0;
}

std::optional<MessageHeader> decode_header(std::span<const std::byte, kMessageHeaderBytes> bytes) {
  if (!may_begin_message(bytes)) return std::nullopt;
  Reader reader(bytes.subspan(kMagic.size()));
  const auto kind = reader.get<std::uint32_t>();
  if (kind < static_cast<std::uint32_t>(MessageKind::Hello) ||
      kind > static_cast<std::uint32_t>(MessageKind::Failure)) {
    return std::nullopt;
  }
  MessageHeader header;
  header.kind = static_cast<MessageKind>(kind);
  header.round = reader.get<std::uint32_t>();
  header.bytes = reader.get<std::uint64_t>();
  return header;
}

Bytes encode(const Hello& hello) {
  Bytes out;
  put(out, hello.job);
  put(out, hello.generation);
  put(out, hello.world_size);
  put(out, hello.rank);
  put(out, std::uint32_t{0});
  return out;
}

std::optional<Hello> decode_hello(std::span<const std::byte> body) {
  Reader reader(body);
  Hello hello;
  hello.job = reader.get<std::uint64_t>();
  hello.generation = reader.get<std::uint32_t>();
  hello.world_size = reader.get<std::uint32_t>();
  hello.rank = reader.get<std::uint32_t>();
  reader.get<std::uint32_t>();
  if (!reader.finished()) return std::nullopt;
  return hello;
}

Bytes encode(const Error& error) {
  Bytes out;
  put(out, static_cast<std::uint32_t>(error.code));
  put(out, error.rank);
  put(out, error.need);
  put(out, error.have);
  put_text(out, error.field);
  put_text(out, error.message);
  return out;
}

std::optional<Error> decode_error(std::span<const std::byte> body) {
  Reader reader(body);
  const auto code = reader.get<std::uint32_t>();
  Error error;
  error.rank = reader.get<std::int32_t>();
  error.need = reader.get<std::int64_t>();
  error.have = reader.get<std::int64_t>();
  error.field = reader.get_text();
  error.message = reader.get_text();
  const bool known = code >= static_cast<std::uint32_t>(ErrorCode::InvalidArgument) &&
                     code <= static_cast<std::uint32_t>(ErrorCode::Internal);
  if (!known || !reader.finished()) return std::nullopt;
  error.code = static_cast<ErrorCode>(code);
  return error;
}

Bytes encode(const std::vector<Bytes>& parts) {
  std::size_t total = 0;
  for (const Bytes& part : parts) total += sizeof(std::uint64_t) + part.size();
  Bytes out;
  out.reserve(total);
  for (const Bytes& part : parts) {
    put(out, static_cast<std::uint64_t>(part.size()));
    put_bytes(out, part);
  }
  return out;
}

std::optional<std::vector<Bytes>> decode_parts(std::span<const std::byte> body, std::size_t ranks) {
  Reader reader(body);
  std::vector<Bytes> parts(ranks);
  for (Bytes& part : parts) {
    const auto bytes = reader.take(reader.get<std::uint64_t>());
    part.assign(bytes.begin(), bytes.end());
  }
  if (!reader.finished()) return std::nullopt;
  return parts;
}

}  // namespace railwave::comm
