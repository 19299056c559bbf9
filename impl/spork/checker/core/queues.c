/* Queues
 * ======
 *
 * The counters of the queues of barriers (`barriers.Queue`), and who comes after which await of a ring of mbarriers
 * (`rings.Rings`). The same statement with the same threads allocates the same barriers each time; another task has
 * others, so all of them are forgotten where a task begins.
 *
 * An entry of a ring stands for entries of the machine that differ in their thread: that of t, of `who`, has `after` and
 * t itself. What concerns t alone splits it, as with records. Of several stamps of a queue the least suffices. */

static int32_t *instance_place(struct machine *m, int32_t path, set threads) {
  return &m->instance_table[mixed(mixed(5, (uint64_t)path), (uint64_t)threads) >> 13 & (QUEUE_TABLE - 1)];
}

static int32_t instance_of(struct machine *m, int32_t barriers, int32_t path, set threads, int64_t depth) {
  int32_t *place = instance_place(m, path, threads);
  for (int32_t k = *place - 1; k >= 0; k = m->instances[k].next - 1)
    if (m->instances[k].path == path && m->instances[k].threads == threads) return k;
  ROOM(m->instances, m->instance_room, m->instance_count + 1);
  m->instances[m->instance_count] = (struct instance){barriers, path, threads, depth, -1, *place};
  *place = (int32_t)++m->instance_count;
  return *place - 1;
}

static int64_t depth_of(struct machine *m, int32_t queue) { return m->instances[m->queues[queue].instance].depth; }

/* The queue that a barrier of the plan now stands for, at an index on a side. */
static int32_t queue_of(struct machine *m, int64_t barriers, const int64_t *at, int64_t count, int64_t reverse) {
  int32_t instance = m->current[barriers];
  if (instance < 0) stop_with(m, OUTSIDE);
  uint64_t hash = mixed((uint64_t)instance, (uint64_t)reverse);
  for (int64_t k = 0; k < count; k++) hash = mixed(hash, (uint64_t)at[k]);
  int32_t *place = &m->queue_table[hash >> 11 & (QUEUE_TABLE - 1)];
  for (int32_t q = *place - 1; q >= 0; q = m->queues[q].next - 1) {
    const struct queue *x = &m->queues[q];
    if (x->instance == instance && x->reverse == reverse && x->at_count == count &&
        !memcmp(m->at + x->at, at, (size_t)count * sizeof *at))
      return q;
  }
  ROOM(m->at, m->at_room, m->at_count + count + 1);
  memcpy(m->at + m->at_count, at, (size_t)count * sizeof *at);
  ROOM(m->queues, m->queue_room, m->queue_count + 1);
  struct queue *q = &m->queues[m->queue_count];
  /* its lists keep the memory that they had for another queue */
  q->instance = instance, q->reverse = (int32_t)reverse, q->at = (int32_t)m->at_count, q->at_count = (int32_t)count;
  q->next = *place, q->arrives = q->awaits = q->skipped = q->holder_count = q->lasts[0] = q->lasts[1] = 0;
  q->sibling = m->instances[instance].first_queue;
  m->instances[instance].first_queue = (int32_t)m->queue_count;
  m->at_count += count;
  *place = (int32_t)++m->queue_count;
  return (int32_t)m->queue_count - 1;
}

/* The bound that no await still to come goes below. */
static int64_t floor_of(struct machine *m, int32_t queue) {
  const struct queue *q = &m->queues[queue];
  const int64_t *given = barriers_of(m, queue);
  int64_t least = INT64_MAX;
  if (given[B_MOST] >= 0) least = q->arrives - given[B_MOST];
  if (given[B_LAG] >= 0 && q->awaits - given[B_LAG] + 1 < least) least = q->awaits - given[B_LAG] + 1;
  return least;
}

/* Rings ----------------------------------------------------------------------------------------------------------- */

static struct waited *waited_new(struct machine *m, int32_t queue, int64_t number, set who, set after) {
  ROOM(m->waited, m->waited_room, m->waited_count + 1);
  struct waited *w = &m->waited[m->waited_count++];
  w->queue = queue, w->number = number, w->who = who, w->after = after, w->stamps = 0;
  return w;
}

static void waited_stamp(struct machine *m, struct waited *w, struct stamp s) {
  int32_t i = 0;
  while (i < w->stamps && w->stamp[i].queue < s.queue) i++;
  if (i < w->stamps && w->stamp[i].queue == s.queue) {
    if (s.arrive < w->stamp[i].arrive) w->stamp[i].arrive = s.arrive;
    return;
  }
  ROOM(w->stamp, w->room, w->stamps + 1);
  memmove(w->stamp + i + 1, w->stamp + i, (size_t)(w->stamps - i) * sizeof s);
  w->stamp[i] = s;
  w->stamps++;
}

