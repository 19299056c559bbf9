/* Cells
 * =====
 *
 * An array outside of shared memory has a space of cells of its own, one for each element. Shared memory is a space for
 * each CTA of the cluster, laid out as a stack just as `addresses.SharedStacks` does, with as many cells for an element
 * as its bytes have of the grain. A window is gone through in rows of cells that follow each other, a row in runs of
 * equal numbers; nothing is asked of cells one by one that is equal for a run. */

typedef void row_user(struct machine *m, void *own, int32_t space, int32_t *cells, int64_t count, int64_t element,
                      int64_t factor);

/* How many of the first cells have the number of the first one. */
static int64_t run_length(const int32_t *cells, int64_t count) {
  const int32_t x = cells[0];
  int64_t k = 1;
  while (k < count && k < 8)
    if (cells[k++] != x) return k - 1;
  for (; k + 64 <= count; k += 64) {
    int32_t different = 0;
    for (int i = 0; i < 64; i++) different |= cells[k + i] ^ x;
    if (different) break;
  }
  while (k < count && cells[k] == x) k++;
  return k;
}

/* Elements that follow each other, in the shards that they are in. */
static void each_row(struct machine *m, const struct array *a, int64_t element, int64_t count, row_user *use, void *own) {
  if (element < 0 || element + count > a->elements) stop_with(m, OUTSIDE);
  while (count > 0) {
    int64_t number = a->shards > 1 ? element / a->per_shard : 0, at = element - number * a->per_shard;
    int64_t here = a->per_shard - at < count ? a->per_shard - at : count;
    const struct shard *s = &a->shard[number];
    int32_t *cells = m->spaces[s->space].cells + s->base + at * a->factor;
    use(m, own, s->space, cells, here * a->factor, element, a->factor);
    m->work += here * a->factor >> 2;
    element += here;
    count -= here;
  }
}

static void each_in_dims(struct machine *m, const struct array *a, int64_t first, const int64_t *dims, int64_t count,
                         row_user *use, void *own) {
  if (!count) {
    each_row(m, a, first, 1, use, own);
  } else if (count == 1 && dims[1] == 1) {
    each_row(m, a, first, dims[0], use, own);
  } else
    for (int64_t k = 0; k < dims[0]; k++) each_in_dims(m, a, first + k * dims[1], dims + 2, count - 1, use, own);
}

static int64_t term(struct machine *m, int64_t at);

/* All rows of a region, in order. */
static void each_in_region(struct machine *m, const int64_t *region, row_user *use, void *own) {
  const struct array *a = &m->arrays[region[0]];
  if (a->kept) each_in_dims(m, a, term(m, region[1]), region + 3, region[2], use, own);
}

/* What is there --------------------------------------------------------------------------------------------------- */

struct census { int32_t array; int64_t total; };

static void see_row(struct machine *m, void *own, int32_t space, int32_t *cells, int64_t count, int64_t element,
                    int64_t factor) {
  struct census *c = own;
  c->total += count;
  for (int64_t k = 0, n; k < count; k += n) {
    n = run_length(cells + k, count - k);
    int32_t from = cells[k], s = root_of(m, from);
    if (s != from) {
      m->spaces[space].touched = m->ran; /* as far as numbers go */
      for (int64_t i = 0; i < n; i++) cells[k + i] = s;
      if (s) take(m, s, n);
      drop(m, from, n);
    }
    if (m->slots[s].mark != m->epoch) {
      m->slots[s].mark = m->epoch;
      m->slots[s].place = (int32_t)m->seen_count;
      ROOM(m->seen, m->seen_room, m->seen_count + 1);
      m->seen[m->seen_count++] = (struct seen){s, c->array, 0, element + k / factor, k % factor};
    }
    m->seen[m->slots[s].place].count += n;
  }
}

