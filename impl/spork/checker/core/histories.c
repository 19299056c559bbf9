/* Histories
 * =========
 *
 * A record of the engine stands for records of the machine that differ only in a thread. Its visibility sets are
 * `visible`, common to all, and for each thread t of `who` further the own signature of t, in V_A or also in V_S
 * (`OWN_A`, `OWN_S`). Where `who` is empty it stands for one record, which has the common sets alone. The records that
 * the machine makes for the threads of an access are so one record, whatever their number; and reads of one statement
 * by several threads are joined where all else is equal.
 *
 * Seeing. A thread s sees the record of t if V_S has one of its pairs with s: through the common set, or through the own
 * signature where s is t. Let U be those who have to see and do not through the common set. If U is empty all is seen.
 * If it has some u and there is a t in `who` other than u, the record of t is not seen by u. So a record is seen iff U
 * is empty, or own signatures serve, U is one thread, and `who` is that thread (`unseen`).
 *
 * Splitting. A synchronization by the threads C concerns the record of t through the common set or through its own
 * signature, where t is in C. In the second case the record is split: those in C go on apart from those that are not.
 *
 * Stamps. Of several stamps of one queue and warp the least arrive suffices: one of them lies below a bound iff it does.
 * A stamp below all bounds that are still to come is as good as one of arrive 0 (`floor_of`). A stamp is left out if the
 * record has all that the awaits of the barrier could ever give it, to whom they could give it: the threads of the warp
 * where warps wait apart, else all of the cluster (`is_useful`). Sets only grow, so it stays without use.
 *
 * Leaving out. Let two records have the same statement, kind and pair, and let the sets of the first be parts of those
 * of the second, and let whatever releases the first release the second as well. Then this stays so whatever happens:
 * what concerns the first concerns the second, which gains as much (of registers of wgmma, too: what is withheld from
 * the second is withheld from the first, which has the registers' pair in V_S only if the second has it). Who does not
 * see the second does not see the first. So the second is left out: no hazard and no key of a finding is lost with it
 * (`dominates`). Not who did an access nor how many records there are is ever asked. */

#define READ 0
#define WRITE 1
#define OWN_A 4
#define OWN_S 8
#define IS_ATOMIC 2
#define ORIGIN(traits) ((traits) >> 4)
#define KIND(traits) ((traits) & 1)
/* The pairs, in the order of LEGAL_PAIRS. */
enum { CPU, IO_RMEM, IO_RAM, CP_RAM, T2S_RAM, T2G_RAM, WG_A, WG_D, WG_RAM };

struct access {
  int kind, atomic, pair, out_of_order, convergent;
  uint32_t sees;
  set threads, seers;
  int32_t where;
  const struct stamp *stamps;
  int64_t stamp_count;
};

/* A synchronization of records: a fence, an arrive (which gives nothing, and stamps), or an await. */
struct sync {
  int waits, transitive;
  uint32_t first;
  set first_side, gain[2];
  set threads;
  const struct stamp *stamps;
  int64_t stamp_count;
  int32_t queue, warp;
  int64_t bound, least;
};

static uint32_t own_bits(int32_t traits) {
  uint32_t bits = 0;
  if (traits & OWN_A) bits |= 1u << ORIGIN(traits);
  if (traits & OWN_S) bits |= COMPLETE(1u << ORIGIN(traits));
  return bits;
}

/* Drafts ---------------------------------------------------------------------------------------------------------- */

static struct record *draft_record(struct machine *m, struct draft *d, struct record r, const struct stamp *stamps) {
  ROOM(d->records, d->room, d->count + 1);
  ROOM(d->stamps, d->stamp_room, d->stamp_count + r.stamps + 1);
  memcpy(d->stamps + d->stamp_count, stamps, (size_t)r.stamps * sizeof *stamps);
  r.first_stamp = (int32_t)d->stamp_count;
  d->stamp_count += r.stamps;
  d->records[d->count] = r;
  return &d->records[d->count++];
}

static void draft_clear(struct draft *d) { d->count = d->stamp_count = 0; }

static const struct stamp *stamps_in(const struct history *h) {
  return (const struct stamp *)(h->records + h->count);
}

static void draft_history(struct machine *m, struct draft *d, const struct history *h) {
  if (!h) return;
  for (int32_t k = 0; k < h->count; k++)
    draft_record(m, d, h->records[k], stamps_in(h) + h->records[k].first_stamp);
}

/* The records of an access. */
static void draft_access(struct machine *m, struct draft *d, const struct access *a) {
  struct record r = {a->where, a->kind | (a->atomic ? IS_ATOMIC : 0) | a->pair << 4, 0, 0, 0, (int32_t)a->stamp_count};
  uint32_t own = a->stamp_count ? 0 : 1u << a->pair | (a->out_of_order ? 0 : COMPLETE(1u << a->pair));
  if (a->convergent)
    r.visible = spread(m, a->threads, own);
  else if (!a->threads)
    return;
  else if (own) {
    r.who = a->threads;
    r.traits |= OWN_A | (a->out_of_order ? 0 : OWN_S);
  }
  draft_record(m, d, r, a->stamps);
}

