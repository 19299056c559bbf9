/* Runs
 * ====
 *
 * What a run begins with, and what it leaves. */

static void machine_begin(struct machine *m) {
  const struct order *o = m->order;
  m->code = o->code;
  ROOM(m->set_first, m->set_room, 2);
  m->set_count = 1;
  ROOM(m->set_table, m->set_table_size, 1 << 10);
  int64_t room = 0;
  ROOM(m->combined, room, COMBINED);
  room = 0;
  ROOM(m->constant, room, o->set_count + 1);
  const int64_t *given = o->sets;
  for (int64_t k = 0; k < o->set_count; k++) {
    int64_t count = *given++, made = 0;
    for (int64_t i = 0; i < count; i++, given += 2)
      made = append(m, made, (int32_t)given[0], (int32_t)given[1], 1);
    m->constant[k] = set_of(m, m->scratch, made);
  }
  ROOM(m->slots, m->slot_room, 1);
  m->slots[0] = (struct slot){.forward = -1, .list = -1};
  m->slot_count = 1;
  ROOM(m->slot_table, m->slot_table_size, 1 << 10);
  ROOM(m->heads, m->head_count, 16);
  room = 0;
  ROOM(m->vars, room, o->var_count + 1);
  room = 0;
  ROOM(m->current, room, o->barrier_count + 1);
  m->cpu_top = 1;
  m->cpu_set = interval(m, 0, 1);
  /* arrays: how many spaces of shared memory there are at most, and their cells; then each array */
  given = o->arrays;
  int64_t ranks = given[0], shared = given[1];
  given += 2;
  room = 0;
  ROOM(m->tops, room, ranks + 1);
  m->space_count = o->array_count + ranks;
  room = 0;
  ROOM(m->spaces, room, m->space_count + 1);
  room = 0;
  ROOM(m->arrays, room, o->array_count + 1);
  for (int64_t k = 0; k < o->array_count; k++) {
    struct array *a = &m->arrays[k];
    *a = (struct array){.given = given, .elements = given[A_ELEMENTS], .factor = 1, .shards = (int32_t)given[A_SHARDS],
                        .space = (int32_t)k, .is_shared = (int32_t)given[A_SHARED], .kept = (int32_t)given[A_KEPT]};
    a->per_shard = a->elements / (a->shards ? a->shards : 1);
    room = 0;
    ROOM(a->shard, room, a->shards + 1);
    for (int32_t i = 0; i < a->shards; i++) a->shard[i] = (struct shard){i * a->per_shard, (int32_t)k, 0};
    m->spaces[k] = (struct space){.low = INT64_MAX};
    if (a->kept && !a->is_shared) {
      m->spaces[k].count = a->elements;
      m->spaces[k].cells = cells_mapped(m, a->elements);
    }
    given += A_OWNERS + 2 * a->shards;
  }
  for (int64_t k = 0; k < ranks; k++)
    m->spaces[o->array_count + k] =
        (struct space){.cells = cells_mapped(m, shared), .count = shared, .low = INT64_MAX};
  queues_forget(m);
}

static void machine_end(struct machine *m) {
  while (m->repeating) repeating_end(m);
  for (int64_t s = 1; s < m->slot_count; s++) free(m->slots[s].history);
  for (int64_t q = 0; q < m->queue_room; q++) {
    free(m->queues[q].holders);
    free(m->queues[q].last[0]);
    free(m->queues[q].last[1]);
  }
  for (int64_t k = 0; k < m->waited_room; k++) free(m->waited[k].stamp);
  for (int64_t k = 0; k < m->space_count && m->spaces; k++)
    if (m->spaces[k].cells) munmap(m->spaces[k].cells, (size_t)m->spaces[k].count * sizeof(int32_t));
  for (int64_t k = 0; k < m->order->array_count && m->arrays; k++) free(m->arrays[k].shard);
  void *lists[] = {m->pieces, m->scratch, m->set_first, m->set_table, m->combined, m->constant, m->slots,
                   m->slot_table, m->heads, m->draft.records, m->draft.stamps, m->chosen, m->arrays, m->spaces,
                   m->tops, m->seen, m->queues, m->at, m->instances, m->current, m->waited, m->fresh, m->vars,
                   m->hits, m->runs, m->moves};
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) free(lists[k]);
}

/* Do a part of a run, which may end in the middle of it. */
static void guarded(struct machine *m, void part(struct machine *m)) {
  if (!setjmp(m->stop)) part(m);
}

static void all_of_it(struct machine *m) {
  machine_begin(m);
  trace_begin(m);
  run_node(m, m->order->root);
  m->out->status = DONE;
}

/* The run that is ordered: NULL where there is no memory even for the answer. */
struct outcome *soundline_check(const struct order *order) {
  struct machine *m = calloc(1, sizeof *m);
  struct outcome *out = calloc(1, sizeof *out);
  if (!m || !out) {
    free(m);
    free(out);
    return NULL;
  }
  m->order = order;
  m->out = out;
  m->polled = now();
  m->next_poll = 1 << 16;
  guarded(m, all_of_it);
  guarded(m, trace_end);
  out->ran = m->ran;
  out->repeated = m->repeated;
  out->sets = m->set_count;
  machine_end(m);
  free(m);
  return out;
}

void soundline_check_end(struct outcome *out) {
  free(out->sightings);
  free(out->value);
  free(out->logged);
  free(out->logged_values);
  free(out->touched);
  free(out->before);
  free(out->moved);
  free(out);
}
