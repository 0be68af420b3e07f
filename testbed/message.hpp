// What the owner of a cluster and its switch process say to each other over a socket pair.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <railwave/error.hpp>

#include "base/event_loop.hpp"
#include "testbed/cluster.hpp"

namespace railwave::testbed {

enum class Request : std::int64_t {
  run,
  cancel,
  counters,
  gate,
  rail_up,
  rail_rate,
  rail_cut,
  node_up,
  signal_rank,
};

/// Fields one after the other, in the writer's order. Both ends are one binary: no versions.
class FieldWriter {
 public:
  void put(std::int64_t value);
  void put(double value);
  void put(std::string_view text);
  void put(const std::vector<std::string>& texts);
  void put(const Error& error);
  void put(const Counters& counters);
  void put(const GateResult& gate);
  void put(const RunOutcome& outcome);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// REQUIRES: fields are taken in the order in which they were put.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : rest_(bytes) {}
  void take(std::int64_t& value);
  void take(double& value);
  void take(std::string& text);
  void take(std::vector<std::string>& texts);
  void take(Error& error);
  void take(Counters& counters);
  void take(GateResult& gate);
  void take(RunOutcome& outcome);
  std::int64_t take_integer();

 private:
  void take_raw(void* to, std::size_t size);
  std::string_view rest_;
};

struct Message {
  std::string bytes;
  std::vector<UniqueFd> descriptors;
};

/// Errors: PeerFailed when the other end is gone; Timeout after `deadline`.
Status send_message(int socket, std::string_view bytes, std::span<const int> descriptors = {});
Result<Message> receive_message(int socket, Deadline deadline);

/// An answer: success and a value, or an error.
template <class T>
std::string answer(const Result<T>& result) {
  FieldWriter writer;
  writer.put(static_cast<std::int64_t>(result.has_value()));
  if (!result) {
    writer.put(result.error());
  } else if constexpr (!std::is_void_v<T>) {
    writer.put(*result);
  }
  return writer.bytes();
}

template <class T>
Result<T> read_answer(std::string_view bytes) {
  FieldReader reader(bytes);
  if (reader.take_integer() == 0) {
    Error error;
    reader.take(error);
    return tl::unexpected<Error>(std::move(error));
  }
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    T value{};
    reader.take(value);
    return value;
  }
}

}  // namespace railwave::testbed
