// The cases, each as what one rank does. What they are about stands above each body.
#pragma once

namespace cases {

struct Rank;

void d01_zero_tokens(Rank& rank);
void d03_masked_slots(Rank& rank);
void d04_expert_out_of_range(Rank& rank);
void d05_expert_twice(Rank& rank);
void d06_one_expert(Rank& rank);
void d07_too_many_tokens(Rank& rank);
void d08_offsets_beyond_32_bits(Rank& rank);
void d09_odd_hidden(Rank& rank);
void d10_settings_differ(Rank& rank);
void d10_calls_differ(Rank& rank);
void d11_uneven_experts(Rank& rank);
void d11_top_k_beyond_experts(Rank& rank);
void d11_fewer_experts_than_ranks(Rank& rank);
void d12_one_rank(Rank& rank);
void d12_one_node(Rank& rank);
void d12_one_rail(Rank& rank);
void d18_smaller_after_larger(Rank& rank);
void d22_same_bits(Rank& rank);
void d23_special_values(Rank& rank);
void d17_handles(Rank& rank);
void d17_repeated_dispatch(Rank& rank);
void weights_and_scales(Rank& rank);
void d17_handle_of_another_group(Rank& rank);
void replicas(Rank& rank);
void replicas_differ(Rank& rank);
void leave_at_once(Rank& rank);

}  // namespace cases
