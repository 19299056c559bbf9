/* Cells
 * =====
 *
 * An array outside of shared memory has a space of cells of its own, one for each element. Shared memory is a space for
 * each CTA of the cluster, laid out as a stack just as `addresses.SharedStacks` does, with as many cells for an element
 * as its bytes have of the grain. A window is gone through in rows of cells that follow each other, a row in runs of
 * equal numbers; nothing is asked of cells one by one that is equal for a run. */

/* Rows of cells: `rows` of them, each `stride` cells after the one before, with `count` cells. The first one is that of
 * an element; each row is `step` elements after the one before. */
struct block {
  int32_t *cells;
  int64_t rows, stride, count, element, step, factor;
  int32_t space;
};

typedef void block_user(struct machine *m, void *own, const struct block *b);

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

/* How many of the first rows have the number of the first cell and no other. */
static int64_t rows_alike(const int32_t *cells, int64_t rows, int64_t stride, int64_t count) {
  const int32_t x = cells[0];
  int64_t r = 0;
  if (count == 1)
    for (; r < rows && cells[r * stride] == x; r++) continue;
  else if (count == 16)
    for (; r < rows; r++) {
      int32_t different = 0;
      for (int i = 0; i < 16; i++) different |= cells[r * stride + i] ^ x;
      if (different) break;
    }
  else
    for (; r < rows && cells[r * stride] == x && run_length(cells + r * stride, count) == count; r++) continue;
  return r;
}

/* A part of a block with one number in all of its cells: whole rows, or a part of one. */
struct run { int32_t *cells; int64_t rows, stride, count, element, cell; };

/* The first run of what is left of a block from a row and a cell on, which go on to what follows it. */
static int next_run(const struct block *b, int64_t *row, int64_t *at, struct run *made) {
  if (*row == b->rows) return 0;
  int32_t *cells = b->cells + *row * b->stride;
  *made = (struct run){cells + *at, 1, b->stride, b->count, b->element + *row * b->step + *at / b->factor, *at % b->factor};
  if (!*at) {
    made->rows = rows_alike(cells, b->rows - *row, b->stride, b->count);
    *row += made->rows;
    if (made->rows) return 1;
    made->rows = 1;
  }
  made->count = run_length(cells + *at, b->count - *at);
  *at += made->count;
  if (*at == b->count) *at = 0, ++*row;
  return 1;
}

static void run_fill(const struct run *r, int32_t to) {
  for (int64_t i = 0; i < r->rows; i++)
    for (int64_t k = 0; k < r->count; k++) r->cells[i * r->stride + k] = to;
}

/* A block in the shards that it is in. */
static void each_block(struct machine *m, const struct array *a, int64_t element, int64_t rows, int64_t step,
                       int64_t count, block_user *use, void *own) {
  if (!rows || !count) return;
  int64_t end = element + (rows - 1) * step + count, number = a->shards > 1 ? element / a->per_shard : 0;
  if (element < 0 || end > a->elements || step < 0) stop_with(m, OUTSIDE);
  if (end > (number + 1) * a->per_shard) {
    if (rows > 1) {
      for (int64_t r = 0; r < rows; r++) each_block(m, a, element + r * step, 1, 1, count, use, own);
      return;
    }
    int64_t here = (number + 1) * a->per_shard - element;
    each_block(m, a, element, 1, 1, here, use, own);
    each_block(m, a, element + here, 1, 1, count - here, use, own);
    return;
  }
  const struct shard *s = &a->shard[number];
  int32_t *cells = m->spaces[s->space].cells + s->base + (element - number * a->per_shard) * a->factor;
  struct block b = {cells, rows, step * a->factor, count * a->factor, element, step, a->factor, s->space};
  use(m, own, &b);
  m->work += 2 * rows + (rows * b.count >> 2);
}

static void each_in_dims(struct machine *m, const struct array *a, int64_t first, const int64_t *dims, int64_t count,
                         block_user *use, void *own) {
  if (!count)
    each_block(m, a, first, 1, 1, 1, use, own);
  else if (count == 1 && dims[1] == 1)
    each_block(m, a, first, 1, 1, dims[0], use, own);
  else if (count == 1 && dims[1] >= 0)
    each_block(m, a, first, dims[0], dims[1], 1, use, own);
  else if (count == 2 && dims[3] == 1 && dims[1] >= 0)
    each_block(m, a, first, dims[0], dims[1], dims[2], use, own);
  else
    for (int64_t k = 0; k < dims[0]; k++) each_in_dims(m, a, first + k * dims[1], dims + 2, count - 1, use, own);
}

