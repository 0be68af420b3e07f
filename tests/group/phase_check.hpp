// One rank's part of a random phase, checked against the reference to the bit: a dispatch, its
// combine, and the dispatch once more by its handle; waited for, or begun and ended, so that others
// are under way at the same time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <railwave/communicator.hpp>

#include "group/random_phase.hpp"

namespace phases {

/// A path, and what the caller does before each call of the group (nothing by default).
struct Taking {
  Taking(
      railwave::Path path_, std::function<void()> before_ = [] {})
      : path(path_), before(std::move(before_)) {}
  railwave::Path path;
  std::function<void()> before;
};

/// A sentence for the first thing that is wrong, nothing when all is right.
using Wrong = std::optional<std::string>;

class PhaseCheck {
 public:
  PhaseCheck(railwave::Communicator& group, RankId self, const Shape& shape, const Taking& taking)
      : group_(group), self_(self), p_(self.value), s_(shape), m_(shape.model), taking_(taking) {
    expert_major_ = s_.layout == railwave::RowLayout::ExpertMajor;
    rows_ = expert_major_ ? reference::expert_rows(m_, p_, s_.alignment)
                          : reference::received_rows(m_, p_);
  }

  /// The steps one after the other; the repetition for every other seed only.
  Wrong run() {
    for (const char step : steps()) {
      if (Wrong wrong = take(step)) return wrong;
    }
    return std::nullopt;
  }
  /// 'd'ispatch, 'c'ombine, 'r'epeat the dispatch. Steps of other phases may come between these.
  [[nodiscard]] std::string_view steps() const { return s_.seed % 2 == 0 ? "dc" : "dcrc"; }
  /// One step, waited for.
  Wrong take(char step) {
    taking_.before();
    if (step == 'c') return check_combined(group_.combine(combine_input()));
    return check_dispatched(group_.dispatch(step == 'd' ? fresh_input() : repeat_input()));
  }
  /// The same in two parts. What is under way in between is the caller's choice.
  Wrong begin(char step) {
    taking_.before();
    if (step == 'c') {
      auto ticket = group_.combine_async(combine_input());
      if (!ticket) return said(to_string(ticket.error()));
      combining_ = std::move(*ticket);
    } else {
      auto ticket = group_.dispatch_async(step == 'd' ? fresh_input() : repeat_input());
      if (!ticket) return said(to_string(ticket.error()));
      dispatching_ = std::move(*ticket);
    }
    return std::nullopt;
  }
  Wrong end() {
    if (combining_.valid()) return check_combined(combining_.wait());
    return check_dispatched(dispatching_.wait());
  }
  /// Of all that came out.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  railwave::DispatchArguments fresh_input() {
    round_ = 0;
    railwave::DispatchArguments in = input();
    in.top_k = m_.top_k;
    in.topk_idx = m_.idx[self_.index()];
    weights_.resize(in.topk_idx.size());
    for (std::size_t i = 0; i < weights_.size(); ++i)
      weights_[i] = weight_of(p_, 0, static_cast<int>(i));
    in.topk_weights = weights_;
    in.path = taking_.path;
    in.windows = s_.windows;
    in.layout = s_.layout;
    in.expert_alignment = s_.alignment;
    return in;
  }
  /// The dispatch once more by its handle, with other rows; for every fourth seed of another type
  /// and width.
  railwave::DispatchArguments repeat_input() {
    round_ = 1;
    railwave::DispatchArguments again = input();
    again.handle = handle_;
    return again;
  }
  Wrong check_dispatched(const railwave::Result<railwave::Received>& received) {
    if (!received) return said(to_string(received.error()));
    // The rows are this rank's again: nobody reads them any more.
    std::fill(x_.bytes.begin(), x_.bytes.end(), std::byte{0xff});
    handle_ = received->handle;
    return check_received(*received);
  }
  /// Memory of one input: in two seeds of three the group's, which is read in place.
  struct Room {
    std::vector<std::byte> own;
    railwave::SharedBuffer shared;
    std::span<std::byte> bytes;
  };
  [[nodiscard]] Room room(std::size_t bytes) const {
    Room out;
    if (s_.seed % 3 != 0) {
      auto shared = group_.allocate(static_cast<std::int64_t>(bytes));
      if (shared) {
        out.shared = std::move(*shared);
        out.bytes = out.shared.bytes();
        return out;
      }
    }
    out.own.resize(bytes);
    out.bytes = out.own;
    return out;
  }
  [[nodiscard]] Wrong said(const std::string& what) const {
    return "seed " + std::to_string(s_.seed) + ", path " + std::string(to_string(taking_.path)) +
           ", rank " + std::to_string(p_) + ": " + what;
  }
  [[nodiscard]] int tokens() const { return m_.tokens(self_.index()); }
  [[nodiscard]] bool other_rows() const { return round_ == 1 && s_.seed % 4 == 1; }
  [[nodiscard]] bool fp8() const { return s_.fp8 != other_rows(); }
  [[nodiscard]] int hidden() const {
    return other_rows() ? 1 + static_cast<int>(s_.seed % 200) : m_.hidden;
  }
  /// The dispatch's rows are those of the newest one; fp8 ones are any bytes.
  void put_row(std::byte* row, int source, int token) const {
    for (int h = 0; h < hidden(); ++h) {
      if (fp8()) {
        row[h] = static_cast<std::byte>(mix_of(s_.seed, source, token, 500 + round_, h));
      } else {
        store(row, h, value_of(m_.type, s_.seed, source, token, 500 + round_, h), m_.type);
      }
    }
  }
  [[nodiscard]] float scale_of(int source, int token, int block) const {
    return static_cast<float>(mix_of(s_.seed, source, token, 700 + round_, block) % 1000);
  }
  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::size_t>(hidden() * (fp8() ? 1 : width_of(m_.type)));
  }
  [[nodiscard]] int scales() const { return fp8() ? (hidden() + 127) / 128 : 0; }
  /// Weights of the dispatch (round 0) and of the combine (round 1), exact and of few bits.
  [[nodiscard]] float weight_of(int source, int round, int slot) const {
    return static_cast<float>(mix_of(s_.seed, source, slot, 800 + round, 0) % 17) * 0.25F;
  }

  railwave::DispatchArguments input() {
    x_ = room(static_cast<std::size_t>(tokens()) * row_bytes());
    x_scales_.clear();
    for (int t = 0; t < tokens(); ++t) {
      put_row(x_.bytes.data() + static_cast<std::size_t>(t) * row_bytes(), p_, t);
      for (int b = 0; b < scales(); ++b) x_scales_.push_back(scale_of(p_, t, b));
    }
    railwave::DispatchArguments in;
    in.x = x_.bytes.data();
    shared_scales_ = room(x_scales_.size() * sizeof(float));
    const auto scales = std::as_bytes(std::span(x_scales_));
    std::copy(scales.begin(), scales.end(), shared_scales_.bytes.begin());
    in.scales = {reinterpret_cast<const float*>(shared_scales_.bytes.data()), x_scales_.size()};
    in.tokens = tokens();
    in.hidden = hidden();
    in.dtype = fp8() ? railwave::DType::FP8E4M3 : dtype_of(m_.type);
    return in;
  }

  [[nodiscard]] Wrong check_received(const railwave::Received& received) {
    if (received.rows != static_cast<std::int64_t>(rows_.size())) return said("wrong row count");
    std::vector<std::byte> expected(row_bytes());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto [source, token, slot] = rows_[i];
      expected.assign(expected.size(), std::byte{0});
      if (source >= 0) put_row(expected.data(), source, token);
      if (std::memcmp(received.x + i * expected.size(), expected.data(), expected.size()) != 0) {
        return said("row " + std::to_string(i) + " is wrong");
      }
      for (int b = 0; b < scales(); ++b) {
        const float scale = source < 0 ? 0.0F : scale_of(source, token, b);
        if (received.scales[static_cast<int>(i) * scales() + b] != scale) {
          return said("scale " + std::to_string(b) + " of row " + std::to_string(i) + " is wrong");
        }
      }
    }
    return expert_major_ ? check_groups(received) : check_slots(received);
  }

  [[nodiscard]] Wrong check_slots(const railwave::Received& received) const {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (int k = 0; k < m_.top_k; ++k) {
        const int source = rows_[i].source;
        const int token = rows_[i].token;
        const bool mine = m_.rank_of(source, token, k) == p_;
        const std::int64_t local = mine ? m_.local(m_.expert(source, token, k)) : -1;
        const float weight = mine ? weight_of(source, 0, token * m_.top_k + k) : 0.0F;
        const auto at = i * static_cast<std::size_t>(m_.top_k) + static_cast<std::size_t>(k);
        if (received.topk_idx[at] != local || received.topk_weights[at] != weight) {
          return said("slot " + std::to_string(k) + " of row " + std::to_string(i) + " is wrong");
        }
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] Wrong check_groups(const railwave::Received& received) const {
    std::vector<std::int64_t> counts;
    for (const int owner : m_.owner) {
      if (owner == p_) counts.push_back(0);
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto [source, token, slot] = rows_[i];
      if (received.topk_weights[i] !=
          (source < 0 ? 0.0F : weight_of(source, 0, token * m_.top_k + slot))) {
        return said("the weight of row " + std::to_string(i) + " is wrong");
      }
      if (source < 0) continue;
      ++counts[static_cast<std::size_t>(m_.local(m_.expert(source, token, slot)))];
    }
    if (received.unaligned_tokens_per_expert != counts) return said("wrong counts");
    std::int64_t next = 0;
    for (std::size_t e = 0; e < counts.size(); ++e) {
      if (received.expert_offsets[e] != next) return said("a group begins elsewhere");
      const std::int64_t padded = (counts[e] + s_.alignment - 1) / s_.alignment * s_.alignment;
      if (received.tokens_per_expert[e] != padded) return said("a group is not padded");
      next += padded;
    }
    return received.expert_offsets.back() == next ? std::nullopt : said("the groups end elsewhere");
  }

  /// Rows of the experts, and weights that nobody but the owner of a slot has.
  railwave::CombineArguments combine_input() {
    const int width = width_of(m_.type);
    back_ = room(rows_.size() * static_cast<std::size_t>(m_.hidden * width));
    std::fill(back_.bytes.begin(), back_.bytes.end(), std::byte{0xff});  // NaN in padding
    back_weights_.clear();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto [source, token, slot] = rows_[i];
      for (int h = 0; source >= 0 && h < m_.hidden; ++h) {
        store(back_.bytes.data() + i * static_cast<std::size_t>(m_.hidden * width), h,
              expert_value(p_, source, token, slot, h), m_.type);
      }
      for (int k = 0; k < (expert_major_ ? 1 : m_.top_k); ++k) {
        const int own = expert_major_ ? slot : k;
        const bool mine = source >= 0 && m_.rank_of(source, token, own) == p_;
        back_weights_.push_back(mine ? weight_of(source, 1, token * m_.top_k + own) : 0.0F);
      }
    }
    out_.assign(static_cast<std::size_t>(tokens() * m_.hidden * width), std::byte{0xa5});
    out_weights_.assign(static_cast<std::size_t>(tokens() * m_.top_k), -1.0F);
    railwave::CombineArguments co;
    co.handle = handle_;
    co.x = back_.bytes.data();
    co.rows = static_cast<std::int64_t>(rows_.size());
    co.hidden = m_.hidden;
    co.dtype = dtype_of(m_.type);
    co.out = out_;
    co.apply_weights = s_.apply_weights;
    co.return_weights = s_.return_weights;
    if (s_.apply_weights || s_.return_weights) co.topk_weights = back_weights_;
    if (s_.return_weights) co.out_topk_weights = out_weights_;
    return co;
  }
  Wrong check_combined(const railwave::Result<railwave::PhaseReport>& combined) {
    if (!combined) return said(to_string(combined.error()));
    // The rows are this rank's again: nobody reads them any more.
    std::fill(back_.bytes.begin(), back_.bytes.end(), std::byte{0xff});
    for (const std::byte b : out_) hash_ = mix(hash_ ^ static_cast<std::uint64_t>(b));
    if (s_.return_weights && out_weights_ != expected_weights()) return said("wrong weights back");
    return check_sums(out_);
  }

  [[nodiscard]] float expert_value(int q, int source, int token, int slot, int h) const {
    return value_of(m_.type, s_.seed, source, token, q + 1 + 64 * (slot + 1), h);
  }

  [[nodiscard]] std::vector<float> expected_weights() const {
    std::vector<float> expected;
    for (int t = 0; t < tokens(); ++t) {
      for (int k = 0; k < m_.top_k; ++k) {
        const bool any = m_.rank_of(p_, t, k) >= 0;
        expected.push_back(any ? weight_of(p_, 1, t * m_.top_k + k) : 0.0F);
      }
    }
    return expected;
  }

  [[nodiscard]] Wrong check_sums(const std::vector<std::byte>& out) const {
    const auto width = static_cast<std::size_t>(width_of(m_.type));
    const std::vector<float> y = reference::combined(
        m_, p_,
        [&](int q, int source, int token, int slot, int h) {
          const float value = expert_value(q, source, token, slot, h);
          if (!s_.apply_weights) return value;
          const volatile float product = weight_of(source, 1, token * m_.top_k + slot) * value;
          return static_cast<float>(product);  // rounded before it is added
        },
        expert_major_);
    for (std::size_t i = 0; i < y.size(); ++i) {
      std::byte want[4];
      store(want, 0, y[i], m_.type);
      if (std::memcmp(out.data() + i * width, want, width) != 0) {
        return said("combined element " + std::to_string(i) + " is wrong");
      }
    }
    return std::nullopt;
  }

  railwave::Communicator& group_;
  RankId self_;
  int p_;
  const Shape& s_;
  const reference::Model& m_;
  const Taking& taking_;
  bool expert_major_ = false;
  railwave::Handle handle_;
  std::vector<reference::Row> rows_;
  std::vector<float> weights_;
  Room x_;
  Room shared_scales_;
  std::vector<float> x_scales_;
  int round_ = 0;  // of the newest dispatch
  Room back_;
  std::vector<float> back_weights_;
  std::vector<std::byte> out_;
  std::vector<float> out_weights_;
  std::uint64_t hash_ = 0;
  // Last: they wait for what is under way before the rest goes.
  railwave::Ticket<railwave::Received> dispatching_;
  railwave::Ticket<railwave::PhaseReport> combining_;
};

