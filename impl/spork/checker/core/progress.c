/* Progress
 * ========
 *
 * Each event is counted here, by its number in what is run (`ran`) and in the whole run. Now and then Python is asked
 * whether to go on: by `work`, a measure of what was done that does not depend on time, so that a run is the same each
 * time. */

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
