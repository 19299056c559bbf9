/* Slots
 * =====
 *
 * A slot holds a history that some cells have; a cell holds the number of a slot. A synchronization changes slots and no
 * cells, at a cost that the number of cells does not enter. Slot 0 is the history without records, which nothing
 * changes. Slots with equal histories become one: the other one is forwarded to it, which the cells learn of when they
 * are looked at the next time. A slot is free for another history when no cell and no forwarded slot has its number.
 *
 * What a synchronization by the threads C concerns has a thread of C in a set V_A (or among `who`), or a stamp of the
 * queue. So slots are in lists by the threads that they have there: those of one thread, of one warp, of one warpgroup,
 * and the others; and each queue has a list of the slots with its stamps. What stands in no list that is gone through
 * has nothing that could be concerned.
 *
 * A change may not be done twice to the same history: a slot that is still to be changed is no slot that others become
 * one with. So all of them are taken out of the table of histories before the first is changed (`synchronize`). */

#define LISTS 3
static const int LEVEL[LISTS] = {0, 5, 7};

static void slot_end(struct machine *m, int32_t s);

/* The slot that a number leads to. On the way every number that is passed is led one step further. */
static int32_t root_of(struct machine *m, int32_t s) {
  for (;;) {
    int32_t next = m->slots[s].forward;
    if (next < 0) return s;
    int32_t further = m->slots[next].forward;
    if (further < 0) return next;
    m->slots[s].forward = further;
    if (further) m->slots[further].refs++;
    if (!--m->slots[next].refs) slot_end(m, next);
    s = further;
  }
}

/* Lists by threads ------------------------------------------------------------------------------------------------ */

static int32_t list_number(struct machine *m, int level, int64_t at) {
  int64_t number = 1 + (at * LISTS + level);
  ROOM(m->heads, m->head_count, number + 1);
  return (int32_t)number;
}

/* The list of a history; -1 where it has no thread that could act. */
static int32_t list_for(struct machine *m, const struct history *h) {
  int32_t lo = INT32_MAX, hi = INT32_MIN;
  for (int32_t k = 0; k < h->count; k++)
    for (int part = 0; part < 2; part++) {
      set x = part ? h->records[k].visible : h->records[k].who;
      int64_t n = piece_count(m, x);
      if (!n) continue;
      const struct piece *p = pieces_of(m, x);
      if (p[0].lo < lo) lo = p[0].lo;
      if (p[n - 1].hi - 1 > hi) hi = p[n - 1].hi - 1;
    }
  if (lo > hi) return -1;
  for (int level = 0; level < LISTS; level++)
    if (lo >> LEVEL[level] == hi >> LEVEL[level]) return list_number(m, level, lo >> LEVEL[level]);
  return 0;
}

static void list_leave(struct machine *m, int32_t s) {
  struct slot *x = &m->slots[s];
  if (x->list < 0) return;
  if (x->before)
    m->slots[x->before].after = x->after;
  else
    m->heads[x->list] = x->after;
  if (x->after) m->slots[x->after].before = x->before;
  x->list = -1;
}

static void list_enter(struct machine *m, int32_t s) {
  int32_t list = list_for(m, m->slots[s].history);
  struct slot *x = &m->slots[s];
  x->list = list;
  if (list < 0) return;
  x->before = 0;
  x->after = m->heads[list];
  if (x->after) m->slots[x->after].before = s;
  m->heads[list] = s;
}

/* Lists by queues ------------------------------------------------------------------------------------------------- */

static int holds(struct machine *m, int32_t s, int32_t queue) {
  const struct history *h = m->slots[s].history;
  if (!h || m->slots[s].forward >= 0) return 0;
  const struct stamp *stamps = stamps_in(h);
  for (int32_t k = 0; k < h->stamp_count; k++)
    if (stamps[k].queue == queue) return 1;
  return 0;
}