/// The first thing that is wrong on this rank; `hash` gets a hash of the combined output.
inline Wrong check(railwave::Communicator& group, RankId self, const Shape& s, const Taking& taking,
                   std::uint64_t* hash = nullptr) {
  PhaseCheck phase(group, self, s, taking);
  Wrong wrong = phase.run();
  if (hash != nullptr) *hash = phase.hash();
  return wrong;
}

/// The same for several phases that are under way at the same time: a step of each is begun before
/// one of them is waited for, in an order that the shape's seed gives. `hashes` get one each.
inline Wrong check_together(railwave::Communicator& group, RankId self, const Shape& s,
                            const std::vector<Taking>& takings,
                            std::vector<std::uint64_t>* hashes = nullptr) {
  std::vector<std::unique_ptr<PhaseCheck>> phases;
  for (const Taking& taking : takings) {
    phases.push_back(std::make_unique<PhaseCheck>(group, self, s, taking));
  }
  const std::string_view steps = phases.front()->steps();
  const bool backwards = s.seed % 3 == 1;  // what began last is waited for first
  for (const auto& phase : phases) {
    if (Wrong wrong = phase->begin(steps[0])) return wrong;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (std::size_t j = 0; j < phases.size(); ++j) {
      PhaseCheck& phase = *phases[backwards ? phases.size() - 1 - j : j];
      if (Wrong wrong = phase.end()) return wrong;
      if (i + 1 == steps.size()) continue;
      if (Wrong wrong = phase.begin(steps[i + 1])) return wrong;
    }
  }
  for (const auto& phase : phases) {
    if (hashes != nullptr) hashes->push_back(phase->hash());
  }
  return std::nullopt;
}

}  // namespace phases
