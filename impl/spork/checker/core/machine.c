/* Machine
 * =======
 *
 * All that there is while a plan runs. Memory is asked for through `grown`, which counts it; a run that has to end in
 * the middle jumps to its beginning, where all of it is given back. */

typedef int32_t set; /* a number of a set: `sets.c` */

struct piece { int32_t lo, hi; uint32_t mask; };

struct combined { int32_t x, y, op; set made; };

struct record {
  int32_t where;   /* rank of the path of the statement */
  int32_t traits;  /* `histories.c` */
  set who, visible;
  int32_t first_stamp, stamps;
};

struct stamp { int32_t queue, warp; int64_t arrive; };

struct draft {
  struct record *records;
  struct stamp *stamps;
  int64_t count, room, stamp_count, stamp_room;
};

struct history { uint64_t hash; int32_t count, stamp_count; struct record records[]; };

struct digest { uint64_t x, y; };

struct slot {
  struct history *history;
  int64_t refs, cells;
  int32_t forward, next_equal, before, after, list;
  int32_t mark, place;
  int64_t tidied, digest_epoch;
  struct digest digest; /* `periods.c` */
};

struct seen { int32_t slot; int32_t array; int64_t count, element, cell; };

struct space { int32_t *cells; int64_t count, low, high, touched; };

struct shard { int64_t base; int32_t space; set owner; };

struct array {
  const int64_t *given;
  int64_t elements, per_shard, factor;
  int32_t shards, space, is_shared, kept;
  struct shard *shard;
};

struct queue {
  int32_t instance, reverse, at, at_count, next, sibling;
  int64_t arrives, awaits, skipped;
  int32_t *holders;
  int64_t holder_count, holder_room, holder_limit;
  int64_t *last[2], lasts[2], last_room[2]; /* `trace.c` */
};

struct instance { int32_t barriers, path; set threads; int64_t depth; int32_t first_queue, next; };

#define QUEUE_TABLE 4096

/* What is known of barriers: their depth, the greatest N and lag of awaits, and what awaits give to reads and writes. */
enum { B_DEPTH, B_MOST, B_LAG, B_GAINS, B_SIZE = B_GAINS + 2 };

struct waited { int32_t queue; int64_t number; set who, after; int32_t stamps; int64_t room; struct stamp *stamp; };

#define MOST_LAST 128
#define LOOK_BACK 16

struct target { int64_t event, cell, start, end, length, room, life_room; int64_t *list, *life; };

struct frame { int64_t lo, hi, at; };
#define MOST_FRAMES 64

struct cells_run { int64_t first, count; };

struct machine {
  const struct order *order;
  const int64_t *code;
  struct outcome *out;
  jmp_buf stop;
  int64_t bytes, work, next_poll;
  double polled;
  /* sets */
  struct piece *pieces, *scratch;
  int64_t piece_count, piece_room, scratch_room;
  int64_t *set_first;
  int64_t set_count, set_room;
  int32_t *set_table;
  int64_t set_table_size;
  struct combined *combined;
  set *constant;
  /* slots */
  struct slot *slots;
  int64_t slot_count, slot_room;
  int32_t free_slot, *slot_table;
  int64_t slot_table_size, live_slots;
  int32_t *heads;
  int64_t head_count;
  int32_t epoch;
  int64_t tidied, digest_epoch;
  struct draft draft;
  int32_t *chosen;
  int64_t chosen_count, chosen_room;
  /* cells */
  struct array *arrays;
  struct space *spaces;
  int64_t space_count, *tops, ranks, grain, block_dim;
  struct seen *seen;
  int64_t seen_count, seen_room;
  /* queues */
  struct queue *queues;
  int64_t queue_count, queue_room;
  int64_t *at;
  int64_t at_count, at_room;
  int32_t queue_table[QUEUE_TABLE], instance_table[QUEUE_TABLE];
  struct instance *instances;
  int64_t instance_count, instance_room;
  int32_t *current;
  struct waited *waited;
  int64_t waited_count, waited_room;
  struct stamp *fresh;
  int64_t fresh_count, fresh_room;
  /* the run */
  int64_t *vars;
  int64_t cpu_top;
  set cpu_set, everybody; /* the thread of the CPU that runs; all threads of a task */
  struct repeating *repeating; /* that of the innermost loop with a period: `periods.c` */
  struct frame frames[MOST_FRAMES];
  int depth;
  int64_t ran, repeated;
  /* hazards */
  int64_t sighting_room, value_room;
  int32_t *hits;
  int64_t hit_count, hit_room;
  struct cells_run *runs;
  int64_t run_count, run_room;
  int32_t *moves;
  int64_t move_room;
  struct target *targets;
  int64_t moved_room;
  int64_t target_count, targets_left, logged_room, logged_value_room, touched_room, before_room, tidy_logged, logged_touches;
  int64_t event_node;
};

/* The encoding of nodes and touches. */
enum { N_ACTION, N_CHECK, N_APART, N_ALLOC, N_FREE, N_BARRIER_ALLOC, N_BARRIER_FREE, N_FENCE, N_ARRIVE, N_AWAIT, N_BLOCK,
       N_IF, N_FOR, N_TASKS, N_LAUNCH, N_COUNTED };
enum { F_SEQ, F_THREADS, F_TASKS, F_PAR };
/* The first numbers of a node: what it is, its number, and of a statement its path and threads. */
enum { AT_OP, AT_NODE, AT_PATH, AT_THREADS, AT_SHIFT, AT_REST };
enum { T_KIND, T_PAIR, T_SEES, T_OUT_OF_ORDER, T_CONVERGENT, T_SEERS, T_SEERS_SHIFT, T_BY, T_BY_SHIFT, T_REGIONS,
       T_FIRST_REGION };

static _Noreturn void stop_with(struct machine *m, int status) {
  m->out->status = status;
  longjmp(m->stop, 1);
}

/* Room for `count` things of `size` bytes in a list that grows by doubling. */
static void grown(struct machine *m, void **list, int64_t *room, int64_t count, int64_t size) {
  if (count <= *room) return;
  int64_t wanted = *room ? *room : 16;
  while (wanted < count) wanted *= 2;
  m->bytes += (wanted - *room) * size;
  if (m->order->budget && m->bytes > m->order->budget) {
    m->out->wanted = m->bytes;
    stop_with(m, NO_MEMORY);
  }
  void *made = realloc(*list, (size_t)(wanted * size));
  if (!made) {
    m->out->wanted = m->bytes;
    stop_with(m, NO_MEMORY);
  }
  memset((char *)made + *room * size, 0, (size_t)((wanted - *room) * size));
  *list = made;
  *room = wanted;
}

#define ROOM(list, room, count) grown(m, (void **)&(list), &(room), (count), (int64_t)sizeof *(list))

static const int64_t *barriers_of(struct machine *m, int32_t queue) {
  return m->order->barriers + B_SIZE * m->instances[m->queues[queue].instance].barriers;
}

static uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}
