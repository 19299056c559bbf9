/* Actions
 * =======
 *
 * One instruction: all of its accesses are checked against what was before, then all are recorded, in the order of its
 * touches. A touch is looked at in runs of equal slots, and each distinct slot is asked once and changed once. */

static struct access access_of(struct machine *m, const int64_t *t, set threads, int64_t where) {
  struct access a = {.kind = t[T_KIND] != 0, .atomic = t[T_KIND] == 2, .pair = (int)t[T_PAIR],
                     .sees = (uint32_t)t[T_SEES], .out_of_order = (int)t[T_OUT_OF_ORDER],
                     .convergent = (int)t[T_CONVERGENT], .where = (int32_t)where, .stamps = m->fresh,
                     .stamp_count = m->fresh_count};
  a.threads = t[T_BY] < -1 ? threads : threads_at(m, t + T_BY);
  a.seers = t[T_SEERS] < -1 ? a.threads : threads_at(m, t + T_SEERS);
  return a;
}

struct gathering { const struct access *access; const struct hit *hit; };

static void gather(struct machine *m, void *own, const struct block *b) {
  const struct gathering *g = own;
  struct run run;
  for (int64_t row = 0, at = 0; next_run(b, &row, &at, &run);) {
    const struct history *h = m->slots[root_of(m, *run.cells)].history;
    int found = 0;
    for (int32_t i = 0; h && i < h->count && !found; i++) {
      const struct record *r = &h->records[i];
      found = r->where == g->hit->earlier && asks_for(g->access, r) && rule_at(g->access, r, 0) == g->hit->rule &&
              unseen(m, r, g->access);
    }
    int64_t first = cell_number(m, b->space, run.cells - m->spaces[b->space].cells);
    for (int64_t i = 0; found && i < run.rows; i++) {
      ROOM(m->runs, m->run_room, m->run_count + 1);
      m->runs[m->run_count++] = (struct cells_run){first + i * run.stride, run.count};
    }
  }
}

static int run_order(const void *x, const void *y) {
  const struct cells_run *a = x, *b = y;
  return (a->first > b->first) - (a->first < b->first);
}

/* The cells that have a hit through several touches, each once. */
static int64_t cells_hit(struct machine *m, const int64_t *node, const int64_t *touches, int64_t count, set by,
                         const struct hit *hit) {
  m->run_count = 0;
  for (int64_t k = 0; k < count; k++) {
    const int64_t *t = m->code + touches[k];
    struct access a = access_of(m, t, by, node[AT_PATH]);
    struct gathering g = {&a, hit};
    for (int64_t r = 0; r < t[T_REGIONS]; r++) each_in_region(m, m->code + t[T_FIRST_REGION + r], gather, &g);
  }
  qsort(m->runs, (size_t)m->run_count, sizeof *m->runs, run_order);
  int64_t end = 0, sum = 0;
  for (int64_t k = 0; k < m->run_count; k++) {
    int64_t first = m->runs[k].first > end ? m->runs[k].first : end, last = m->runs[k].first + m->runs[k].count;
    if (last > first) sum += last - first, end = last;
  }
  return sum;
}

/* The access is done: the histories of its cells have it. */
static void record_access(struct machine *m, const int64_t *t, const struct access *a, const struct seen *seen,
                          int64_t count) {
  if (!count) return;
  int replaces = a->kind == WRITE && !a->atomic;
  if (count == 1 && seen->slot && m->slots[seen->slot].cells == seen->count) {
    /* all cells of the slot, and no others: the slot changes, and not the cells */
    int32_t s = seen->slot;
    draft_clear(&m->draft);
    if (!replaces) draft_history(m, &m->draft, m->slots[s].history);
    draft_access(m, &m->draft, a);
    draft_settle(m, &m->draft);
    slot_change(m, s, &m->draft);
    return;
  }
  ROOM(m->moves, m->move_room, count);
  for (int64_t k = 0; k < count; k++) {
    if (k && replaces) {
      m->moves[k] = m->moves[0];
      continue;
    }
    draft_clear(&m->draft);
    if (!replaces) draft_history(m, &m->draft, m->slots[seen[k].slot].history);
    draft_access(m, &m->draft, a);
    draft_settle(m, &m->draft);
    m->moves[k] = slot_for(m, &m->draft);
    if (m->moves[k]) m->slots[m->moves[k]].refs++; /* it stays until all are moved */
  }
  if (!replaces) {
    next_epoch(m);
    for (int64_t k = 0; k < count; k++) m->slots[seen[k].slot].mark = m->epoch, m->slots[seen[k].slot].place = (int32_t)k;
  }
  block_user *use = replaces ? fill : move;
  for (int64_t r = 0; r < t[T_REGIONS]; r++) each_in_region(m, m->code + t[T_FIRST_REGION + r], use, m->moves);
  for (int64_t k = 0; k < (replaces ? 1 : count); k++)
    if (m->moves[k] && !--m->slots[m->moves[k]].refs) slot_end(m, m->moves[k]);
}

/* Whether what was seen at a touch, in `m->seen` from `first` to `end`, is still there after the touches before it were
 * recorded. A cell has one slot, so touches that have no slot in common have no cell in common; and what became of the
 * slots of the others made no slot of this one another. */
static int still_seen(struct machine *m, int64_t first, int64_t end) {
  for (int64_t k = first; k < end; k++)
    for (int64_t i = 0; i < first; i++)
      if (m->seen[k].slot == m->seen[i].slot) return 0;
  return 1;
}

#define MOST_KEPT 16
#define MOST_SEEN 64

static void action(struct machine *m, const int64_t *node) {
  const int64_t *rest = node + AT_REST; /* accesses; queues; touches */
  m->out->accesses += rest[0];
  int64_t queue_count = rest[1], count = rest[2 + queue_count], ends[MOST_KEPT + 1] = {0};
  const int64_t *touches = rest + 3 + queue_count;
  set by = threads_at(m, node + AT_THREADS);
  stamps_at(m, rest + 2, queue_count);
  trace_action(m, node, touches, count);
  m->seen_count = 0;
  for (int64_t k = 0; k < count; k++) {
    const int64_t *t = m->code + touches[k];
    struct access a = access_of(m, t, by, node[AT_PATH]);
    int64_t first = m->seen_count;
    census_of(m, t + T_FIRST_REGION, t[T_REGIONS]);
    for (int64_t i = first; i < m->seen_count; i++) hits_at(m, &a, &m->seen[i], 0, (int)k);
    if (k < MOST_KEPT) ends[k + 1] = m->seen_count;
  }
  if (m->hit_count) {
    struct hit *hits = (struct hit *)m->hits;
    for (int64_t k = 0; k < m->hit_count; k++)
      if (hits[k].multiple) hits[k].count = cells_hit(m, node, touches, count, by, &hits[k]);
    hits_counted(m);
  }
  for (int64_t k = 0; k < count; k++) {
    const int64_t *t = m->code + touches[k];
    struct access a = access_of(m, t, by, node[AT_PATH]);
    int64_t first = k < MOST_KEPT ? ends[k] : 0, end = k < MOST_KEPT ? ends[k + 1] : 0;
    if (k >= MOST_KEPT || end > MOST_SEEN || !still_seen(m, first, end)) {
      int64_t kept = m->seen_count;
      first = kept;
      census_of(m, t + T_FIRST_REGION, t[T_REGIONS]);
      end = m->seen_count;
      m->seen_count = kept;
    }
    record_access(m, t, &a, m->seen + first, end - first);
  }
  if (queue_count) rings_arrived(m, by);
}
