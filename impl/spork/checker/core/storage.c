/* Storage
 * =======
 *
 * Lives of arrays begin and end, shard by shard; whoever frees has to see what was done, as if it wrote. What lies
 * outside of shared memory has a space of its own each time that it is allocated, so its cells are forgotten. Names are
 * used only where they live, so nothing is asked of lives themselves. */

enum { A_SHARED, A_ELEMENTS, A_ITEM, A_ALIGNMENT, A_FREEING, A_LEFT, A_KEPT, A_SHARDS, A_OWNERS };

static void allocate(struct machine *m, const int64_t *node) {
  struct array *a = &m->arrays[node[AT_REST]];
  if (a->is_shared) a->factor = a->given[A_ITEM] / m->grain;
  for (int32_t k = 0; k < a->shards; k++) {
    event(m, node);
    struct shard *s = &a->shard[k];
    s->owner = threads_at(m, a->given + A_OWNERS + 2 * k);
    if (a->is_shared) {
      int64_t bytes = a->per_shard * a->given[A_ITEM], alignment = a->given[A_ALIGNMENT], last = -1;
      for (int64_t p = 0; p < piece_count(m, s->owner); p++) {
        struct piece piece = pieces_of(m, s->owner)[p];
        for (int64_t rank = piece.lo / m->block_dim; rank <= (piece.hi - 1) / m->block_dim; rank++) {
          if (rank <= last || rank >= m->ranks) continue;
          int64_t first = (m->tops[rank] + alignment - 1) / alignment * alignment;
          m->tops[rank] = first + bytes;
          if (last < 0) {
            s->space = (int32_t)(m->order->array_count + rank);
            s->base = first / m->grain;
          }
          last = rank;
        }
      }
      if (s->base + a->per_shard * a->factor > m->spaces[s->space].count) stop_with(m, OUTSIDE);
    } else {
      s->space = a->space;
      s->base = k * a->per_shard;
    }
    trace_shard(m, node, a, k, 1);
  }
  if (!a->kept) return;
  if (!a->is_shared) forget_space(m, &m->spaces[a->space]); /* each time that it is allocated it is another one */
  if (a->given[A_LEFT] < 0) return;
  for (int32_t k = 0; k < a->shards; k++) {
    int pair = (int)a->given[A_LEFT];
    struct access left = {.kind = WRITE, .pair = pair, .convergent = 1, .where = (int32_t)node[AT_PATH],
                          .threads = a->shard[k].owner, .seers = a->shard[k].owner, .sees = 1u << pair};
    draft_clear(&m->draft);
    draft_access(m, &m->draft, &left);
    draft_settle(m, &m->draft);
    int32_t to = slot_for(m, &m->draft);
    each_block(m, a, k * a->per_shard, 1, 1, a->per_shard, fill, &to);
  }
}

static void end_array(struct machine *m, const int64_t *node) {
  struct array *a = &m->arrays[node[AT_REST]];
  for (int32_t k = a->shards - 1; k >= 0; k--) {
    event(m, node);
    if (!a->kept) continue;
    trace_shard(m, node, a, k, 0);
    int pair = (int)a->given[A_FREEING];
    struct access check = {.kind = WRITE, .pair = pair, .where = (int32_t)node[AT_PATH], .sees = 1u << pair,
                           .threads = a->shard[k].owner, .seers = a->shard[k].owner};
    m->seen_count = 0;
    next_epoch(m);
    struct census c = {(int32_t)node[AT_REST]};
    each_block(m, a, k * a->per_shard, 1, 1, a->per_shard, see, &c);
    for (int64_t i = 0; i < m->seen_count; i++) hits_at(m, &check, &m->seen[i], 1, 0);
    hits_counted(m);
  }
  if (a->kept && !a->is_shared) forget_space(m, &m->spaces[a->space]);
}