static int64_t term(struct machine *m, int64_t at);

/* All rows of a region, in order. */
static void each_in_region(struct machine *m, const int64_t *region, block_user *use, void *own) {
  const struct array *a = &m->arrays[region[0]];
  if (a->kept) each_in_dims(m, a, term(m, region[1]), region + 3, region[2], use, own);
}

/* What is there --------------------------------------------------------------------------------------------------- */

struct census { int32_t array; };

static void see(struct machine *m, void *own, const struct block *b) {
  struct census *c = own;
  struct run run;
  for (int64_t row = 0, at = 0; next_run(b, &row, &at, &run);) {
    int64_t n = run.rows * run.count;
    int32_t from = *run.cells, s = root_of(m, from);
    if (s != from) {
      m->spaces[b->space].touched = m->ran; /* as far as numbers go */
      run_fill(&run, s);
      if (s) take(m, s, n);
      drop(m, from, n);
    }
    if (m->slots[s].mark != m->epoch) {
      m->slots[s].mark = m->epoch;
      m->slots[s].place = (int32_t)m->seen_count;
      ROOM(m->seen, m->seen_room, m->seen_count + 1);
      m->seen[m->seen_count++] = (struct seen){s, c->array, 0, run.element, run.cell};
    }
    m->seen[m->slots[s].place].count += n;
  }
}

/* The distinct slots of some regions in the order of the cells, at the end of `m->seen`. */
static void census_of(struct machine *m, const int64_t *regions, int64_t count) {
  struct census c = {0};
  next_epoch(m);
  for (int64_t k = 0; k < count; k++) {
    c.array = (int32_t)m->code[regions[k]];
    each_in_region(m, m->code + regions[k], see, &c);
  }
}

/* Changes --------------------------------------------------------------------------------------------------------- */

static void touch_space(struct machine *m, const struct block *b) {
  struct space *s = &m->spaces[b->space];
  int64_t first = b->cells - s->cells, end = first + (b->rows - 1) * b->stride + b->count;
  s->touched = m->ran;
  if (first < s->low) s->low = first;
  if (end > s->high) s->high = end;
}

/* All cells get one slot. */
static void fill(struct machine *m, void *own, const struct block *b) {
  int32_t to = *(int32_t *)own;
  struct run run;
  touch_space(m, b);
  for (int64_t row = 0, at = 0; next_run(b, &row, &at, &run);) {
    int32_t from = *run.cells;
    if (from == to) continue;
    if (to) take(m, to, run.rows * run.count);
    run_fill(&run, to);
    drop(m, from, run.rows * run.count);
  }
}

/* Each cell gets the slot that `place` of its own slot says. */
static void move(struct machine *m, void *own, const struct block *b) {
  const int32_t *to_of = own;
  struct run run;
  touch_space(m, b);
  for (int64_t row = 0, at = 0; next_run(b, &row, &at, &run);) {
    int32_t from = *run.cells, to = to_of[m->slots[root_of(m, from)].place];
    if (from == to) continue;
    take(m, to, run.rows * run.count);
    run_fill(&run, to);
    drop(m, from, run.rows * run.count);
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

/* All histories are empty: a launch begins or ends. */
static void forget_everything(struct machine *m) {
  for (int64_t k = 0; k < m->space_count; k++)
    if (m->spaces[k].cells) space_forget(&m->spaces[k]);
  slots_clear(m);
}

/* The histories of some space end. */
static void forget_space(struct machine *m, struct space *s) {
  if (s->low < s->high) s->touched = m->ran;
  for (int64_t k = s->low, n; k < s->high; k += n) {
    n = run_length(s->cells + k, s->high - k);
    int32_t from = s->cells[k];
    if (!from) continue;
    memset(s->cells + k, 0, (size_t)n * sizeof *s->cells);
    drop(m, from, n);
  }
  s->low = INT64_MAX;
  s->high = 0;
}