static int is_useful(struct machine *m, const struct record *r, const struct stamp *s) {
  uint32_t gains = (uint32_t)barriers_of(m, s->queue)[B_GAINS + KIND(r->traits)];
  set who = s->warp < 0 ? m->everybody
                        : interval(m, (int64_t)s->warp * 32, (int64_t)s->warp * 32 + 32);
  return gains && !within(m, who, having_all(m, r->visible, gains));
}

/* Whether whatever releases the first also releases the second, or gives nothing that the second has not. */
static int weaker(struct machine *m, const struct draft *d, const struct record *one, const struct record *two) {
  const struct stamp *x = d->stamps + one->first_stamp, *y = d->stamps + two->first_stamp;
  for (int32_t i = 0; i < one->stamps; i++) {
    int32_t j = 0;
    while (j < two->stamps && !(y[j].queue == x[i].queue && y[j].warp == x[i].warp && y[j].arrive <= x[i].arrive)) j++;
    if (j == two->stamps && is_useful(m, two, x + i)) return 0;
  }
  return 1;
}

/* Whether the second can be left out. What the first has for some threads only leaves out the second for these. */
static int dominates(struct machine *m, const struct draft *d, struct record *x, struct record *y) {
  int32_t same = ~(OWN_A | OWN_S);
  if (x->where != y->where || (x->traits & same) != (y->traits & same)) return 0;
  if (!within(m, x->visible, y->visible) || !weaker(m, d, x, y)) return 0;
  if (!x->who) return 1;
  uint32_t own = own_bits(x->traits);
  if (common(m, x->who, having_all(m, y->visible, own))) return 1;
  if (!y->who || (own & ~own_bits(y->traits))) return 0;
  y->who = without(m, y->who, x->who);
  return !y->who;
}

static int stamp_order(const void *x, const void *y) {
  const struct stamp *a = x, *b = y;
  if (a->queue != b->queue) return a->queue < b->queue ? -1 : 1;
  return (a->warp > b->warp) - (a->warp < b->warp);
}

static int compare_stamps(const struct draft *d, const struct record *x, const struct record *y) {
  if (x->stamps != y->stamps) return x->stamps < y->stamps ? -1 : 1;
  const struct stamp *a = d->stamps + x->first_stamp, *b = d->stamps + y->first_stamp;
  for (int32_t k = 0; k < x->stamps; k++) {
    int order = stamp_order(a + k, b + k);
    if (order) return order;
    if (a[k].arrive != b[k].arrive) return a[k].arrive < b[k].arrive ? -1 : 1;
  }
  return 0;
}

static int compare_records(const struct draft *d, const struct record *x, const struct record *y, int with_who) {
  if (KIND(x->traits) != KIND(y->traits)) return KIND(x->traits) - KIND(y->traits);
  if (x->where != y->where) return x->where < y->where ? -1 : 1;
  if (x->traits != y->traits) return x->traits < y->traits ? -1 : 1;
  if (x->visible != y->visible) return x->visible < y->visible ? -1 : 1;
  int order = compare_stamps(d, x, y);
  if (order || !with_who) return order;
  return (x->who > y->who) - (x->who < y->who);
}

/* The draft in the form in which equal histories are equal: joined, with nothing that can be left out, in order. */
static void draft_settle(struct machine *m, struct draft *d) {
  for (int64_t k = 0; k < d->count; k++) {
    struct record *r = &d->records[k];
    if (!r->who) r->traits &= ~(OWN_A | OWN_S);
    /* A thread whose own signature is in the common set as well: its record leaves out all others. */
    if (r->who && r->visible && common(m, r->who, having_all(m, r->visible, own_bits(r->traits)))) {
      r->who = 0;
      r->traits &= ~(OWN_A | OWN_S);
    }
  }
  if (d->count < 2) return;
  for (int64_t i = 0; i < d->count; i++)
    for (int64_t j = i + 1; j < d->count; j++) {
      struct record *x = &d->records[i], *y = &d->records[j];
      if (x->who && y->who && !compare_records(d, x, y, 0)) {
        x->who = united(m, x->who, y->who);
      } else if (dominates(m, d, y, x)) {
        *x = *y;
      } else if (!dominates(m, d, x, y))
        continue;
      *y = d->records[--d->count];
      j = i; /* what x has become is asked of all again */
    }
  for (int64_t i = 1; i < d->count; i++) {
    struct record r = d->records[i];
    int64_t j = i;
    for (; j && compare_records(d, &d->records[j - 1], &r, 1) > 0; j--) d->records[j] = d->records[j - 1];
    d->records[j] = r;
  }
}

