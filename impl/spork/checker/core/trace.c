/* Trace
 * =====
 *
 * The second pass is the run again, with a list of the events that concern one cell, or several: those that touch it,
 * with the touches that do, and all that synchronizes. What was before the last plain write of the cell, or before its
 * memory began or the launch, left nothing in its history and is dropped, but for its allocation. The run itself is not
 * changed by it, so what was skipped the first time is skipped again. */

/* An entry of the list, of a target or, with -1, of all. */
static int64_t logged(struct machine *m, const int64_t *node, int64_t part, int64_t target) {
  struct outcome *out = m->out;
  int64_t vars = m->order->var_count, at = out->logged_count++;
  ROOM(out->logged, m->logged_room, at + 1);
  ROOM(out->logged_values, m->logged_value_room, (at + 1) * vars + 1);
  out->logged[at] = (struct logged){node[AT_NODE], part, m->ran - 1, target, out->touched_count, 0};
  memcpy(out->logged_values + at * vars, m->vars, (size_t)vars * sizeof *m->vars);
  return at;
}

/* The list without what no target needs any more, when it has become twice as long. */
static void trace_tidy(struct machine *m) {
  struct outcome *out = m->out;
  if (out->logged_count < m->tidy_logged) return;
  int64_t first = out->logged_count, vars = m->order->var_count;
  for (int64_t k = 0; k < m->target_count; k++)
    if (m->targets[k].start < first) first = m->targets[k].start;
  if (first) {
    out->logged_count -= first;
    memmove(out->logged, out->logged + first, (size_t)out->logged_count * sizeof *out->logged);
    memmove(out->logged_values, out->logged_values + first * vars,
            (size_t)(out->logged_count * vars) * sizeof *out->logged_values);
    for (int64_t k = 0; k < m->target_count; k++) m->targets[k].start -= first, m->targets[k].end -= first;
  }
  m->tidy_logged = 2 * out->logged_count + 4096;
}

static void words(struct machine *m, int64_t *at, const int64_t *values, int64_t count) {
  ROOM(m->out->before, m->before_room, *at + count);
  memcpy(m->out->before + *at, values, (size_t)count * sizeof *values);
  *at += count;
}

/* How many of the last arrives and awaits of a queue are told. A run that begins with them has the counters less some
 * number, the same for both; an await that comes soon may still look back at as many arrives as its lag says. Awaits of
 * a commit group set the counter and need none before them: of these some are told. */
static void trace_lasts(struct machine *m, int32_t queue, int64_t told[2]) {
  const struct queue *q = &m->queues[queue];
  int64_t least = q->arrives < q->awaits ? q->arrives : q->awaits;
  int64_t less = least > LOOK_BACK ? least - LOOK_BACK : 0;
  int is_group = barriers_of(m, queue)[B_MOST] >= 0;
  if (less < q->arrives - q->lasts[0]) less = q->arrives - q->lasts[0];
  if (!is_group && less < q->awaits - q->lasts[1]) less = q->awaits - q->lasts[1];
  told[0] = less < q->arrives ? q->arrives - less : 0;
  told[1] = less < q->awaits ? q->awaits - less : 0;
  if (is_group) told[1] = q->lasts[1] < LOOK_BACK ? q->lasts[1] : LOOK_BACK;
}

/* The counters of all queues as they are before the event under way, and the last arrives and awaits there. */
static void trace_starts(struct machine *m, struct target *t, int64_t entry) {
  t->start = entry;
  int64_t at = 0;
  int64_t *keep = m->out->before;
  int64_t room = m->before_room;
  m->out->before = t->list, m->before_room = t->room;
  words(m, &at, &m->queue_count, 1);
  for (int64_t k = 0; k < m->queue_count; k++) {
    const struct queue *q = &m->queues[k];
    int64_t told[2], size = 2 + m->order->var_count;
    trace_lasts(m, (int32_t)k, told);
    int64_t given[] = {m->instances[q->instance].barriers, q->reverse, q->arrives + q->skipped, q->awaits + q->skipped,
                       q->at_count, told[0] + told[1]};
    words(m, &at, given, 6);
    words(m, &at, m->at + q->at, q->at_count);
    for (int which = 0; which < 2; which++)
      for (int64_t i = q->lasts[which] - told[which]; i < q->lasts[which]; i++)
        words(m, &at, q->last[which] + i * size, size);
  }
  t->list = m->out->before, t->room = m->before_room, t->length = at;
  m->out->before = keep, m->before_room = room;
}

/* An arrive (0) or an await (1) at a queue, among the last ones. */
static void trace_counts(struct machine *m, int32_t queue, int which) {
  if (!m->target_count) return;
  struct queue *q = &m->queues[queue];
  int64_t size = 2 + m->order->var_count;
  if (q->lasts[which] == 2 * MOST_LAST) {
    memmove(q->last[which], q->last[which] + MOST_LAST * size, (size_t)(MOST_LAST * size) * sizeof(int64_t));
    q->lasts[which] = MOST_LAST;
  }
  ROOM(q->last[which], q->last_room[which], (q->lasts[which] + 1) * size);
  int64_t *entry = q->last[which] + q->lasts[which]++ * size;
  entry[0] = m->event_node, entry[1] = m->ran - 1;
  memcpy(entry + 2, m->vars, (size_t)m->order->var_count * sizeof *m->vars);
}

