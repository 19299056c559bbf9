/* Interpreter
 * ===========
 *
 * The nodes of a plan, in the order of the program. What is needed of a node is encoded (`encoding.py`) as a list of
 * numbers, and places in that list are written as offsets. */

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
      if ((i - begun) % period == 0 && cut - i > period) i += repeated(m, m->repeating, var, i, cut - i);
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
  if (hi > lo) m->vars[var] = hi - 1; /* as after a loop of which no iteration was skipped */
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
  m->everybody = interval(m, 0, m->block_dim * m->ranks);
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
                                        m->order->barriers[B_SIZE * rest[0]]);
      break;
    }
    case N_BARRIER_FREE: event(m, node); trace_event(m, node, 0); barrier_free(m, node); break;
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
