#include "base/strict_json.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace railwave {
namespace {

using Json = nlohmann::ordered_json;

/// Reads a text and lets others see how far the parser has come.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  explicit Cursor(const char*& at) : at_(&at) {}
  reference operator*() const { return **at_; }
  Cursor& operator++() {
    ++*at_;
    return *this;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return *a.at_ == *b.at_; }
  friend bool operator!=(const Cursor& a, const Cursor& b) { return !(a == b); }

 private:
  const char** at_;
};

/// What nlohmann-json says without its "[json.exception.KIND.NUMBER] " and "parse error at PLACE:
/// ".
std::string_view reason_of(std::string_view what) {
  const auto skip = [&](std::string_view before, std::string_view until) {
    const auto end = what.starts_with(before) ? what.find(until) : std::string_view::npos;
    if (end != std::string_view::npos) what.remove_prefix(end + until.size());
  };
  skip("[json.exception.", "] ");
  skip("parse error", ": ");
  return what;
}

/// Builds the value from the parser's events (nlohmann-json's SAX interface, whose names these
/// are). Its own builder calls back for each value, and then looks through the whole container at
/// each end of an object inside it.
class Builder {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(std::int64_t value) { return put_number(value); }
  bool number_unsigned(std::uint64_t value) { return put_number(value); }
  bool number_float(double value, const std::string&) { return put_number(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(Json::binary_t&) { return refuse("holds binary values"); }
  bool start_object(std::size_t) { return put(Json::object()) && enter(); }
  bool start_array(std::size_t) { return put(Json::array()) && enter(); }
  bool end_object() { return leave(); }
  bool end_array() { return leave(); }

  bool key(std::string& name) {
    Json& object = *open_.back();
    if (object.contains(name)) {
      return refuse(fmt::format("the key \"{}\" comes twice in an object", shown(name)));
    }
    if (object.size() == limits_.keys) {
      return refuse(fmt::format("expected at most {} keys in an object", limits_.keys));
    }
    if (!count()) return false;
    place_ = &object[std::move(name)];
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) {
    read_ = position;
    constexpr std::size_t kMostShown = 200;  // it quotes what was read
    return refuse(fmt::format("not JSON: {}", shown(reason_of(error.what()), kMostShown)));
  }

  Json& value() { return root_; }
  std::string& sentence() { return sentence_; }
  /// Bytes up to the end of what is refused, when the parser has read `read`.
  [[nodiscard]] std::size_t read_until(std::size_t read) const {
    return read_.value_or(read - (after_number_ ? 1 : 0));
  }

 private:
  bool refuse(std::string sentence) {
    sentence_ = std::move(sentence);
    return false;
  }
  bool count() {
    if (++values_ <= limits_.values) return true;
    return refuse(fmt::format("expected at most {} values", limits_.values));
  }
  bool put(Json value) {
    if (!count()) return false;
    if (open_.empty() || open_.back()->is_object()) {
      *place_ = std::move(value);
    } else {
      place_ = &open_.back()->emplace_back(std::move(value));
    }
    return true;
  }
  /// Whoever reads a number has read the byte after it, too.
  bool put_number(Json value) {
    after_number_ = true;
    const bool taken = put(std::move(value));
    if (taken) after_number_ = false;
    return taken;
  }
  /// What was put last is open from now on. A container does not grow while one inside it is open,
  /// so that each stays where it is.
  bool enter() {
    if (open_.size() == limits_.depth) {
      return refuse(fmt::format("expected at most {} levels inside each other", limits_.depth));
    }
    open_.push_back(place_);
    return true;
  }
  bool leave() {
    open_.pop_back();
    return true;
  }

  const JsonLimits& limits_;
  Json root_;
  Json* place_ = &root_;  // of the next value that is no element, or of the last one
  std::vector<Json*> open_;
  std::size_t values_ = 0;
  std::string sentence_;
  bool after_number_ = false;
  std::optional<std::size_t> read_;  // where the parser says so itself
};

}  // namespace

std::string shown(std::string_view text, std::size_t most) {
  std::string out;
  for (const char c : text.substr(0, most)) {
    const bool plain = c >= ' ' && c <= '~';
    out += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text.size() > most ? out + "..." : out;
}

tl::expected<Json, JsonFault> parse_strict_json(std::string_view text, const JsonLimits& limits) {
  const char* at = text.data();
  const char* end = text.data() + text.size();
  Builder builder(limits);
  if (Json::sax_parse(Cursor(at), Cursor(end), &builder)) return std::move(builder.value());
  // What the parser has read last is what is refused.
  const std::size_t read = builder.read_until(static_cast<std::size_t>(at - text.data()));
  const std::string_view before = text.substr(0, read > 0 ? read - 1 : 0);
  const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const auto start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1);
  return tl::unexpected(JsonFault{line + 1, column + 1, std::move(builder.sentence())});
}

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace railwave
