/* Terms
 * =====
 *
 * Numbers of an iteration, by the laws of the ops on ``index``: those that are sums of variables times numbers are
 * encoded as such, of the others each op. A number that has no place in 64 bits ends the run. */

enum { T_ADD, T_SUB, T_MUL, T_NEG, T_IDIV, T_MOD, T_MAX, T_LT, T_LE, T_GT, T_GE, T_EQ, T_NE, T_AND, T_OR, T_XOR, T_NOT,
       T_WHERE, T_SHL, T_SHR, T_MULACC };

static int64_t floor_div(int64_t x, int64_t y) {
  int64_t q = x / y;
  return q - (x % y && (x < 0) != (y < 0));
}

static int64_t op_value(struct machine *m, const int64_t *t) {
  int64_t x = term(m, t[2]), made = 0;
  int64_t op = -1 - t[0], over = 0;
  if (op == T_WHERE) return term(m, x ? t[3] : t[4]);
  int64_t y = t[1] > 1 ? term(m, t[3]) : 0;
  switch (op) {
    case T_ADD: over = __builtin_add_overflow(x, y, &made); break;
    case T_SUB: over = __builtin_sub_overflow(x, y, &made); break;
    case T_MUL: over = __builtin_mul_overflow(x, y, &made); break;
    case T_NEG: over = __builtin_sub_overflow((int64_t)0, x, &made); break;
    case T_IDIV: over = x == INT64_MIN && y == -1; made = over || !y ? 0 : floor_div(x, y); break;
    case T_MOD: made = !y ? x : y == -1 ? 0 : x - y * floor_div(x, y); break;
    case T_MAX: made = x > y ? x : y; break;
    case T_LT: made = x < y; break;
    case T_LE: made = x <= y; break;
    case T_GT: made = x > y; break;
    case T_GE: made = x >= y; break;
    case T_EQ: made = x == y; break;
    case T_NE: made = x != y; break;
    case T_AND: made = x & y; break;
    case T_OR: made = x | y; break;
    case T_XOR: made = x ^ y; break;
    case T_NOT: made = !x; break;
    case T_SHL: over = y < 0 || (x && y > 62) || (y <= 62 && __builtin_mul_overflow(x, (int64_t)1 << y, &made)); break;
    case T_SHR: over = y < 0; made = y > 63 ? (x < 0 ? -1 : 0) : y < 0 ? 0 : x >> y; break;
    case T_MULACC: over = __builtin_mul_overflow(x, y, &made) || __builtin_add_overflow(made, term(m, t[4]), &made);
  }
  if (over) stop_with(m, OVERFLOW);
  return made;
}

static int64_t term(struct machine *m, int64_t at) {
  const int64_t *t = m->code + at;
  if (t[0] < 0) return op_value(m, t);
  int64_t sum = t[1];
  for (int64_t k = 0; k < t[0]; k++) {
    int64_t part;
    if (__builtin_mul_overflow(m->vars[t[2 + 2 * k]], t[3 + 2 * k], &part) || __builtin_add_overflow(sum, part, &sum))
      stop_with(m, OVERFLOW);
  }
  return sum;
}

/* Threads: a constant set and the term of a shift; -1 for the thread of the CPU that runs. */
static set threads_at(struct machine *m, const int64_t *given) {
  return given[0] < 0 ? m->cpu_set : shifted(m, m->constant[given[0]], term(m, given[1]));
}