static void next_epoch(struct machine *m) {
  if (++m->epoch == INT32_MAX) {
    for (int64_t s = 0; s < m->slot_count; s++) m->slots[s].mark = 0;
    m->epoch = 1;
  }
}

/* The slots that hold a stamp of the queue, each once; what no longer does leaves the list. */
static void holders_tidy(struct machine *m, int32_t queue) {
  struct queue *q = &m->queues[queue];
  int64_t kept = 0;
  m->tidied++;
  for (int64_t k = 0; k < q->holder_count; k++) {
    int32_t s = q->holders[k];
    if (m->slots[s].tidied == m->tidied || !holds(m, s, queue)) continue;
    m->slots[s].tidied = m->tidied;
    q->holders[kept++] = s;
  }
  q->holder_count = kept;
}

static void holders_enter(struct machine *m, int32_t s) {
  const struct history *h = m->slots[s].history;
  const struct stamp *stamps = stamps_in(h);
  for (int32_t k = 0; k < h->stamp_count; k++) {
    struct queue *q = &m->queues[stamps[k].queue];
    if (q->holder_count && q->holders[q->holder_count - 1] == s) continue;
    if (q->holder_count > q->holder_limit) {
      holders_tidy(m, stamps[k].queue);
      q->holder_limit = 2 * q->holder_count + 64;
    }
    ROOM(q->holders, q->holder_room, q->holder_count + 1);
    q->holders[q->holder_count++] = s;
  }
}

/* The table of histories ------------------------------------------------------------------------------------------ */

static uint64_t hash_draft(const struct draft *d) {
  uint64_t hash = 11;
  for (int64_t k = 0; k < d->count; k++) {
    const struct record *r = &d->records[k];
    hash = mixed(hash, (uint64_t)(uint32_t)r->where << 32 | (uint32_t)r->traits);
    hash = mixed(hash, (uint64_t)(uint32_t)r->who << 32 | (uint32_t)r->visible);
    for (int32_t i = 0; i < r->stamps; i++) {
      const struct stamp *s = d->stamps + r->first_stamp + i;
      hash = mixed(hash, (uint64_t)(uint32_t)s->queue << 32 | (uint32_t)s->warp);
      hash = mixed(hash, (uint64_t)s->arrive);
    }
  }
  return hash;
}

static int same_history(const struct history *h, const struct draft *d, uint64_t hash) {
  if (h->hash != hash || h->count != d->count) return 0;
  for (int32_t k = 0; k < h->count; k++) {
    const struct record *x = &h->records[k], *y = &d->records[k];
    if (x->where != y->where || x->traits != y->traits || x->who != y->who || x->visible != y->visible) return 0;
    if (x->stamps != y->stamps) return 0;
    const struct stamp *a = stamps_in(h) + x->first_stamp, *b = d->stamps + y->first_stamp;
    for (int32_t i = 0; i < x->stamps; i++)
      if (a[i].queue != b[i].queue || a[i].warp != b[i].warp || a[i].arrive != b[i].arrive) return 0;
  }
  return 1;
}

static int32_t *table_place(struct machine *m, uint64_t hash) {
  return &m->slot_table[(hash >> 7) & (uint64_t)(m->slot_table_size - 1)];
}

static void table_enter(struct machine *m, int32_t s) {
  int32_t *place = table_place(m, m->slots[s].history->hash);
  m->slots[s].next_equal = *place;
  *place = s;
}

static void table_leave(struct machine *m, int32_t s) {
  int32_t *place = table_place(m, m->slots[s].history->hash);
  while (*place != s) place = &m->slots[*place].next_equal;
  *place = m->slots[s].next_equal;
}

static int32_t table_find(struct machine *m, const struct draft *d, uint64_t hash) {
  int32_t s = *table_place(m, hash);
  while (s && !same_history(m->slots[s].history, d, hash)) s = m->slots[s].next_equal;
  return s;
}

