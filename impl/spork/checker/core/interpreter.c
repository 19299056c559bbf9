/* Interpreter
 * ===========
 *
 * The nodes of a plan, in the order of the program. What each event does is what `transitions.Machine` does; what it
 * needs of a node is encoded (`encoding.py`) as a list of numbers, and places in that list are written as offsets. */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How far the run is, by the loops that it is in. */
static double fraction(struct machine *m) {
  double part = 1, sum = 0;
  for (int k = 0; k < m->depth; k++) {
    const struct frame *f = &m->frames[k];
    part /= (double)(f->hi - f->lo);
    sum += (double)(f->at - f->lo) * part;
  }
  return sum;
}

/* Python is asked now and then, which may end the run. */
static void poll(struct machine *m) {
  m->next_poll = m->work + (1 << 20);
  double at = now();
  if (at - m->polled < 0.2) return;
  m->polled = at;
  if (m->order->ask && m->order->ask(m->out->events, fraction(m))) stop_with(m, STOPPED);
}

static void event(struct machine *m, const int64_t *node) {
  m->event_node = node[AT_NODE];
  m->ran++;
  m->out->events++;
  m->work += 40;
  if (m->work >= m->next_poll) poll(m);
}

static void ended_at(struct machine *m, const int64_t *node, int status) {
  m->out->node = node[AT_NODE];
  m->out->values = keep_values(m);
  stop_with(m, status);
}

/* Synchronization ------------------------------------------------------------------------------------------------- */

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
  for (int32_t q = 0; q < m->queue_count; q++) {
    const struct queue *x = &m->queues[q];
    if (x->instance != instance || x->arrives == x->awaits) continue;
    if (first < 0 || queue_order(m, q, first) < 0) first = q;
  }
  if (first < 0) return;
  const struct queue *f = &m->queues[first]; /* the text of a new finding is its; all of them are counted */
  for (int32_t q = 0; q < m->queue_count; q++)
    if (m->queues[q].instance == instance && m->queues[q].arrives != m->queues[q].awaits)
      queue_hazard(m, BARRIER_UNEQUAL, node[AT_PATH], first, "%lld arrives, %lld awaits",
                   (long long)(f->arrives + f->skipped), (long long)(f->awaits + f->skipped));
}

/* Actions --------------------------------------------------------------------------------------------------------- */

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

/* Storage --------------------------------------------------------------------------------------------------------- */

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

/* Conditions of the run ------------------------------------------------------------------------------------------- */

/* Elements of regions by their numbers in the array; each row is a run. */
static void region_runs(struct machine *m, int64_t first, const int64_t *dims, int64_t count) {
  if (count && !(count == 1 && dims[1] == 1)) {
    for (int64_t k = 0; k < dims[0]; k++) region_runs(m, first + k * dims[1], dims + 2, count - 1);
    return;
  }
  int64_t n = count ? dims[0] : 1;
  if (!n) return;
  ROOM(m->runs, m->run_room, m->run_count + 1);
  m->runs[m->run_count++] = (struct cells_run){first, n};
}

static void apart(struct machine *m, const int64_t *node) {
  const int64_t *rest = node + AT_REST; /* regions of the one, regions of the other */
  int64_t ones = rest[0], others = rest[1 + ones];
  m->run_count = 0;
  for (int64_t k = 0; k < ones; k++) {
    const int64_t *r = m->code + rest[1 + k];
    region_runs(m, term(m, r[1]), r + 3, r[2]);
  }
  int64_t half = m->run_count;
  for (int64_t k = 0; k < others; k++) {
    const int64_t *r = m->code + rest[2 + ones + k];
    region_runs(m, term(m, r[1]), r + 3, r[2]);
  }
  struct cells_run *x = m->runs, *y = m->runs + half;
  int64_t nx = half, ny = m->run_count - half;
  qsort(x, (size_t)nx, sizeof *x, run_order);
  qsort(y, (size_t)ny, sizeof *y, run_order);
  for (int64_t i = 0, j = 0; i < nx && j < ny;) {
    if (x[i].first + x[i].count <= y[j].first)
      i++;
    else if (y[j].first + y[j].count <= x[i].first)
      j++;
    else
      ended_at(m, node, REFUSED);
  }
}

