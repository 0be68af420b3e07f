// Mode selection against the draft's formulas in rationals of any size.
#include <algorithm>
#include <cmath>
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

Rational big(const Fraction& value) {
  return Rational(Integer(value.num.str()), Integer(value.den.str()));
}
Rational big(const Wide& value) { return Rational(Integer(value.str())); }

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
  const auto most = std::min(in.nodes - 1, in.model.top_k);
  in.load.remote_nodes = Ratio{*rc::gen::inRange<std::int64_t>(0, most * den + 1), den};
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

/// Sizes of up to 63 bits each.
RC_GTEST_PROP(ModeProperties, HugeSizesAreExact, ()) {
  Case c = random_case();
  c.in.model.hidden = any(1, 63);
  c.in.load.tokens.value = any(1, 63);
  c.in.model.expert_bytes = any(1, 63);
  c.letters.h = c.in.model.hidden;
  c.letters.tokens = c.in.load.tokens.value;
  c.letters.expert_bytes = c.in.model.expert_bytes;
  const auto want = reference(c.formula, c.letters);
  const auto have = select_mode(c.formula, c.in);
  RC_ASSERT(have.has_value());
  RC_ASSERT(same(big(have->data_centric), want.dc));
  RC_ASSERT(same(big(have->expert_centric), want.ec));
  RC_ASSERT((have->mode == Mode::DataCentric) == want.data_centric());
}

/// The mean by its definition, one expert of a token after the other.
Rational even_routing(std::int64_t n, std::int64_t e, std::int64_t k) {
  Rational reached = 0;
  for (std::int64_t node = 0; node < n; ++node) {
    const std::int64_t own = e / n + (node < e % n ? 1 : 0);
    Rational missed = 1;
    for (std::int64_t i = 0; i < k; ++i) {
      missed *= Rational(std::max<std::int64_t>(e - own - i, 0), e - i);
    }
    reached += 1 - missed;
  }
  return reached * (n - 1) / n;
}

RC_GTEST_PROP(ModeProperties, ExpectedRemoteNodesIsTheHypergeometricMean, ()) {
  const auto n = any(1, 8);
  const auto e = any(1, 9);
  const auto k = *rc::gen::inRange<std::int64_t>(1, std::min<std::int64_t>(e, 40) + 1);
  const auto have = expected_remote_nodes(n, e, k);
  RC_ASSERT(have.has_value());
  const Rational want = even_routing(n, e, k);
  RC_ASSERT(same(big(*have), want));
  RC_ASSERT(std::abs(have->value() - want.convert_to<double>()) <=
            1e-15 * want.convert_to<double>());
}

/// Even routing with bytes and tokens chosen so that both volumes are equal: with f = a/b in lowest
/// terms and rows of `both` bytes, W E (n-1) b = tokens a both.
RC_GTEST_PROP(ModeProperties, EveryTieIsExpertCentric, ()) {
  ModeInputs in;
  in.nodes = *rc::gen::inRange<std::int64_t>(2, 12);
  in.workers = in.nodes;
  const auto e = *rc::gen::inRange<std::int64_t>(1, 24);
  in.model.hidden = 1;
  in.model.experts = {e, Per::Total};
  in.model.top_k = *rc::gen::inRange<std::int64_t>(1, std::min<std::int64_t>(e, 5) + 1);
  in.model.dispatch_row_bytes = any(1, 8);
  in.model.return_row_bytes = any(1, 8);
  const Rational f = even_routing(in.nodes, e, in.model.top_k);
  const Integer left = Integer(e) * (in.nodes - 1) * denominator(f);
  const Integer right =
      (Integer(in.model.dispatch_row_bytes) + in.model.return_row_bytes) * numerator(f);
  const Integer common = gcd(left, right);
  RC_PRE(left / common < (Integer(1) << 60) && right / common < (Integer(1) << 60));
  const auto times = *rc::gen::inRange<std::int64_t>(1, 4);
  in.model.expert_bytes = times * static_cast<std::int64_t>(Integer(right / common));
  in.load.tokens.value = times * static_cast<std::int64_t>(Integer(left / common));
  const auto tie = select_mode(ModeFormula::Bytes, in);
  RC_ASSERT(tie.has_value());
  RC_ASSERT(tie->mode == Mode::ExpertCentric);
  RC_ASSERT(tie->data_centric == tie->expert_centric);
  RC_ASSERT(*tie->tokens_from == Wide(in.load.tokens.value) + 1);
  RC_ASSERT(tie->expert_bytes_to.value_or(0) == Wide(in.model.expert_bytes) - 1);
  ++in.load.tokens.value;
  RC_ASSERT(select_mode(ModeFormula::Bytes, in)->mode == Mode::DataCentric);
}

RC_GTEST_PROP(ModeProperties, FractionsCompareExactly, ()) {
  const auto wide = [] { return (Wide(any(0, 63)) << *rc::gen::inRange(0, 200)) + any(0, 63); };
  const Fraction a{wide(), wide() + 1};
  const Fraction b = *rc::gen::arbitrary<bool>() ? a : Fraction{wide(), wide() + 1};
  RC_ASSERT(less(a, b) == (big(a) < big(b)));
  RC_ASSERT(less(b, a) == (big(b) < big(a)));
  const Fraction reduced = lowest(a.num, a.den);
  RC_ASSERT(same(big(reduced), big(a)));
  RC_ASSERT(gcd(reduced.num, reduced.den) == 1);
  RC_ASSERT(same(big(times(a, b)), big(a) * big(b)));
  RC_ASSERT(same(big(plus(a, b)), big(a) + big(b)));
  const auto exact = big(a).convert_to<double>();
  RC_ASSERT(std::abs(a.value() - exact) <= 1e-15 * exact);
}

}  // namespace
}  // namespace railwave::plan
