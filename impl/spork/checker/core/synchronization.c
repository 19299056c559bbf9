/* Synchronization
 * ===============
 *
 * Fences, and the arrives and awaits of barriers, as `transitions.Machine` executes them: the stamps of an arrive have
 * the count of its home; an arrive at a ring is asked first whether its slot is free; where warps wait apart, an arrive or
 * await is one of each warp (S-15). An await that no arrive matches ends the run. */

/* A first side (pairs, transitive) and what a second side gives to records of writes and of reads, all as masks. */
static void fence(struct machine *m, const int64_t *sides, set by) {
  struct sync s = {.transitive = (int)sides[1], .first = (uint32_t)sides[0], .threads = by, .queue = -1};
  s.first_side = spread(m, by, s.first);
  s.gain[READ] = spread(m, by, (uint32_t)sides[3]);
  s.gain[WRITE] = spread(m, by, (uint32_t)sides[2]);
  synchronize(m, &s);
}

#define MOST_INDICES 32

static int32_t queue_at(struct machine *m, const int64_t *q) {
  int64_t at[MOST_INDICES];
  if (q[2] > MOST_INDICES) stop_with(m, OUTSIDE);
  for (int64_t k = 0; k < q[2]; k++) at[k] = term(m, q[3 + k]);
  return queue_of(m, q[0], at, q[2], q[1]);
}

/* The stamps of an arrive at some queues, of which the first is the home, in `m->fresh` and in order; the home. */
static int32_t stamps_at(struct machine *m, const int64_t *queues, int64_t count) {
  m->fresh_count = 0;
  if (!count) return -1;
  int32_t home = queue_at(m, m->code + queues[0]);
  ROOM(m->fresh, m->fresh_room, count);
  for (int64_t k = 0; k < count; k++) {
    struct stamp s = {k ? queue_at(m, m->code + queues[k]) : home, -1, m->queues[home].arrives};
    int64_t i = 0;
    while (i < m->fresh_count && m->fresh[i].queue < s.queue) i++;
    if (i < m->fresh_count && m->fresh[i].queue == s.queue) continue;
    memmove(m->fresh + i + 1, m->fresh + i, (size_t)(m->fresh_count++ - i) * sizeof s);
    m->fresh[i] = s;
  }
  return home;
}

/* The next warp with threads of a set, which it leaves. */
static set next_warp(struct machine *m, set *rest, int32_t *warp) {
  *warp = pieces_of(m, *rest)->lo / 32;
  set own = common(m, *rest, interval(m, (int64_t)*warp * 32, (int64_t)*warp * 32 + 32));
  *rest = without(m, *rest, own);
  return own;
}

static void arrive(struct machine *m, const int64_t *node) {
  const int64_t *rest = node + AT_REST; /* first side: pairs, transitive; waits apart; queues */
  set by = threads_at(m, node + AT_THREADS);
  int64_t count = rest[3];
  int32_t home = stamps_at(m, rest + 4, count);
  int64_t arrives = m->queues[home].arrives, depth = depth_of(m, home);
  if (depth >= 0) {
    int64_t before = arrives - depth;
    if (before >= 0) {
      int32_t queues[256];
      if (count > 256) stop_with(m, OUTSIDE);
      for (int64_t k = 0; k < count; k++) queues[k] = queue_at(m, m->code + rest[4 + k]);
      int text = rings_overrun(m, queues, count, before, by);
      static const char *const TEXTS[] = {"", "arrive %lld was not awaited",
                                          "the await of arrive %lld may still go on",
                                          "arrive %lld may not be complete"};
      if (text)
        queue_hazard(m, ARRIVE_OVERRUN, node[AT_PATH], home, TEXTS[text],
                     (long long)(before + m->queues[home].skipped));
    }
    rings_arrived(m, by);
  }
  struct sync s = {.transitive = (int)rest[1], .first = (uint32_t)rest[0], .queue = -1};
  for (set left = by; left;) {
    int32_t warp = -1;
    s.threads = left;
    if (rest[2])
      s.threads = next_warp(m, &left, &warp);
    else
      left = 0;
    for (int64_t k = 0; k < m->fresh_count; k++) m->fresh[k].warp = warp;
    s.first_side = spread(m, s.threads, s.first);
    s.stamps = m->fresh;
    s.stamp_count = m->fresh_count;
    synchronize(m, &s);
  }
  trace_counts(m, home, 0);
  m->queues[home].arrives++;
}

static void await(struct machine *m, const int64_t *node) {
  const int64_t *rest = node + AT_REST; /* N; waits apart; what records of writes and of reads gain; queue */
  set by = threads_at(m, node + AT_THREADS);
  int32_t queue = queue_at(m, m->code + rest[4]);
  struct queue *q = &m->queues[queue];
  int64_t n = rest[0], bound;
  if (n >= 0) {
    bound = q->arrives - n;
    if (bound > q->awaits) q->awaits = bound;
    if (bound < 0) bound = 0;
  } else {
    int64_t number = q->awaits - ~n;
    if (number >= q->arrives) {
      queue_hazard(m, AWAIT_PROGRESS, node[AT_PATH], queue, "an await of arrive %lld, of %lld",
                   (long long)(number + q->skipped), (long long)(q->arrives + q->skipped));
      ended_at(m, node, STUCK);
    }
    q->awaits++;
    bound = number < 0 ? 0 : number + 1;
  }
  trace_counts(m, queue, 1);
  struct sync s = {.waits = 1, .queue = queue, .bound = bound, .least = floor_of(m, queue)};
  for (set left = bound ? by : 0; left;) {
    set own = left;
    s.warp = -1;
    if (rest[1])
      own = next_warp(m, &left, &s.warp);
    else
      left = 0;
    s.gain[WRITE] = spread(m, own, (uint32_t)rest[2]);
    s.gain[READ] = spread(m, own, (uint32_t)rest[3]);
    synchronize(m, &s);
  }
  int64_t depth = depth_of(m, queue);
  if (depth >= 0 && bound) {
    rings_released(m, queue, bound, by);
    rings_awaited(m, queue, bound - 1, by, depth);
  }
}

static int queue_order(struct machine *m, int32_t x, int32_t y) {
  const struct queue *a = &m->queues[x], *b = &m->queues[y];
  for (int32_t k = 0; k < a->at_count && k < b->at_count; k++) {
    int64_t i = m->at[a->at + k], j = m->at[b->at + k];
    if (i != j) return i < j ? -1 : 1;
  }
  return a->at_count != b->at_count ? a->at_count - b->at_count : a->reverse - b->reverse;
}

static void barrier_free(struct machine *m, const int64_t *node) {
  int32_t instance = m->current[node[AT_REST]], first = -1;
  int64_t count = 0;
  if (instance < 0) stop_with(m, OUTSIDE);
  for (int32_t q = m->instances[instance].first_queue; q >= 0; q = m->queues[q].sibling) {
    if (m->queues[q].arrives == m->queues[q].awaits) continue;
    count++;
    if (first < 0 || queue_order(m, q, first) < 0) first = q;
  }
  if (first < 0) return;
  const struct queue *f = &m->queues[first]; /* the text of a new finding is its; all of them are counted */
  while (count--)
    queue_hazard(m, BARRIER_UNEQUAL, node[AT_PATH], first, "%lld arrives, %lld awaits",
                 (long long)(f->arrives + f->skipped), (long long)(f->awaits + f->skipped));
}
