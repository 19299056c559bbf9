/* Hazards
 * =======
 *
 * Hazards with one rule and the same two statements are one finding. At each event a finding counts the cells that it
 * has there, each once; its first cell is the first of the first event, in the order of the touches, of the cells of a
 * touch, and of the rules and statements at a cell. */

/* By the alphabet, which is the order of the rules at a cell: reads of the history before writes. */
enum { FREE_READ, FREE_WRITE, READ_RAW, WRITE_WAR, WRITE_WAW, AWAIT_PROGRESS, ARRIVE_OVERRUN, BARRIER_UNEQUAL };

static int64_t keep_values(struct machine *m) {
  struct outcome *out = m->out;
  int64_t at = out->value_count;
  ROOM(out->value, m->value_room, at + m->order->var_count + 1);
  memcpy(out->value + at, m->vars, (size_t)m->order->var_count * sizeof *m->vars);
  out->value_count += m->order->var_count;
  return at;
}

static struct sighting *sighted(struct machine *m, int64_t rule, int64_t where, int64_t earlier) {
  struct outcome *out = m->out;
  for (int64_t k = 0; k < out->sighting_count; k++) {
    struct sighting *s = &out->sightings[k];
    if (s->rule == rule && s->where == where && s->earlier == earlier) return s;
  }
  ROOM(out->sightings, m->sighting_room, out->sighting_count + 1);
  struct sighting *s = &out->sightings[out->sighting_count++];
  *s = (struct sighting){.rule = rule, .where = where, .earlier = earlier, .node = m->event_node, .event = m->ran - 1,
                         .array = -1, .barrier = -1};
  s->values = keep_values(m);
  return s;
}

static void queue_hazard(struct machine *m, int64_t rule, int64_t where, int32_t queue, const char *format, ...) {
  struct sighting *s = sighted(m, rule, where, -1);
  if (s->count++) return;
  const struct queue *q = &m->queues[queue];
  s->barrier = m->instances[q->instance].barriers;
  s->reverse = q->reverse;
  s->at = m->out->value_count;
  s->at_count = q->at_count;
  ROOM(m->out->value, m->value_room, m->out->value_count + q->at_count + 1);
  memcpy(m->out->value + s->at, m->at + q->at, (size_t)q->at_count * sizeof *m->at);
  m->out->value_count += q->at_count;
  va_list list;
  va_start(list, format);
  vsnprintf(s->given, sizeof s->given, format, list);
  va_end(list);
}

/* Cells ----------------------------------------------------------------------------------------------------------- */

static int rule_at(const struct access *a, const struct record *r, int frees) {
  int read = KIND(r->traits) == READ;
  return frees ? (read ? FREE_READ : FREE_WRITE) : a->kind == READ ? READ_RAW : read ? WRITE_WAR : WRITE_WAW;
}

static int64_t cell_number(struct machine *m, int32_t space, int64_t address) {
  (void)m;
  return (int64_t)space << 40 | address;
}

/* A finding of the event under way, at some touches of it. */
struct hit { int32_t rule, where, earlier, touches, last, multiple; int64_t count; };

static struct hit *hit_of(struct machine *m, int32_t rule, int32_t where, int32_t earlier) {
  struct hit *hits = (struct hit *)m->hits;
  for (int64_t k = 0; k < m->hit_count; k++)
    if (hits[k].rule == rule && hits[k].earlier == earlier) return &hits[k];
  grown(m, (void **)&m->hits, &m->hit_room, m->hit_count + 1, sizeof(struct hit));
  hits = (struct hit *)m->hits;
  hits[m->hit_count] = (struct hit){.rule = rule, .where = where, .earlier = earlier, .last = -1};
  return &hits[m->hit_count++];
}

static int64_t cell_of(struct machine *m, const struct seen *seen) {
  const struct array *a = &m->arrays[seen->array];
  int64_t number = a->shards > 1 ? seen->element / a->per_shard : 0;
  const struct shard *s = &a->shard[number];
  return cell_number(m, s->space, s->base + (seen->element - number * a->per_shard) * a->factor + seen->cell);
}

/* All that an access does not see of the history of a slot, in order; each finding once. */
static void hits_at(struct machine *m, const struct access *a, const struct seen *seen, int frees, int touch) {
  const struct history *h = m->slots[seen->slot].history;
  if (!h) return;
  for (int kind = READ; kind <= WRITE; kind++)
    for (int32_t k = 0; k < h->count; k++) { /* records are in the order of their statements */
      const struct record *r = &h->records[k];
      if (KIND(r->traits) != kind || !asks_for(a, r) || !unseen(m, r, a)) continue;
      struct hit *hit = hit_of(m, rule_at(a, r, frees), a->where, r->where);
      if (hit->last == touch + 1 && hit->touches == (int32_t)seen->slot) continue; /* counted through another record */
      if (hit->last >= 0 && hit->last != touch + 1) hit->multiple = 1;
      hit->last = touch + 1;
      hit->touches = seen->slot;
      hit->count += seen->count;
      int64_t before = m->out->sighting_count;
      struct sighting *s = sighted(m, hit->rule, a->where, r->where);
      if (m->out->sighting_count == before) continue;
      s->array = seen->array;
      s->element = seen->element;
      s->cell = cell_of(m, seen);
    }
}

static void hits_counted(struct machine *m) {
  struct hit *hits = (struct hit *)m->hits;
  for (int64_t k = 0; k < m->hit_count; k++)
    sighted(m, hits[k].rule, hits[k].where, hits[k].earlier)->count += hits[k].count;
  m->hit_count = 0;
}
