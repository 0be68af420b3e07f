/* One dispatch and one combine in C. Run it on every rank, for example
 *   railwave emulate --nodes 2 --ranks-per-node 2 --rails 2 -- round_trip_c
 * Each rank has three tokens for two experts each, with weights 1/4 and 3/4; every expert returns
 * the rows that it got, so each token comes back as itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <railwave/railwave.h>

enum { TOKENS = 3, HIDDEN = 16, TOP_K = 2, MAX_RAILS = 64 };

/* What a rank has to destroy at the end. */
typedef struct objects {
  railwave_topology* topology;
  railwave_placement* placement;
  railwave_group* group;
  railwave_received* received;
  railwave_handle* handle;
} objects;

typedef struct launch {
  int rank, ranks, ranks_per_node, rails;
  char* devices[MAX_RAILS];
} launch;

static int variable(const char* name) {
  const char* text = getenv(name);
  return text != NULL ? atoi(text) : 0;
}

/* RAILWAVE_RAILS, "rail0,-,rail2", is cut into one device a rail; "-": the node has none. */
static int read_launch(launch* self) {
  char* list = getenv("RAILWAVE_RAILS");
  self->rank = variable("RANK");
  self->ranks = variable("WORLD_SIZE");
  self->ranks_per_node = variable("LOCAL_WORLD_SIZE");
  self->rails = 0;
  while (list != NULL && self->rails < MAX_RAILS) {
    char* comma = strchr(list, ',');
    if (comma != NULL) *comma = '\0';
    self->devices[self->rails++] = strcmp(list, "-") == 0 ? NULL : list;
    list = comma != NULL ? comma + 1 : NULL;
  }
  return self->ranks >= 1 && self->ranks_per_node >= 1 && self->rails >= 1;
}

/* The first call that fails ends the round trip; its sentence is railwave_last_error()'s. */
static railwave_result make_group(const launch* self, objects* own) {
  const railwave_worst_case worst = {.size = sizeof worst,
                                     .tokens_per_rank = TOKENS,
                                     .layout = RAILWAVE_EXPERT_MAJOR,
                                     .top_k = TOP_K};
  railwave_group_config config = {.size = sizeof config,
                                  .rank = self->rank,
                                  .max_tokens_per_rank = TOKENS,
                                  .max_hidden = HIDDEN,
                                  .max_top_k = TOP_K,
                                  .widest_dtype = RAILWAVE_FP32,
                                  .rail_devices = (const char* const*)self->devices};
  railwave_result result = railwave_topology_uniform(
      self->ranks / self->ranks_per_node, self->ranks_per_node, self->rails, &own->topology);
  if (result != RAILWAVE_SUCCESS) return result;
  result = railwave_placement_contiguous(2 * self->ranks, self->ranks, &own->placement);
  if (result != RAILWAVE_SUCCESS) return result;
  result =
      railwave_worst_case_recv_rows(own->topology, own->placement, &worst, &config.max_recv_rows);
  if (result != RAILWAVE_SUCCESS) return result;
  return railwave_group_create(own->topology, own->placement, &config, &own->group);
}

static railwave_result dispatch(const launch* self, const float* x, objects* own) {
  int64_t topk_idx[TOKENS][TOP_K];
  float topk_weights[TOKENS][TOP_K];
  const railwave_dispatch_config config = {.size = sizeof config,
                                           .x = x,
                                           .tokens = TOKENS,
                                           .hidden = HIDDEN,
                                           .dtype = RAILWAVE_FP32,
                                           .top_k = TOP_K,
                                           .topk_idx = topk_idx[0],
                                           .topk_weights = topk_weights[0],
                                           .path = RAILWAVE_PATH_JOINT,
                                           .layout = RAILWAVE_EXPERT_MAJOR};
  for (int token = 0; token < TOKENS; ++token) {
    /* The experts of two other ranks. */
    topk_idx[token][0] = 2 * ((self->rank + token + 1) % self->ranks);
    topk_idx[token][1] = 2 * ((self->rank + token + 2) % self->ranks) + 1;
    topk_weights[token][0] = 0.25F;
    topk_weights[token][1] = 0.75F;
  }
  return railwave_dispatch(own->group, &config, &own->received);
}

static railwave_result combine(const railwave_rows* rows, float* out, objects* own) {
  railwave_combine_config config = {.size = sizeof config,
                                    .x = rows->x, /* the experts change nothing */
                                    .rows = rows->rows,
                                    .hidden = HIDDEN,
                                    .dtype = RAILWAVE_FP32,
                                    .apply_weights = 1,
                                    .topk_weights = rows->topk_weights,
                                    .out = out};
  const railwave_result result = railwave_received_handle(own->received, &own->handle);
  if (result != RAILWAVE_SUCCESS) return result;
  config.handle = own->handle;
  return railwave_combine(own->group, &config, NULL);
}

static railwave_result round_trip(const launch* self, const float* x, float* out, objects* own) {
  railwave_rows rows = {.size = sizeof rows};
  railwave_result result = make_group(self, own);
  if (result == RAILWAVE_SUCCESS) result = dispatch(self, x, own);
  if (result == RAILWAVE_SUCCESS) result = railwave_received_rows(own->received, &rows);
  if (result == RAILWAVE_SUCCESS) result = combine(&rows, out, own);
  return result;
}

static int report(const launch* self, const float* x, const float* out, const objects* own) {
  for (int i = 0; i < TOKENS * HIDDEN; ++i) {
    if (out[i] != x[i]) {
      fprintf(stderr, "rank %d: element %d is wrong\n", self->rank, i);
      return 1;
    }
  }
  printf("rank %d: received %" PRId64 " rows, %d tokens came back right\n", self->rank,
         railwave_handle_rows(own->handle), TOKENS);
  return 0;
}

int main(void) {
  launch self;
  objects own = {NULL, NULL, NULL, NULL, NULL};
  float x[TOKENS * HIDDEN];
  float out[TOKENS * HIDDEN];
  int status = 1;
  if (!read_launch(&self)) {
    fprintf(stderr,
            "run this under railwave emulate or a launcher that sets RANK, WORLD_SIZE, "
            "LOCAL_WORLD_SIZE and RAILWAVE_RAILS\n");
    return 2;
  }
  for (int i = 0; i < TOKENS * HIDDEN; ++i) {
    x[i] = (float)(self.rank * 8 + i / HIDDEN + 1);
    out[i] = -1.0F;
  }
  if (round_trip(&self, x, out, &own) == RAILWAVE_SUCCESS) {
    status = report(&self, x, out, &own);
  } else {
    fprintf(stderr, "%s\n", railwave_last_error()->sentence);
  }
  railwave_handle_destroy(own.handle);
  railwave_received_destroy(own.received);
  railwave_group_destroy(own.group);
  railwave_placement_destroy(own.placement);
  railwave_topology_destroy(own.topology);
  return status;
}