/* Control --------------------------------------------------------------------------------------------------------- */

static void run_node(struct machine *m, int64_t at);

static void run_block(struct machine *m, const int64_t *node) {
  const int64_t *rest = node + 2; /* whether shared memory is allocated in it; nodes */
  int64_t tops[64];
  int64_t ranks = rest[0] ? m->ranks : 0;
  if (ranks > 64) stop_with(m, OUTSIDE);
  if (ranks) memcpy(tops, m->tops, (size_t)ranks * sizeof *tops);
  for (int64_t k = 0; k < rest[1]; k++) run_node(m, rest[2 + k]);
  if (ranks) memcpy(m->tops, tops, (size_t)ranks * sizeof *tops);
}

/* A task ends: its threads never act again. What is left of it in memory of others is seen by nobody until the launch
 * ends, whatever is done; so all sets of its records are empty, and no stamp is waited for. Its own memory is gone. */
static void end_task(struct machine *m) {
  for (int64_t k = 0; k < m->ranks; k++) forget_space(m, &m->spaces[m->order->array_count + k]);
  m->chosen_count = 0;
  for (int32_t s = 1; s < m->slot_count; s++) {
    if (!m->slots[s].history || m->slots[s].forward != -1) continue;
    const struct history *h = m->slots[s].history;
    int alive = 0;
    for (int32_t k = 0; k < h->count; k++)
      alive |= h->records[k].who || h->records[k].visible || h->records[k].stamps;
    if (!alive) continue;
    ROOM(m->chosen, m->chosen_room, m->chosen_count + 1);
    m->chosen[m->chosen_count++] = s;
    table_leave(m, s);
  }
  for (int64_t i = 0; i < m->chosen_count; i++) {
    const struct history *h = m->slots[m->chosen[i]].history;
    draft_clear(&m->draft);
    for (int32_t k = 0; k < h->count; k++) {
      struct record r = h->records[k];
      r.who = r.visible = 0;
      r.stamps = 0;
      draft_record(m, &m->draft, r, NULL);
    }
    draft_settle(m, &m->draft);
    slot_becomes(m, m->chosen[i], &m->draft);
  }
  queues_forget(m);
}

static void task(struct machine *m, const int64_t *node, int64_t body) {
  event(m, node);
  queues_forget(m);
  trace_event(m, node, 0);
  trace_anew(m, 0);
  for (int64_t k = 0; k < m->ranks; k++) m->tops[k] = 0;
  run_node(m, body);
  end_task(m);
  event(m, node);
  trace_event(m, node, 1);
}

static void forked(struct machine *m, const int64_t *node, int64_t count, int64_t part) {
  static const int64_t ON_CPU[] = {1u << CPU, 1, (1u << CPU) | 1u << (CPU + PAIRS), (1u << CPU) | 1u << (CPU + PAIRS)};
  event(m, node);
  trace_event(m, node, part);
  fence(m, ON_CPU, united(m, m->cpu_set, interval(m, m->cpu_top, m->cpu_top + count)));
}

