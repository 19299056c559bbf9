/* Sets
 * ====
 *
 * A set of threads is a list of intervals of linear indices; a visibility set has a mask for each interval, of the nine
 * pairs of V_A (bits 0 to 8) and of V_S (bits 9 to 17). A set of threads is the same with 1 for a mask. Intervals are
 * disjoint and ascend, neighbours that touch differ in their masks, and no mask is 0: so equal sets have equal lists,
 * and as each list is there once, equal sets are equal numbers. Set 0 is empty.
 *
 * `combine` remembers its results; what it forgets is computed again, so its table may have any size. */

#define PAIRS 9
#define COMPLETE(pairs) ((uint32_t)(pairs) << PAIRS)
#define COMBINED (1 << 16)

enum operation { UNITE, MEET, LESS, MASKED, SPREAD, HAVING, HAVING_ALL, SHIFTED };

static const struct piece *pieces_of(struct machine *m, set x) { return m->pieces + m->set_first[x]; }
static int64_t piece_count(struct machine *m, set x) { return m->set_first[x + 1] - m->set_first[x]; }

static uint64_t hash_pieces(const struct piece *list, int64_t count) {
  uint64_t hash = 7;
  for (int64_t k = 0; k < count; k++) {
    hash = mixed(hash, (uint64_t)(uint32_t)list[k].lo << 32 | (uint32_t)list[k].hi);
    hash = mixed(hash, list[k].mask);
  }
  return hash;
}

static void set_enter(struct machine *m, set x) {
  uint64_t at = hash_pieces(pieces_of(m, x), piece_count(m, x));
  for (;; at++) {
    int32_t *place = &m->set_table[at & (uint64_t)(m->set_table_size - 1)];
    if (!*place) {
      *place = x + 1;
      return;
    }
  }
}

/* The number of the set with these pieces, which are in the form that is said above. */
static set set_of(struct machine *m, const struct piece *list, int64_t count) {
  if (!count) return 0;
  uint64_t at = hash_pieces(list, count);
  for (;; at++) {
    int32_t found = m->set_table[at & (uint64_t)(m->set_table_size - 1)];
    if (!found) break;
    if (piece_count(m, found - 1) == count &&
        !memcmp(pieces_of(m, found - 1), list, (size_t)count * sizeof *list))
      return found - 1;
  }
  ROOM(m->pieces, m->piece_room, m->piece_count + count);
  ROOM(m->set_first, m->set_room, m->set_count + 2);
  memcpy(m->pieces + m->piece_count, list, (size_t)count * sizeof *list);
  m->piece_count += count;
  m->set_first[m->set_count + 1] = m->piece_count;
  set made = (set)m->set_count++;
  if (2 * m->set_count > m->set_table_size) {
    int64_t room = m->set_table_size;
    ROOM(m->set_table, room, 2 * m->set_table_size);
    m->set_table_size = room;
    memset(m->set_table, 0, (size_t)room * sizeof *m->set_table);
    for (set x = 1; x <= made; x++) set_enter(m, x);
  } else
    set_enter(m, made);
  return made;
}

/* A piece at the end of the scratch list, joined with the one before where that makes one. */
static int64_t append(struct machine *m, int64_t count, int32_t lo, int32_t hi, uint32_t mask) {
  if (lo >= hi || !mask) return count;
  if (count && m->scratch[count - 1].hi == lo && m->scratch[count - 1].mask == mask) {
    m->scratch[count - 1].hi = hi;
    return count;
  }
  ROOM(m->scratch, m->scratch_room, count + 1);
  m->scratch[count] = (struct piece){lo, hi, mask};
  return count + 1;
}

static uint32_t applied(uint32_t x, uint32_t y, int op) {
  return op == UNITE ? x | y : op == MEET ? x & y : x & ~y;
}