/* The distinct slots of some regions in the order of the cells, in `m->seen`. */
static void census_of(struct machine *m, const int64_t *regions, int64_t count) {
  struct census c = {0, 0};
  m->seen_count = 0;
  next_epoch(m);
  for (int64_t k = 0; k < count; k++) {
    c.array = (int32_t)m->code[regions[k]];
    each_in_region(m, m->code + regions[k], see_row, &c);
  }
}

/* Changes --------------------------------------------------------------------------------------------------------- */

static void touch_space(struct machine *m, struct space *s, const int32_t *cells, int64_t count) {
  s->touched = m->ran;
  int64_t first = cells - s->cells;
  if (first < s->low) s->low = first;
  if (first + count > s->high) s->high = first + count;
}

static void fill_row(struct machine *m, void *own, int32_t space, int32_t *cells, int64_t count, int64_t element,
                     int64_t factor) {
  int32_t to = *(int32_t *)own;
  (void)element, (void)factor;
  touch_space(m, &m->spaces[space], cells, count);
  for (int64_t k = 0, n; k < count; k += n) {
    n = run_length(cells + k, count - k);
    int32_t from = cells[k];
    if (from == to) continue;
    if (to) take(m, to, n);
    for (int64_t i = 0; i < n; i++) cells[k + i] = to;
    drop(m, from, n);
  }
}

/* Each cell gets the slot that `place` of its own slot says. */
static void move_row(struct machine *m, void *own, int32_t space, int32_t *cells, int64_t count, int64_t element,
                     int64_t factor) {
  const int32_t *to_of = own;
  (void)element, (void)factor;
  touch_space(m, &m->spaces[space], cells, count);
  for (int64_t k = 0, n; k < count; k += n) {
    n = run_length(cells + k, count - k);
    int32_t from = cells[k], to = to_of[m->slots[root_of(m, from)].place];
    if (from == to) continue;
    take(m, to, n);
    for (int64_t i = 0; i < n; i++) cells[k + i] = to;
    drop(m, from, n);
  }
}

/* Spaces ---------------------------------------------------------------------------------------------------------- */

static int32_t *cells_mapped(struct machine *m, int64_t count) {
  if (!count) return NULL;
  void *made = mmap(NULL, (size_t)count * sizeof(int32_t), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) {
    m->out->wanted = count * (int64_t)sizeof(int32_t);
    stop_with(m, NO_MEMORY);
  }
  return made;
}

/* The cells are 0 again; the slots that they had are not asked. */
static void space_forget(struct space *s) {
  if (s->low < s->high) {
    int64_t bytes = (s->high - s->low) * (int64_t)sizeof(int32_t);
    if (bytes > 1 << 22)
      madvise(s->cells, (size_t)s->count * sizeof(int32_t), MADV_DONTNEED);
    else
      memset(s->cells + s->low, 0, (size_t)bytes);
  }
  s->low = INT64_MAX;
  s->high = 0;
}

static void forget_row(struct machine *m, void *own, int32_t space, int32_t *cells, int64_t count, int64_t element,
                       int64_t factor) {
  (void)own, (void)space, (void)element, (void)factor;
  for (int64_t k = 0, n; k < count; k += n) {
    n = run_length(cells + k, count - k);
    int32_t from = cells[k];
    if (!from) continue;
    memset(cells + k, 0, (size_t)n * sizeof *cells);
    drop(m, from, n);
  }
}

/* All histories are empty: a launch begins or ends. */
static void forget_everything(struct machine *m) {
  for (int64_t k = 0; k < m->space_count; k++)
    if (m->spaces[k].cells) space_forget(&m->spaces[k]);
  slots_clear(m);
}

/* The histories of some space end. */
static void forget_space(struct machine *m, struct space *s) {
  if (s->low < s->high) s->touched = m->ran;
  if (s->low < s->high) forget_row(m, NULL, 0, s->cells + s->low, s->high - s->low, 0, 1);
  s->low = INT64_MAX;
  s->high = 0;
}