/* The threads of a par loop have ended. Those of the next one may have their numbers, when no record knows of them. */
static void threads_end(struct machine *m, set gone) {
  m->chosen_count = 0;
  for (int32_t s = 1; s < m->slot_count; s++) {
    const struct history *h = m->slots[s].history;
    if (!h || m->slots[s].forward != -1) continue;
    ROOM(m->chosen, m->chosen_room, m->chosen_count + 1);
    m->chosen[m->chosen_count++] = s;
    table_leave(m, s);
  }
  for (int64_t i = 0; i < m->chosen_count; i++) {
    const struct history *h = m->slots[m->chosen[i]].history;
    draft_clear(&m->draft);
    for (int32_t k = 0; k < h->count; k++) {
      struct record r = h->records[k];
      set ended = common(m, r.who, gone);
      r.visible = without(m, r.visible, spread(m, gone, (1u << 2 * PAIRS) - 1));
      if (ended) {
        struct record of_them = r;
        of_them.who = 0;
        draft_record(m, &m->draft, of_them, stamps_in(h) + r.first_stamp);
        r.who = without(m, r.who, gone);
        if (!r.who) continue;
      }
      draft_record(m, &m->draft, r, stamps_in(h) + r.first_stamp);
    }
    draft_settle(m, &m->draft);
    slot_becomes(m, m->chosen[i], &m->draft);
  }
}

static void run_par(struct machine *m, const int64_t *node, int64_t lo, int64_t hi, int64_t var, int64_t body) {
  int64_t first = m->cpu_top, count = hi > lo ? hi - lo : 0;
  set outer = m->cpu_set;
  forked(m, node, count, 0);
  m->cpu_top = first + count;
  for (int64_t i = lo; i < hi; i++) {
    m->vars[var] = i;
    m->cpu_set = interval(m, first + i - lo, first + i - lo + 1);
    run_node(m, body);
  }
  m->cpu_set = outer;
  m->cpu_top = first;
  forked(m, node, count, 1);
  threads_end(m, interval(m, first, first + count));
}

enum { L_KIND, L_VAR, L_LO, L_HI, L_IS_TASK, L_BODY, L_PERIOD, L_CUTS, L_FIRST_CUT };

/* The first cut after an iteration, or the end of the loop. */
static int64_t next_cut(struct machine *m, const int64_t *rest, int64_t i, int64_t hi) {
  int64_t next = hi;
  for (int64_t k = 0; k < rest[L_CUTS]; k++) {
    int64_t cut = term(m, rest[L_FIRST_CUT + k]);
    if (cut > i && cut < next) next = cut;
  }
  return next;
}

static void run_for(struct machine *m, const int64_t *node) {
  const int64_t *rest = node + AT_REST;
  int64_t lo = term(m, rest[L_LO]), hi = term(m, rest[L_HI]), var = rest[L_VAR];
  if (rest[L_KIND] == F_PAR) {
    run_par(m, node, lo, hi, var, rest[L_BODY]);
    return;
  }
  struct frame *frame = m->depth < MOST_FRAMES ? &m->frames[m->depth++] : NULL;
  if (frame) *frame = (struct frame){lo, hi, lo};
  int64_t period = rest[L_PERIOD], cut = lo;
  if (period && hi - lo > 2 * period) repeating_begin(m);
  for (int64_t i = lo, begun = lo; i < hi; i++) {
    if (period && hi - lo > 2 * period) {
      if (i == cut) {
        repeating_forget(m, m->repeating);
        begun = i, cut = next_cut(m, rest, i, hi);
      }
      if ((i - begun) % period == 0 && cut - i > period) i += repeated(m, m->repeating, i, cut - i);
      if (i == hi) break;
      if (i == cut) {
        i--;
        continue;
      }
    }
    if (frame) frame->at = i;
    m->vars[var] = i;
    m->work += 4;
    if (rest[L_IS_TASK])
      task(m, node, rest[L_BODY]);
    else
      run_node(m, rest[L_BODY]);
  }
  if (period && hi - lo > 2 * period) repeating_end(m);
  if (frame) m->depth--;
}