static set combine_lists(struct machine *m, set x, set y, int op) {
  int64_t nx = piece_count(m, x), ny = piece_count(m, y), i = 0, j = 0, count = 0;
  const struct piece *a = pieces_of(m, x), *b = pieces_of(m, y);
  int32_t at = INT32_MIN;
  while (i < nx || j < ny) {
    int32_t next_a = i < nx ? (at < a[i].lo ? a[i].lo : a[i].hi) : INT32_MAX;
    int32_t next_b = j < ny ? (at < b[j].lo ? b[j].lo : b[j].hi) : INT32_MAX;
    int32_t next = next_a < next_b ? next_a : next_b;
    uint32_t in_a = i < nx && a[i].lo <= at ? a[i].mask : 0, in_b = j < ny && b[j].lo <= at ? b[j].mask : 0;
    count = append(m, count, at, next, applied(in_a, in_b, op));
    at = next;
    if (i < nx && a[i].hi == at) i++;
    if (j < ny && b[j].hi == at) j++;
  }
  return set_of(m, m->scratch, count);
}

/* What depends on one set and a number: threads whose mask has something of it (`HAVING`) or all of it, ... */
static set change_pieces(struct machine *m, set x, int32_t y, int op) {
  const struct piece *a = pieces_of(m, x);
  int64_t count = 0;
  uint32_t bits = (uint32_t)y;
  for (int64_t k = 0, n = piece_count(m, x); k < n; k++) {
    uint32_t mask = a[k].mask;
    int32_t lo = a[k].lo, hi = a[k].hi;
    switch (op) {
      case MASKED: mask &= bits; break;
      case SPREAD: mask = bits; break;
      case HAVING: mask = (mask & bits) != 0; break;
      case HAVING_ALL: mask = (mask & bits) == bits; break;
      default: lo += y, hi += y;
    }
    count = append(m, count, lo, hi, mask);
  }
  return set_of(m, m->scratch, count);
}

static set combine(struct machine *m, set x, int32_t y, int op) {
  uint64_t hash = mixed(mixed((uint64_t)op + 1, (uint32_t)x), (uint32_t)y);
  struct combined *kept = &m->combined[(hash >> 17) & (COMBINED - 1)];
  if (kept->x == x && kept->y == y && kept->op == op + 1) return kept->made;
  set made = op <= LESS ? combine_lists(m, x, y, op) : change_pieces(m, x, y, op);
  *kept = (struct combined){x, y, op + 1, made};
  return made;
}

static set united(struct machine *m, set x, set y) {
  return x == y || !y ? x : !x ? y : combine(m, x, y, UNITE);
}
static set common(struct machine *m, set x, set y) {
  return x == y ? x : !x || !y ? 0 : combine(m, x, y, MEET);
}
static set without(struct machine *m, set x, set y) {
  return x == y || !x ? 0 : !y ? x : combine(m, x, y, LESS);
}
static set masked(struct machine *m, set x, uint32_t bits) {
  return x ? combine(m, x, (int32_t)bits, MASKED) : 0;
}
/* threads x pairs */
static set spread(struct machine *m, set x, uint32_t bits) {
  return x && bits ? combine(m, x, (int32_t)bits, SPREAD) : 0;
}
static set having(struct machine *m, set x, uint32_t bits) {
  return x && bits ? combine(m, x, (int32_t)bits, HAVING) : 0;
}
static set having_all(struct machine *m, set x, uint32_t bits) {
  return x ? combine(m, x, (int32_t)bits, HAVING_ALL) : 0;
}
static set shifted(struct machine *m, set x, int64_t by) {
  return x && by ? combine(m, x, (int32_t)by, SHIFTED) : x;
}
static int within(struct machine *m, set x, set y) { return x == y || !without(m, x, y); }

static set interval(struct machine *m, int64_t lo, int64_t hi) {
  struct piece one = {(int32_t)lo, (int32_t)hi, 1};
  return lo < hi ? set_of(m, &one, 1) : 0;
}