static void table_grow(struct machine *m) {
  if (m->live_slots < m->slot_table_size) return;
  int64_t room = m->slot_table_size;
  ROOM(m->slot_table, room, 4 * m->slot_table_size);
  m->slot_table_size = room;
  memset(m->slot_table, 0, (size_t)room * sizeof *m->slot_table);
  for (int32_t s = 1; s < m->slot_count; s++)
    if (m->slots[s].history && m->slots[s].forward < 0) table_enter(m, s);
}

/* Life and death -------------------------------------------------------------------------------------------------- */

static struct history *history_of(struct machine *m, const struct draft *d, uint64_t hash) {
  int64_t stamps = 0;
  for (int64_t k = 0; k < d->count; k++) stamps += d->records[k].stamps;
  size_t bytes = sizeof(struct history) + (size_t)d->count * sizeof(struct record) + (size_t)stamps * sizeof(struct stamp);
  struct history *h = malloc(bytes);
  m->bytes += (int64_t)bytes;
  if (!h || (m->order->budget && m->bytes > m->order->budget)) {
    m->out->wanted = m->bytes;
    free(h);
    stop_with(m, NO_MEMORY);
  }
  h->hash = hash;
  h->count = (int32_t)d->count;
  h->stamp_count = (int32_t)stamps;
  struct stamp *own = (struct stamp *)(h->records + h->count);
  int32_t at = 0;
  for (int32_t k = 0; k < h->count; k++) {
    h->records[k] = d->records[k];
    memcpy(own + at, d->stamps + d->records[k].first_stamp, (size_t)d->records[k].stamps * sizeof *own);
    h->records[k].first_stamp = at;
    at += d->records[k].stamps;
  }
  return h;
}

static void history_end(struct machine *m, struct history *h) {
  m->bytes -= (int64_t)(sizeof *h + (size_t)h->count * sizeof(struct record) + (size_t)h->stamp_count * sizeof(struct stamp));
  free(h);
}

/* Nothing has this number any more, it holds a history or is forwarded. */
static void slot_end(struct machine *m, int32_t s) {
  while (s) {
    struct slot *x = &m->slots[s];
    int32_t to = x->forward;
    if (x->history) {
      table_leave(m, s);
      list_leave(m, s);
      history_end(m, x->history);
      x->history = NULL;
      m->live_slots--;
    }
    x->forward = -2; /* free */
    x->next_equal = m->free_slot;
    m->free_slot = s;
    if (to <= 0 || --m->slots[to].refs) return;
    s = to;
  }
}

static void drop(struct machine *m, int32_t s, int64_t cells) {
  if (!s) return;
  int32_t root = root_of(m, s);
  m->slots[root].cells -= cells;
  if (!(m->slots[s].refs -= cells)) slot_end(m, s);
}

static void take(struct machine *m, int32_t root, int64_t cells) {
  m->slots[root].cells += cells;
  m->slots[root].refs += cells;
}

/* The slot with the history of a settled draft. A new one belongs to nobody as yet: the caller gives it cells. */
static int32_t slot_for(struct machine *m, const struct draft *d) {
  if (!d->count) return 0;
  uint64_t hash = hash_draft(d);
  int32_t s = table_find(m, d, hash);
  if (s) return s;
  table_grow(m);
  if (m->free_slot) {
    s = m->free_slot;
    m->free_slot = m->slots[s].next_equal;
  } else {
    ROOM(m->slots, m->slot_room, m->slot_count + 1);
    s = (int32_t)m->slot_count++;
  }
  struct slot *x = &m->slots[s];
  *x = (struct slot){.forward = -1, .list = -1, .mark = x->mark, .tidied = x->tidied, .history = history_of(m, d, hash)};
  m->live_slots++;
  table_enter(m, s);
  list_enter(m, s);
  holders_enter(m, s);
  return s;
}

