/* Periods
 * =======
 *
 * Where a loop has a period, iterations that are so many apart do the same between two cuts, to whatever the machine
 * holds at their heads. So if the machine is at the head of iteration i as it was at the head of iteration j, what came
 * between comes again, and again, and is not run but counted, as often as it has room before the next cut.
 *
 * *As it was* means: no event to come could tell. So states are compared in a form that forgets what none can tell:
 *
 * - a stamp counts from the arrives of its queue, as do the entries of rings, for an await releases by differences; and
 *   a stamp below the bounds of all awaits to come (`floor_of`) is like any other such stamp;
 * - counters are compared by their difference, and by themselves while they are so small that a bound, a lag or a depth
 *   reaches behind the beginning;
 * - which slot a cell has does not matter, only its history; in what order records and entries stand does not either.
 *
 * After repetitions were counted the counters of queues stay where they are, which by the above nothing notices; only the
 * texts of findings say numbers, and add what was left out (`skipped`).
 *
 * What a record of the last repetition stands for is its event in the last of those that were counted: in a trace the
 * events of that repetition have the iterations to which they belong then (`moved`).
 *
 * States are kept as 128 bits that depend on all of that, by two functions with nothing in common but their input.
 * Looking at a state costs about as much as its cells; no more is spent so in a loop than on its iterations. */

#define MOST_STATES 64

struct state {
  struct digest digest;
  int64_t iteration, ran, events, accesses, queues, sightings;
  int64_t *counts; /* of queues the arrives, of sightings the counts */
};

struct repeating {
  struct repeating *outer;
  struct state states[MOST_STATES];
  int64_t count, since, spent, begun;
  int32_t *still; /* slots of spaces that the loop has not touched, space after space */
  int64_t *still_first, still_room, first_room;
};

static void digested(struct digest *d, uint64_t value) {
  d->x = mixed(d->x, value);
  d->y = (d->y ^ (value + 0x9E3779B97F4A7C15u)) * 0xD6E8FEB86659FD93u;
  d->y ^= d->y >> 32;
}

static void digest_sum(struct digest *sum, struct digest part) {
  sum->x += part.x ^ part.x >> 31;
  sum->y += part.y ^ part.y >> 33;
}

static void digest_stamp(struct machine *m, struct digest *d, const struct stamp *s) {
  digested(d, (uint64_t)(uint32_t)s->queue << 32 | (uint32_t)s->warp);
  digested(d, s->arrive < floor_of(m, s->queue) ? UINT64_MAX : (uint64_t)(m->queues[s->queue].arrives - s->arrive));
}

static struct digest digest_slot(struct machine *m, int32_t slot) {
  struct slot *s = &m->slots[slot];
  if (s->digest_epoch == m->digest_epoch) return s->digest;
  struct digest sum = {1, 2};
  const struct history *h = s->history;
  for (int32_t k = 0; h && k < h->count; k++) {
    const struct record *r = &h->records[k];
    struct digest d = {3, 4};
    digested(&d, (uint64_t)(uint32_t)r->where << 32 | (uint32_t)r->traits);
    digested(&d, (uint64_t)(uint32_t)r->who << 32 | (uint32_t)r->visible);
    for (int32_t i = 0; i < r->stamps; i++) digest_stamp(m, &d, stamps_in(h) + r->first_stamp + i);
    digest_sum(&sum, d);
  }
  s->digest = sum;
  s->digest_epoch = m->digest_epoch;
  return sum;
}

/* All cells of a space that are not as at the beginning of the launch. */
static void digest_cells(struct machine *m, struct digest *d, const struct space *s) {
  int32_t last = -1;
  for (int64_t k = s->low, n; k < s->high; k += n) {
    n = run_length(s->cells + k, s->high - k);
    int32_t root = root_of(m, s->cells[k]);
    if (root == last) continue;
    struct digest content = digest_slot(m, root);
    last = root;
    digested(d, (uint64_t)k);
    digested(d, content.x);
    digested(d, content.y);
  }
  digested(d, (uint64_t)s->high);
}

static void digest_queues(struct machine *m, struct digest *d) {
  digested(d, (uint64_t)m->queue_count);
  digested(d, (uint64_t)m->instance_count);
  for (int64_t k = 0; k < m->order->barrier_count; k++) digested(d, (uint64_t)m->current[k]);
  for (int64_t k = 0; k < m->queue_count; k++) {
    const struct queue *q = &m->queues[k];
    const int64_t *given = barriers_of(m, (int32_t)k);
    int64_t small = 4;
    for (int i = B_DEPTH; i <= B_LAG; i++) small += given[i] > 0 ? given[i] : 0;
    digested(d, (uint64_t)(q->arrives - q->awaits));
    digested(d, (uint64_t)(q->arrives < small ? q->arrives : small));
    digested(d, (uint64_t)(q->awaits < small ? q->awaits : small));
  }
  struct digest sum = {5, 6};
  for (int64_t k = 0; k < m->waited_count; k++) {
    const struct waited *w = &m->waited[k];
    struct digest one = {7, 8};
    digested(&one, (uint64_t)(m->queues[w->queue].arrives - w->number));
    digested(&one, (uint64_t)(uint32_t)w->queue);
    digested(&one, (uint64_t)(uint32_t)w->who << 32 | (uint32_t)w->after);
    for (int32_t i = 0; i < w->stamps; i++) digest_stamp(m, &one, &w->stamp[i]);
    digest_sum(&sum, one);
  }
  digested(d, sum.x);
  digested(d, sum.y);
}