/* The target's event has come: nothing further is asked for it. */
static void trace_met(struct machine *m, struct target *t) {
  t->end = m->out->logged_count;
  if (!--m->targets_left) stop_with(m, FOUND);
}

/* Something that synchronizes, or a launch or task that begins or ends. A target without a cell is an event at a queue,
 * of which the counters before it are asked, and the last arrives and awaits. */
static void trace_event(struct machine *m, const int64_t *node, int64_t part) {
  if (!m->target_count) return;
  trace_tidy(m);
  int64_t entry = logged(m, node, part, -1);
  for (int64_t k = 0; k < m->target_count; k++) {
    struct target *t = &m->targets[k];
    if (t->end >= 0 || t->cell >= 0 || t->event != m->ran - 1) continue;
    trace_starts(m, t, entry);
    trace_met(m, t);
  }
}

static int is_shared_cell(struct machine *m, int64_t cell) { return cell >> 40 >= m->order->array_count; }

/* Memory begins anew with the last entry: all of it, or the shared memory of a task. */
static void trace_anew(struct machine *m, int all) {
  for (int64_t k = 0; k < m->target_count; k++)
    if (m->targets[k].end < 0 && (all || is_shared_cell(m, m->targets[k].cell)))
      trace_starts(m, &m->targets[k], m->out->logged_count - 1);
}

/* A shard begins or ends; where it has a cell of its own each time, that is a new one. */
static void trace_shard(struct machine *m, const int64_t *node, const struct array *a, int64_t number, int begins) {
  if (!m->target_count || !a->kept) return;
  const struct shard *s = &a->shard[number];
  trace_tidy(m);
  for (int64_t k = 0; k < m->target_count; k++) {
    struct target *t = &m->targets[k];
    int64_t at = t->cell - cell_number(m, s->space, s->base);
    if (t->end >= 0 || at < 0 || at >= a->per_shard * a->factor) continue;
    int64_t entry = logged(m, node, number, k);
    if (begins) {
      ROOM(t->life, t->life_room, 3 + m->order->var_count);
      t->life[0] = node[AT_NODE], t->life[1] = number, t->life[2] = m->ran - 1;
      memcpy(t->life + 3, m->vars, (size_t)m->order->var_count * sizeof *m->vars);
    }
    if (m->ran - 1 == t->event)
      trace_met(m, t);
    else if (begins && !a->is_shared)
      trace_starts(m, t, entry);
  }
}

struct tracing { int64_t target, touch; };

static void trace_block(struct machine *m, void *own, const struct block *b) {
  const struct tracing *t = own;
  int64_t at = m->targets[t->target].cell - cell_number(m, b->space, b->cells - m->spaces[b->space].cells);
  int64_t row = at < 0 || b->rows == 1 ? 0 : at / b->stride;
  if (at < 0 || row >= b->rows || (at -= row * b->stride) >= b->count) return;
  struct outcome *out = m->out;
  ROOM(out->touched, m->touched_room, out->touched_count + 2);
  out->touched[out->touched_count++] = t->touch;
  out->touched[out->touched_count++] = b->element + row * b->step + at / b->factor;
  m->logged_touches++;
}

/* An action, at the targets whose cell it touches. */
static void trace_action(struct machine *m, const int64_t *node, const int64_t *touches, int64_t count) {
  if (!m->target_count) return;
  trace_tidy(m);
  int64_t work = m->work; /* by which loops decide when to look at the state, as they did the first time */
  for (int64_t k = 0; k < m->target_count; k++) {
    struct target *t = &m->targets[k];
    if (t->end >= 0) continue;
    int64_t first = m->out->touched_count;
    int writes = 0;
    m->logged_touches = 0;
    for (int64_t i = 0; i < count; i++) {
      const int64_t *touch = m->code + touches[i];
      struct tracing tracing = {k, i};
      int64_t before = m->logged_touches;
      for (int64_t r = 0; r < touch[T_REGIONS]; r++)
        each_in_region(m, m->code + touch[T_FIRST_REGION + r], trace_block, &tracing);
      writes |= m->logged_touches > before && touch[T_KIND] == 1;
    }
    if (!m->logged_touches) continue;
    int64_t entry = logged(m, node, 0, k);
    m->out->logged[entry].touches = first;
    m->out->logged[entry].touch_count = m->logged_touches;
    if (m->ran - 1 == t->event)
      trace_met(m, t);
    else if (writes)
      trace_starts(m, t, entry);
  }
  m->work = work;
}

static void trace_begin(struct machine *m) {
  int64_t room = 0;
  ROOM(m->targets, room, m->order->target_count + 1);
  m->targets_left = m->order->target_count;
  for (int64_t k = 0; k < m->targets_left; k++) {
    m->targets[k] = (struct target){.event = m->order->targets[2 * k], .cell = m->order->targets[2 * k + 1], .end = -1};
    m->target_count = k + 1;
  }
}

/* The lists of the targets one after another: of each how long it is, where its events begin and end, its allocation if
 * there is one, and its queues. */
static void trace_end(struct machine *m) {
  int64_t at = 0;
  for (int64_t k = 0; k < m->target_count; k++) {
    struct target *t = &m->targets[k];
    int64_t given[] = {t->length, t->start, t->end, t->life ? 3 + m->order->var_count : 0};
    words(m, &at, given, 4);
    words(m, &at, t->life, given[3]);
    words(m, &at, t->list, t->length);
    free(t->list);
    free(t->life);
  }
  free(m->targets);
}
