// Steps that fill a group's workspace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <railwave/communicator.hpp>

namespace full {

/// Full steps: every token goes to every rank, so that every reserved row is used.
class Load {
 public:
  Load(std::int64_t tokens, std::int64_t hidden, int ranks)
      : tokens_(tokens),
        hidden_(hidden),
        ranks_(ranks),
        x_(static_cast<std::size_t>(tokens * hidden), 0x3f80),
        back_(x_.size() * static_cast<std::size_t>(ranks), 0x3f80),
        recv_(back_.size(), 0x3f80),
        out_(x_.size(), 0x3f80) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (int e = 0; e < ranks; ++e) idx_.push_back(e);
    }
  }
  /// Combine publishes the most rows; one dispatch more puts it on the other parity.
  void run(railwave::Communicator& group) {
    combine(group, dispatch(group));
    (void)dispatch(group);
    combine(group, dispatch(group));
  }

 private:
  railwave::Received dispatch(railwave::Communicator& group) {
    railwave::DispatchArguments in;
    in.x = x_.data();
    in.tokens = tokens_;
    in.hidden = hidden_;
    in.top_k = ranks_;
    in.topk_idx = idx_;
    in.recv_x = std::as_writable_bytes(std::span(recv_));
    auto received = group.dispatch(in);
    EXPECT_TRUE(received) << to_string(received.error());
    return received ? std::move(*received) : railwave::Received{};
  }
  void combine(railwave::Communicator& group, const railwave::Received& received) {
    railwave::CombineArguments in;
    in.handle = received.handle;
    in.x = back_.data();
    in.rows = received.rows;
    in.hidden = hidden_;
    in.out = std::as_writable_bytes(std::span(out_));
    const auto combined = group.combine(in);
    EXPECT_TRUE(combined) << to_string(combined.error());
  }

  std::int64_t tokens_;
  std::int64_t hidden_;
  int ranks_;
  std::vector<std::uint16_t> x_, back_, recv_, out_;
  std::vector<std::int64_t> idx_;
};

}  // namespace full