/* Spaces that the loop has not touched keep their cells: only the histories of their slots may have changed. The slots
 * are listed once. */
static void list_still(struct machine *m, struct repeating *r) {
  ROOM(r->still_first, r->first_room, m->space_count + 1);
  int64_t count = 0;
  for (int64_t k = 0; k < m->space_count; k++) {
    const struct space *s = &m->spaces[k];
    r->still_first[k] = count;
    next_epoch(m);
    for (int64_t i = s->low, n; s->touched <= r->since && i < s->high; i += n) {
      n = run_length(s->cells + i, s->high - i);
      int32_t slot = s->cells[i];
      if (!slot || m->slots[slot].mark == m->epoch) continue;
      m->slots[slot].mark = m->epoch;
      ROOM(r->still, r->still_room, count + 1);
      r->still[count++] = slot;
    }
  }
  r->still_first[m->space_count] = count;
}

static struct digest digest_state(struct machine *m, struct repeating *r) {
  struct digest d = {9, 10};
  m->digest_epoch++;
  if (!r->count) list_still(m, r);
  for (int64_t k = 0; k < m->space_count; k++) {
    const struct space *s = &m->spaces[k];
    digested(&d, (uint64_t)k);
    if (s->touched > r->since) {
      digest_cells(m, &d, s);
      continue;
    }
    for (int64_t i = r->still_first[k]; i < r->still_first[k + 1]; i++) {
      struct digest content = digest_slot(m, root_of(m, r->still[i]));
      digested(&d, content.x);
      digested(&d, content.y);
    }
  }
  digest_queues(m, &d);
  return d;
}

/* What looking at the state costs, in the measure of `work`. */
static int64_t state_cost(struct machine *m, const struct repeating *r) {
  int64_t cells = 0;
  for (int64_t k = 0; k < m->space_count; k++)
    if (m->spaces[k].low < m->spaces[k].high && (!r->count || m->spaces[k].touched > r->since))
      cells += m->spaces[k].high - m->spaces[k].low;
  return (cells >> 2) + 60 * m->live_slots + 40 * m->queue_count + 100;
}

static int64_t arrives_in_all(const struct queue *q) { return q->arrives + q->skipped; }

/* Count what comes again: the iterations from an earlier state to now, `times` times. */
static void repeat(struct machine *m, const struct state *s, int64_t times) {
  struct outcome *out = m->out;
  out->events += (out->events - s->events) * times;
  out->accesses += (out->accesses - s->accesses) * times;
  for (int64_t k = 0; k < m->queue_count; k++)
    m->queues[k].skipped += (arrives_in_all(&m->queues[k]) - s->counts[k]) * times;
  for (int64_t k = 0; k < out->sighting_count; k++)
    out->sightings[k].count += (out->sightings[k].count - (k < s->sightings ? s->counts[s->queues + k] : 0)) * times;
}

static void repeating_forget(struct machine *m, struct repeating *r) {
  for (int64_t k = 0; k < r->count; k++) free(r->states[k].counts);
  r->count = r->spent = 0;
  r->since = m->ran;
  r->begun = m->work;
}

/* At the head of iteration i, where `left` more are to come before the next cut: how many of them need not be run. */
static int64_t repeated(struct machine *m, struct repeating *r, int64_t var, int64_t i, int64_t left) {
  if (r->count == MOST_STATES) return 0;
  int64_t cost = state_cost(m, r);
  if (m->work - r->begun < r->spent + cost) return 0;
  r->spent += cost;
  struct outcome *out = m->out;
  struct digest digest = digest_state(m, r);
  out->snapshots++;
  for (int64_t k = r->count - 1; k >= 0; k--) {
    const struct state *s = &r->states[k];
    if (s->digest.x != digest.x || s->digest.y != digest.y) continue;
    int64_t length = i - s->iteration, times = left / length;
    repeat(m, s, times);
    if (m->target_count && times) {
      ROOM(out->moved, m->moved_room, 4 * (out->moved_count + 1));
      memcpy(out->moved + 4 * out->moved_count++, (int64_t[]){s->ran, m->ran, var, times * length}, 4 * sizeof(int64_t));
    }
    out->skipped += times * length;
    r->spent = INT64_MAX / 2; /* what is left is less than a repetition */
    return times * length;
  }
  struct state *s = &r->states[r->count];
  *s = (struct state){digest, i, m->ran, out->events, out->accesses, m->queue_count, out->sighting_count, NULL};
  s->counts = malloc((size_t)(s->queues + s->sightings + 1) * sizeof(int64_t));
  if (!s->counts) stop_with(m, NO_MEMORY);
  for (int64_t k = 0; k < s->queues; k++) s->counts[k] = arrives_in_all(&m->queues[k]);
  for (int64_t k = 0; k < s->sightings; k++) s->counts[s->queues + k] = out->sightings[k].count;
  r->count++;
  return 0;
}

static void repeating_begin(struct machine *m) {
  struct repeating *r = calloc(1, sizeof *r);
  if (!r) stop_with(m, NO_MEMORY);
  r->outer = m->repeating;
  m->repeating = r;
}

static void repeating_end(struct machine *m) {
  struct repeating *r = m->repeating;
  repeating_forget(m, r);
  m->repeating = r->outer;
  free(r->still);
  free(r->still_first);
  free(r);
}