/* The entry leaves the list; its memory goes to the end of it. */
static void waited_end(struct machine *m, int64_t k) {
  struct waited gone = m->waited[k];
  m->waited[k] = m->waited[--m->waited_count];
  m->waited[m->waited_count] = gone;
}

static int same_waited(const struct waited *x, const struct waited *y) {
  if (x->queue != y->queue || x->number != y->number || x->after != y->after || x->stamps != y->stamps) return 0;
  for (int32_t k = 0; k < x->stamps; k++)
    if (x->stamp[k].queue != y->stamp[k].queue || x->stamp[k].arrive != y->stamp[k].arrive) return 0;
  return 1;
}

/* Entries that differ in their threads alone are one. */
static void waited_join(struct machine *m) {
  for (int64_t i = 0; i < m->waited_count; i++)
    for (int64_t j = i + 1; j < m->waited_count;) {
      if (!same_waited(&m->waited[i], &m->waited[j])) {
        j++;
        continue;
      }
      m->waited[i].who = united(m, m->waited[i].who, m->waited[j].who);
      waited_end(m, j);
    }
}

/* Whatever comes after the await in one of these threads: the entries of which that holds, split off where need be, are
 * given to `use`. */
typedef void waited_user(struct machine *m, int64_t k, set by);

static void each_after(struct machine *m, set by, waited_user *use) {
  int split = 0;
  for (int64_t k = 0, n = m->waited_count; k < n; k++) {
    struct waited *w = &m->waited[k];
    set mine = common(m, w->after, by) ? w->who : common(m, w->who, by);
    if (!mine) continue;
    if (mine != w->who) {
      split = 1;
      set rest = without(m, w->who, mine);
      struct waited *other = waited_new(m, w->queue, w->number, rest, w->after);
      w = &m->waited[k];
      for (int32_t i = 0; i < w->stamps; i++) waited_stamp(m, other, w->stamp[i]);
      w->who = mine;
    }
    use(m, k, by);
  }
  if (split) waited_join(m);
  m->work += m->waited_count * 4;
}

static void then_after(struct machine *m, int64_t k, set by) {
  m->waited[k].after = united(m, m->waited[k].after, by);
}

static void then_stamped(struct machine *m, int64_t k, set by) {
  (void)by;
  for (int64_t i = 0; i < m->fresh_count; i++)
    if (depth_of(m, m->fresh[i].queue) >= 0) waited_stamp(m, &m->waited[k], m->fresh[i]);
}

static void rings_fenced(struct machine *m, set by) {
  if (m->waited_count) each_after(m, by, then_after);
}

/* Threads have arrived at the queues of `m->fresh`. A queue that is no ring releases no entry. */
static void rings_arrived(struct machine *m, set by) {
  if (!m->waited_count) return;
  for (int64_t i = 0; i < m->fresh_count; i++)
    if (depth_of(m, m->fresh[i].queue) >= 0) {
      each_after(m, by, then_stamped);
      return;
    }
}

static void rings_awaited(struct machine *m, int32_t queue, int64_t number, set by, int64_t depth) {
  for (int64_t k = 0; k < m->waited_count;)
    if (m->waited[k].queue == queue && m->waited[k].number < number - 2 * depth)
      waited_end(m, k);
    else
      k++;
  waited_new(m, queue, number, by, 0);
}

static void rings_released(struct machine *m, int32_t queue, int64_t bound, set by) {
  for (int64_t k = 0; k < m->waited_count; k++) {
    struct waited *w = &m->waited[k];
    for (int32_t i = 0; i < w->stamps; i++)
      if (w->stamp[i].queue == queue && w->stamp[i].arrive < bound) then_after(m, k, by);
  }
}

/* What is wrong with an arrive by threads whose slot was used by arrive `number`: 0, or which of the three texts. */
static int rings_overrun(struct machine *m, const int32_t *queues, int64_t count, int64_t number, set by) {
  for (int64_t position = 0; position < count; position++) {
    int found = 0, known = 1;
    set after = 0;
    for (int64_t k = 0; k < m->waited_count; k++) {
      const struct waited *w = &m->waited[k];
      if (w->queue != queues[position] || w->number != number) continue;
      found = 1;
      if (!common(m, w->after, by) && !within(m, w->who, by)) known = 0;
      after = united(m, after, united(m, w->after, w->who));
    }
    if (!found) return 1;
    if (!position && !known) return 2;
    if (!within(m, by, after)) return 3;
  }
  return 0;
}

/* A task begins or ends: its barriers are others. */
static void queues_forget(struct machine *m) {
  m->instance_count = m->queue_count = m->at_count = m->waited_count = 0;
  memset(m->queue_table, 0, sizeof m->queue_table);
  memset(m->instance_table, 0, sizeof m->instance_table);
  for (int64_t k = 0; k < m->order->barrier_count; k++) m->current[k] = -1;
}