/* Accesses -------------------------------------------------------------------------------------------------------- */

/* Whether somebody who has to see a record does not. */
static int unseen(struct machine *m, const struct record *r, const struct access *a) {
  set blind = a->seers;
  if (r->visible) blind = without(m, blind, having(m, r->visible, COMPLETE(a->sees)));
  if (!blind) return 0;
  if (!(r->traits & OWN_S) || !(a->sees >> ORIGIN(r->traits) & 1)) return 1;
  return blind != r->who || piece_count(m, blind) != 1 || pieces_of(m, blind)->hi - pieces_of(m, blind)->lo != 1;
}

/* Whether an access asks for a record at all. */
static int asks_for(const struct access *a, const struct record *r) {
  if (KIND(r->traits) == READ) return a->kind == WRITE;
  return !(a->atomic && (r->traits & IS_ATOMIC));
}

/* Synchronization ------------------------------------------------------------------------------------------------- */

/* The threads of a record's `who` that a first side concerns; `*all` where it concerns the record as a whole. */
static set concerned(struct machine *m, const struct record *r, const struct stamp *stamps, const struct sync *s,
                     int *all) {
  *all = 0;
  if (s->waits) {
    for (int32_t k = 0; k < r->stamps && !*all; k++)
      *all = stamps[k].queue == s->queue && stamps[k].warp == s->warp && stamps[k].arrive < s->bound;
    return 0;
  }
  int own = s->first >> ORIGIN(r->traits) & 1;
  if (!s->transitive && !own) return 0;
  if (common(m, r->visible, s->first_side)) {
    *all = 1;
    return 0;
  }
  if (!own || !(r->traits & OWN_A)) return 0;
  set mine = common(m, r->who, s->threads);
  if (mine && mine == r->who) {
    *all = 1;
    return 0;
  }
  return mine;
}

static int history_concerned(struct machine *m, const struct history *h, const struct sync *s) {
  for (int32_t k = 0; k < h->count; k++) {
    int all;
    set some = concerned(m, &h->records[k], stamps_in(h) + h->records[k].first_stamp, s, &all);
    if (all || some) return 1;
  }
  return 0;
}

/* The record with what the synchronization gives, in a draft. */
static void draft_changed(struct machine *m, struct draft *d, struct record r, const struct stamp *stamps,
                          const struct sync *s) {
  set gain = s->gain[KIND(r.traits)];
  int origin = ORIGIN(r.traits);
  if (gain && (origin == WG_A || origin == WG_D) && !having(m, r.visible, COMPLETE(1u << IO_RMEM))) {
    uint32_t other = 1u << (origin == WG_A ? WG_D : WG_A);
    gain = masked(m, gain, ~(other | COMPLETE(other)));
  }
  r.visible = united(m, r.visible, gain);
  struct record *made = draft_record(m, d, r, stamps);
  struct stamp *own = d->stamps + made->first_stamp;
  if (s->waits)
    for (int32_t k = 0; k < made->stamps; k++)
      if (own[k].queue == s->queue && own[k].arrive < s->least) own[k].arrive = 0;
  int32_t kept = 0;
  for (int32_t k = 0; k < made->stamps; k++)
    if (is_useful(m, made, own + k)) own[kept++] = own[k];
  made->stamps = kept;
  for (int64_t k = 0; k < s->stamp_count; k++) {
    if (!is_useful(m, made, s->stamps + k)) continue;
    int32_t i = 0;
    while (i < made->stamps && stamp_order(own + i, s->stamps + k) < 0) i++;
    if (i < made->stamps && !stamp_order(own + i, s->stamps + k)) {
      if (s->stamps[k].arrive < own[i].arrive) own[i].arrive = s->stamps[k].arrive;
      continue;
    }
    ROOM(d->stamps, d->stamp_room, made->first_stamp + made->stamps + 1);
    own = d->stamps + made->first_stamp;
    memmove(own + i + 1, own + i, (size_t)(made->stamps - i) * sizeof *own);
    own[i] = s->stamps[k];
    made->stamps++;
    d->stamp_count = made->first_stamp + made->stamps;
  }
}

static void draft_synchronized(struct machine *m, struct draft *d, const struct history *h, const struct sync *s) {
  for (int32_t k = 0; k < h->count; k++) {
    struct record r = h->records[k];
    const struct stamp *stamps = stamps_in(h) + r.first_stamp;
    int all;
    set some = concerned(m, &r, stamps, s, &all);
    if (!all) {
      struct record rest = r;
      rest.who = without(m, r.who, some);
      draft_record(m, d, rest, stamps);
      r.who = some;
    }
    if (all || some) draft_changed(m, d, r, stamps, s);
  }
}