/* Give a slot that is out of the table the history of a settled draft; it may become one with another. */
static void slot_becomes(struct machine *m, int32_t s, const struct draft *d) {
  struct slot *x = &m->slots[s];
  uint64_t hash = hash_draft(d);
  if (same_history(x->history, d, hash)) {
    table_enter(m, s);
    return;
  }
  int32_t other = d->count ? table_find(m, d, hash) : 0;
  list_leave(m, s);
  history_end(m, x->history);
  x->history = NULL;
  if (other || !d->count) {
    x->forward = other;
    m->live_slots--;
    if (other) {
      m->slots[other].refs++;
      m->slots[other].cells += x->cells;
    }
    return;
  }
  x->history = history_of(m, d, hash);
  table_enter(m, s);
  list_enter(m, s);
  holders_enter(m, s);
}

static void slot_change(struct machine *m, int32_t s, const struct draft *d) {
  table_leave(m, s);
  slot_becomes(m, s, d);
}

/* Synchronization ------------------------------------------------------------------------------------------------- */

static void choose(struct machine *m, int32_t s, const struct sync *sync) {
  if (!history_concerned(m, m->slots[s].history, sync)) return;
  ROOM(m->chosen, m->chosen_room, m->chosen_count + 1);
  m->chosen[m->chosen_count++] = s;
}

static void choose_list(struct machine *m, int64_t list, const struct sync *sync) {
  if (list >= m->head_count) return;
  for (int32_t s = m->heads[list]; s; s = m->slots[s].after) choose(m, s, sync);
}

/* How many threads a set has. */
static int64_t set_size(struct machine *m, set x) {
  int64_t size = 0;
  for (int64_t k = 0; k < piece_count(m, x); k++) size += pieces_of(m, x)[k].hi - pieces_of(m, x)[k].lo;
  return size;
}

static void synchronize(struct machine *m, const struct sync *sync) {
  m->chosen_count = 0;
  if (!sync->waits && set_size(m, sync->threads) > m->slot_count) { /* more lists than slots */
    for (int32_t s = 1; s < m->slot_count; s++)
      if (m->slots[s].history && m->slots[s].forward < 0) choose(m, s, sync);
  } else if (sync->waits) {
    holders_tidy(m, sync->queue);
    for (int64_t k = 0; k < m->queues[sync->queue].holder_count; k++)
      choose(m, m->queues[sync->queue].holders[k], sync);
  } else {
    choose_list(m, 0, sync);
    for (int level = 0; level < LISTS; level++)
      for (int64_t k = 0, last = -1; k < piece_count(m, sync->threads); k++) {
        struct piece p = pieces_of(m, sync->threads)[k];
        int64_t at = p.lo >> LEVEL[level], end = (p.hi - 1) >> LEVEL[level];
        for (at = at > last ? at : last + 1; at <= end; at++) choose_list(m, 1 + (at * LISTS + level), sync);
        last = end > last ? end : last;
      }
  }
  for (int64_t k = 0; k < m->chosen_count; k++) table_leave(m, m->chosen[k]);
  for (int64_t k = 0; k < m->chosen_count; k++) {
    draft_clear(&m->draft);
    draft_synchronized(m, &m->draft, m->slots[m->chosen[k]].history, sync);
    draft_settle(m, &m->draft);
    slot_becomes(m, m->chosen[k], &m->draft);
  }
  m->work += 40 + 100 * m->chosen_count;
}

/* All slots end, for all cells are 0 again. */
static void slots_clear(struct machine *m) {
  for (int32_t s = 1; s < m->slot_count; s++)
    if (m->slots[s].history) history_end(m, m->slots[s].history);
  for (int64_t q = 0; q < m->queue_count; q++) m->queues[q].holder_count = 0;
  memset(m->slot_table, 0, (size_t)m->slot_table_size * sizeof *m->slot_table);
  if (m->head_count) memset(m->heads, 0, (size_t)m->head_count * sizeof *m->heads);
  m->slot_count = 1;
  m->free_slot = 0;
  m->live_slots = 0;
}
