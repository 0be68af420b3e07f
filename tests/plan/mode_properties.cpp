// Mode selection against the draft's formulas in rationals of any size.
#include <algorithm>
#include <string>

#include <boost/multiprecision/cpp_int.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/mode.hpp"

namespace railwave::plan {
namespace {

using Integer = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;

/// The two volumes of a formula, by the letters of the draft.
struct Volumes {
  Rational dc, ec;
  [[nodiscard]] bool data_centric() const { return dc < ec; }
};

struct Letters {
  Integer n, p, h, k;
  Rational e, tokens;  // as given
  bool e_per_worker, tokens_per_worker;
  Rational expert_bytes;
  Integer row_bytes;  // there and back
  Rational remote;
};

Volumes reference(ModeFormula formula, const Letters& x) {
  const Rational m = Rational(x.p, x.n);
  const Rational whole = Rational(x.n - 1);
  if (formula == ModeFormula::Draft) {
    return {8 * x.h * x.e * m * whole, 2 * m * x.h * (x.tokens * x.k) * whole / x.n};
  }
  if (formula == ModeFormula::DraftH2) {
    const Rational e = x.e_per_worker ? x.e : Rational(x.e / x.p);
    const Rational t = x.tokens_per_worker ? x.tokens : Rational(x.tokens / x.p);
    return {8 * x.h * x.h * e * m * whole, 2 * m * x.h * (t * x.k) * whole / x.n};
  }
  const Rational e = x.e_per_worker ? Rational(x.e * x.p) : x.e;
  const Rational t = x.tokens_per_worker ? Rational(x.tokens * x.p) : x.tokens;
  return {x.expert_bytes * e * whole / x.n, t / x.n * x.remote * x.row_bytes};
}

Integer big(Wide value) {
  return (Integer(static_cast<std::uint64_t>(value >> 64)) << 64) +
         static_cast<std::uint64_t>(value);
}
Rational big(Fraction value) { return Rational(big(value.num), big(value.den)); }

/// Equal numbers. Not ==, which compares the parts: Boost 1.83 leaves a zero that is divided by an
/// Integer as 0/n.
bool same(const Rational& a, const Rational& b) {
  return numerator(a) * denominator(b) == numerator(b) * denominator(a);
}

std::int64_t any(std::int64_t least, int most_bits) {
  const int bits = *rc::gen::inRange(0, most_bits);
  return least + *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << bits);
}

struct Case {
  ModeFormula formula;
  ModeInputs in;
  Letters letters;
};

Case random_case() {
  ModeInputs in;
  in.nodes = any(1, 12);
  in.workers = in.nodes + any(0, 15);
  const auto per = [] { return *rc::gen::element(Per::Total, Per::Worker); };
  in.model.hidden = any(1, 24);
  in.model.experts = {any(1, 12), per()};
  in.model.top_k =
      *rc::gen::inRange<std::int64_t>(1, std::min<std::int64_t>(in.model.experts.value, 64) + 1);
  in.model.expert_bytes = any(1, 40);
  in.model.dispatch_row_bytes = any(1, 30);
  in.model.return_row_bytes = any(1, 30);
  in.load.tokens = {any(0, 40), per()};
  const auto den = any(1, 8);
  in.load.remote_nodes = Ratio{*rc::gen::inRange<std::int64_t>(0, (in.nodes - 1) * den + 1), den};
  const Letters letters{in.nodes,
                        in.workers,
                        in.model.hidden,
                        in.model.top_k,
                        in.model.experts.value,
                        in.load.tokens.value,
                        in.model.experts.per == Per::Worker,
                        in.load.tokens.per == Per::Worker,
                        in.model.expert_bytes,
                        Integer(in.model.dispatch_row_bytes) + in.model.return_row_bytes,
                        Rational(in.load.remote_nodes->num, in.load.remote_nodes->den)};
  return {*rc::gen::elementOf(kAllModeFormulas), in, letters};
}

RC_GTEST_PROP(ModeProperties, VolumesAndAnswerAreTheFormulas, ()) {
  const Case c = random_case();
  const auto want = reference(c.formula, c.letters);
  const auto have = select_mode(c.formula, c.in);
  RC_ASSERT(have.has_value());
  RC_ASSERT(same(big(have->data_centric), want.dc));
  RC_ASSERT(same(big(have->expert_centric), want.ec));
  RC_ASSERT((have->mode == Mode::DataCentric) == want.data_centric());
}

RC_GTEST_PROP(ModeProperties, ThresholdsAreWhereTheAnswerFlips, ()) {
  const Case c = random_case();
  const auto have = select_mode(c.formula, c.in);
  RC_ASSERT(have.has_value());
  Letters x = c.letters;
  if (have->tokens_from) {
    x.tokens = Rational(big(*have->tokens_from));
    RC_ASSERT(reference(c.formula, x).data_centric());
    x.tokens -= 1;
    RC_ASSERT(!reference(c.formula, x).data_centric());
  } else {
    x.tokens = Rational(Integer(1) << 127);
    RC_ASSERT(!reference(c.formula, x).data_centric());
  }
  x = c.letters;
  const bool bytes = c.formula == ModeFormula::Bytes;
  RC_ASSERT(!(bytes ? have->experts_to : have->expert_bytes_to));
  Rational& varied = bytes ? x.expert_bytes : x.e;
  const auto limit = bytes ? have->expert_bytes_to : have->experts_to;
  varied = limit ? Rational(big(*limit)) : Rational(0);
  RC_ASSERT(!limit || reference(c.formula, x).data_centric());
  varied += 1;
  RC_ASSERT(!reference(c.formula, x).data_centric());
}

/// Sizes at which 128 bits may or may not suffice: an answer is right or absent.
RC_GTEST_PROP(ModeProperties, HugeSizesAreRightOrRefused, ()) {
  Case c = random_case();
  c.in.model.hidden = any(1, 63);
  c.in.load.tokens.value = any(1, 63);
  c.in.model.expert_bytes = any(1, 63);
  c.letters.h = c.in.model.hidden;
  c.letters.tokens = c.in.load.tokens.value;
  c.letters.expert_bytes = c.in.model.expert_bytes;
  const auto want = reference(c.formula, c.letters);
  const auto have = select_mode(c.formula, c.in);
  const auto fits = [](const Rational& value) {
    return numerator(value) < (Integer(1) << 128) && denominator(value) < (Integer(1) << 128);
  };
  if (have) {
    RC_ASSERT(same(big(have->data_centric), want.dc));
    RC_ASSERT(same(big(have->expert_centric), want.ec));
    RC_ASSERT((have->mode == Mode::DataCentric) == want.data_centric());
  } else {
    RC_ASSERT(have.error().field == "volume");
    RC_TAG("refused");
  }
  // What is far below 128 bits is never refused.
  const Rational largest = std::max({want.dc, want.ec, Rational(8 * c.letters.h * c.letters.h)});
  if (fits(largest) && numerator(largest) < (Integer(1) << 100)) RC_ASSERT(have.has_value());
}

RC_GTEST_PROP(ModeProperties, ExpectedRemoteNodesIsTheHypergeometricMean, ()) {
  const auto n = any(1, 8);
  const auto e = any(1, 9);
  const auto k = *rc::gen::inRange<std::int64_t>(1, std::min<std::int64_t>(e, 40) + 1);
  Rational reached = 0;
  for (std::int64_t node = 0; node < n; ++node) {
    const std::int64_t own = e / n + (node < e % n ? 1 : 0);
    Rational missed = 1;
    for (std::int64_t i = 0; i < k; ++i) {
      missed *= Rational(std::max<std::int64_t>(e - own - i, 0), e - i);
    }
    reached += 1 - missed;
  }
  const Rational want = reached * (n - 1) / n;
  const Rational error = abs(big(expected_remote_nodes(n, e, k)) - want);
  RC_ASSERT(error <= Rational(n * k, Integer(1) << 40));
}

RC_GTEST_PROP(ModeProperties, FractionsCompareExactly, ()) {
  const auto wide = [] {
    const auto high = static_cast<Wide>(any(0, 63)) << *rc::gen::inRange(0, 65);
    return high + static_cast<Wide>(any(0, 63));
  };
  const Fraction a{wide(), wide() + 1};
  const Fraction b = *rc::gen::arbitrary<bool>() ? a : Fraction{wide(), wide() + 1};
  RC_ASSERT(less(a, b) == (big(a) < big(b)));
  RC_ASSERT(less(b, a) == (big(b) < big(a)));
  const Fraction reduced = lowest(a.num, a.den);
  RC_ASSERT(big(reduced) == big(a));
  RC_ASSERT(boost::multiprecision::gcd(big(reduced.num), big(reduced.den)) == 1);
  RC_ASSERT(decimal(a.num) == big(a.num).str());
  if (const auto ab = times(a, b)) RC_ASSERT(big(*ab) == big(a) * big(b));
}

}  // namespace
}  // namespace railwave::plan