/* Of tasks that are equal one is run, and counted as often as there are such. */
static void run_tasks(struct machine *m, const int64_t *node) {
  const int64_t *rest = node + AT_REST; /* body; variables; tasks, each with its values and count */
  struct outcome *out = m->out;
  int64_t vars = rest[1], tasks = rest[2 + vars], body = rest[0];
  const int64_t *chosen = rest + 3 + vars;
  int64_t *before = NULL, room = 0;
  struct frame *frame = m->depth < MOST_FRAMES ? &m->frames[m->depth++] : NULL;
  for (int64_t k = 0; k < tasks; k++, chosen += vars + 1) {
    if (frame) *frame = (struct frame){0, tasks, k};
    for (int64_t v = 0; v < vars; v++) m->vars[rest[2 + v]] = chosen[v];
    int64_t events = out->events, accesses = out->accesses, count = out->sighting_count, times = chosen[vars];
    ROOM(before, room, count + 1);
    for (int64_t i = 0; i < count; i++) before[i] = out->sightings[i].count;
    task(m, node, body);
    if (times == 1) continue;
    m->repeated = 1;
    out->events += (out->events - events) * (times - 1);
    out->accesses += (out->accesses - accesses) * (times - 1);
    for (int64_t i = 0; i < out->sighting_count; i++)
      out->sightings[i].count += (out->sightings[i].count - (i < count ? before[i] : 0)) * (times - 1);
  }
  free(before);
  if (frame) m->depth--;
}

static void launch(struct machine *m, const int64_t *node) {
  const int64_t *rest = node + AT_REST; /* threads of a CTA; CTAs; grain; body */
  event(m, node);
  trace_event(m, node, 0);
  trace_anew(m, 1);
  forget_everything(m);
  m->block_dim = rest[0], m->ranks = rest[1], m->grain = rest[2];
  for (int64_t k = 0; k < m->ranks; k++) m->tops[k] = 0;
  run_node(m, rest[3]);
  m->ranks = 0;
  event(m, node);
  trace_event(m, node, 1);
  trace_anew(m, 1);
  forget_everything(m);
}

static void run_node(struct machine *m, int64_t at) {
  const int64_t *node = m->code + at, *rest = node + AT_REST;
  switch (node[AT_OP]) {
    case N_ACTION: event(m, node); action(m, node); break;
    case N_CHECK: if (!term(m, rest[0])) ended_at(m, node, REFUSED); break;
    case N_APART: apart(m, node); break;
    case N_ALLOC: allocate(m, node); break;
    case N_FREE: end_array(m, node); break;
    case N_BARRIER_ALLOC: {
      event(m, node);
      set by = threads_at(m, node + AT_THREADS);
      m->current[rest[0]] = instance_of(m, (int32_t)rest[0], (int32_t)node[AT_PATH], by,
                                        m->order->barriers[3 * rest[0]]);
      break;
    }
    case N_BARRIER_FREE: event(m, node); barrier_free(m, node); break;
    case N_FENCE: { /* sides; whether threads wait for each other */
      event(m, node);
      trace_event(m, node, 0);
      set by = threads_at(m, node + AT_THREADS);
      fence(m, rest, by);
      if (rest[4]) rings_fenced(m, by);
      break;
    }
    case N_ARRIVE: event(m, node); trace_event(m, node, 0); arrive(m, node); break;
    case N_AWAIT: event(m, node); trace_event(m, node, 0); await(m, node); break;
    case N_BLOCK: run_block(m, node); break;
    case N_IF: run_node(m, term(m, node[2]) ? node[3] : node[4]); break;
    case N_FOR: run_for(m, node); break;
    case N_TASKS: run_tasks(m, node); break;
    case N_LAUNCH: launch(m, node); break;
    case N_COUNTED:
      m->out->events += node[2];
      m->out->accesses += node[3];
      m->ran += node[2];
  }
}

/* The whole of it ------------------------------------------------------------------------------------------------- */

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
  if (!setjmp(m->stop)) {
    machine_begin(m);
    trace_begin(m);
    run_node(m, order->root);
    out->status = DONE;
  }
  if (!setjmp(m->stop)) trace_end(m);
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
  free(out);
}
