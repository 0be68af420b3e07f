#include "npy.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave::workload {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

tl::unexpected<Error> unsupported(const ArrayFile& file, const std::string& sentence) {
  return fail(ErrorCode::Unsupported, "trace", fmt::format("{}: {}", file.path, sentence));
}

/// A cursor over the header's Python dictionary literal, which NumPy writes with these three keys.
class HeaderParser {
 public:
  HeaderParser(const ArrayFile& file, std::size_t first, std::size_t size)
      : file_(file),
        first_(first),
        text_(reinterpret_cast<const char*>(file.bytes.data()) + first, size) {}

  struct Fields {
    std::string descr;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::int64_t>> shape;
  };

  Result<Fields> parse() {
    Fields fields;
    RAILWAVE_TRY(expect('{'));
    while (!accept('}')) {
      auto key = quoted();
      if (!key) return fail(std::move(key).error());
      RAILWAVE_TRY(expect(':'));
      RAILWAVE_TRY(value_of(*key, fields));
      if (!accept(',')) {
        RAILWAVE_TRY(expect('}'));
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) return wrong("only spaces after '}'");
    if (fields.descr.empty() || !fields.fortran_order || !fields.shape) {
      return wrong("the keys descr, fortran_order and shape");
    }
    return fields;
  }

 private:
  tl::unexpected<Error> wrong(std::string_view expected) const {
    return trace_error(file_.path,
                       fmt::format("byte {}: npy header: expected {}", first_ + at_, expected));
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Status expect(char c) {
    if (accept(c)) return {};
    return wrong(fmt::format("'{}'", c));
  }
  Result<std::string> quoted() {
    skip_space();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) {
      return wrong("a quoted string");
    }
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return wrong("a closed string");
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  Status value_of(const std::string& key, Fields& fields) {
    if (key == "descr") return move_into(quoted(), fields.descr);
    if (key == "fortran_order") return boolean(fields.fortran_order);
    if (key == "shape") return tuple(fields.shape);
    return wrong("one of the keys descr, fortran_order, shape before this");
  }
  static Status move_into(Result<std::string> from, std::string& to) {
    if (!from) return fail(std::move(from).error());
    to = std::move(*from);
    return {};
  }
  Status boolean(std::optional<bool>& to) {
    skip_space();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += std::strlen(word);
        to = value;
        return {};
      }
    }
    return wrong("True or False");
  }
  Status tuple(std::optional<std::vector<std::int64_t>>& to) {
    std::vector<std::int64_t> shape;
    RAILWAVE_TRY(expect('('));
    while (!accept(')')) {
      skip_space();
      std::int64_t extent = -1;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc{} || extent < 0) return wrong("an extent of at least 0");
      at_ += static_cast<std::size_t>(end - begin);
      shape.push_back(extent);
      if (!accept(',')) {
        RAILWAVE_TRY(expect(')'));
        break;
      }
    }
    to = std::move(shape);
    return {};
  }

  const ArrayFile& file_;
  std::size_t first_;
  std::string_view text_;
  std::size_t at_ = 0;
};

/// Where the header's text lies: {first byte, bytes}.
Result<std::pair<std::size_t, std::size_t>> header_extent(const ArrayFile& file) {
  const auto& bytes = file.bytes;
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return trace_error(file.path, "byte 0: expected the npy magic string and version");
  }
  const int version = bytes[6];
  if (version != 1 && version != 2) {
    return unsupported(file,
                       fmt::format("byte 6: npy version {} is not read, only 1 and 2", version));
  }
  const std::size_t first = version == 1 ? 10 : 12;
  if (bytes.size() < first)
    return trace_error(file.path, "byte 8: expected 4 bytes of header size");
  std::size_t size = 0;
  for (std::size_t i = first; i > 8; --i) size = size << 8 | bytes[i - 1];
  if (size > bytes.size() - first) {
    return trace_error(file.path,
                       fmt::format("byte 8: header of {} bytes, the file has only {} more", size,
                                   bytes.size() - first));
  }
  return std::pair{first, size};
}

Result<ElementType> element_type(const ArrayFile& file, std::string_view descr) {
  static constexpr std::array kTypes{
      std::pair<std::string_view, ElementType>{"|u1", {1, false}},
      std::pair<std::string_view, ElementType>{"<u1", {1, false}},
      std::pair<std::string_view, ElementType>{"<u2", {2, false}},
      std::pair<std::string_view, ElementType>{"<u4", {4, false}},
      std::pair<std::string_view, ElementType>{"<u8", {8, false}},
      std::pair<std::string_view, ElementType>{"<i4", {4, true}},
      std::pair<std::string_view, ElementType>{"<i8", {8, true}},
  };
  for (const auto& [name, type] : kTypes) {
    if (name == descr) return type;
  }
  return unsupported(file, fmt::format("npy element type '{}' is not read, only little-endian u1, "
                                       "u2, u4, u8, i4 and i8",
                                       descr));
}

}  // namespace

Status parse_npy(ArrayFile& file) {
  const auto extent = header_extent(file);
  if (!extent) return fail(extent.error());
  const auto fields = HeaderParser(file, extent->first, extent->second).parse();
  if (!fields) return fail(fields.error());
  if (*fields->fortran_order) return unsupported(file, "npy in Fortran order; save it in C order");
  const auto type = element_type(file, fields->descr);
  if (!type) return fail(type.error());
  file.type = *type;
  file.shape = *fields->shape;
  file.data_offset = static_cast<std::int64_t>(extent->first + extent->second);
  const auto elements = checked_elements(file);
  if (!elements) return fail(elements.error());
  return {};
}

}  // namespace railwave::workload
