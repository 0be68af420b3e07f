// A rail on which frames of one kind take another way.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/rail.hpp"

namespace world {

/// Does with frames of one kind what `instead` says: it answers for them, or passes them on with no
/// answer, as all others are.
class DetourRail final : public railwave::transport::Rail {
 public:
  using Instead =
      std::function<std::optional<railwave::Status>(std::span<const std::byte> payload)>;
  DetourRail(std::unique_ptr<Rail> inner, railwave::transport::FrameKind kind, Instead instead)
      : inner_(std::move(inner)), kind_(kind), instead_(std::move(instead)) {}
  [[nodiscard]] std::vector<std::byte> address() const override { return inner_->address(); }
  void set_sink(railwave::transport::RailSink* sink) override { inner_->set_sink(sink); }
  railwave::Status connect(railwave::RankId peer, std::span<const std::byte> address) override {
    return inner_->connect(peer, address);
  }
  railwave::Status send(railwave::RankId peer, const railwave::transport::FrameHeader& frame,
                        std::span<const std::byte> payload, std::uint64_t token) override {
    if (frame.kind == kind_) {
      if (const auto answer = instead_(payload)) return *answer;
    }
    return inner_->send(peer, frame, payload, token);
  }
  railwave::Status progress() override { return inner_->progress(); }
  [[nodiscard]] int wait_fd() const override { return inner_->wait_fd(); }
  bool arm() override { return inner_->arm(); }
  [[nodiscard]] std::uint64_t refused() const override { return inner_->refused(); }

 private:
  std::unique_ptr<Rail> inner_;
  railwave::transport::FrameKind kind_;
  Instead instead_;
};

}  // namespace world
