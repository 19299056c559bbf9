/*
 * The host: what runs programs.
 *
 * A program is a command buffer: a table of commands, each a kernel of a compiled library, the place in the table of
 * pointers from which the kernel counts its slots, and the number of cores that may share the work. One call walks the
 * table. A command for several cores is shared with the workers of one pool; the next command starts when all have
 * ended. Kernels that are given `cores` do the same work whatever it is, so a command may always run on fewer.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#if defined(__linux__) && !defined(SOUNDLINE_PORTABLE)
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#define FUTEX 1
#endif
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* What Python knows of the host: it reads the declarations from here to the line that says so. */

typedef void kernel_function(void **slot, uint32_t command, uint32_t core, uint32_t cores);

struct command {
    kernel_function *run;
    uint32_t number; /* of the kernel in its library */
    uint32_t first;  /* the slot that the kernel calls its slot 0 */
    uint32_t cores;  /* over how many it may be spread; 0 and 1 run it where the call is */
};

struct layout {
    uint32_t type, items, data, rank, shape, dtype, flags;
    const void *array; /* the type of arrays */
};

struct argument {
    const void *dtype;
    uint32_t rank;
    const intptr_t *shape;
};

/* A slot that points so many bytes behind another: a kernel that runs at several sites has slots of its own at each. */
struct alias {
    uint32_t to, from;
    uint64_t offset;
};

struct program {
    const struct layout *layout;
    const struct command *commands;
    uint32_t count;
    uint32_t aliased;
    const struct alias *aliases;
    uint32_t taken;
    const struct argument *arguments;
    uint32_t made;
    uint32_t first_made; /* the slot of the first result */
};

void soundline_watch(int (*ask)(void), uintptr_t thread);
int soundline_check(void);
void soundline_copy(void **slot, uint32_t number, uint32_t core, uint32_t cores);
uint32_t soundline_limit(uint32_t cores);
uint32_t soundline_workers(void);
void soundline_forked(void);
int32_t soundline_execute(const struct command *commands, uint32_t count, void **slot);
int32_t soundline_measure(const struct command *commands, uint32_t count, void **slot, int64_t *taken);
int soundline_is_plain(const struct layout *at, uintptr_t tuple, uint32_t item, const struct argument *wanted);
uintptr_t soundline_address(const struct layout *at, uintptr_t tuple, uint32_t item);
int32_t soundline_call(const struct program *p, void **slot, uintptr_t arguments, uintptr_t results);

/* Python reads no further. */

/* The floating-point environment of kernels: round to nearest, subnormals kept, whatever the caller's thread does. */

#if defined(__x86_64__)
typedef uint32_t environment; /* kernels use SSE alone */
#define FLAGS 0x3fu
static environment entered(void) {
    const uint32_t found = _mm_getcsr();
    if ((found & ~FLAGS) != 0x1f80u) _mm_setcsr(0x1f80u);
    return found;
}
static void left_again(environment found) { _mm_setcsr(found); }
#else
typedef fenv_t environment;
static environment entered(void) {
    fenv_t found;
    fegetenv(&found);
    fesetenv(FE_DFL_ENV);
    return found;
}
static void left_again(environment found) { fesetenv(&found); }
#endif

/* A word that one thread waits for: it spins for a while, since what it waits for is often near, and then sleeps. */

#define SPIN_NANOSECONDS 30000

struct word {
    _Alignas(64) _Atomic uint32_t value;
    _Atomic uint32_t asleep;
#ifndef FUTEX
    pthread_mutex_t lock;
    pthread_cond_t changed;
#endif
};

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/*
 * Stopping. Python runs the handlers of signals on its main thread, and only between its own steps. So a program that
 * runs long on that thread asks Python from time to time, in a call of a function of Python, which is when the handlers
 * run: what they raise is kept there, and the answer is that the program is to end. A program on another thread is
 * never stopped. Kernels ask at the heads of long loops (soundline_stopped), the walk over the commands every so often,
 * and who waits for workers when a signal or the time wakes it. The workers of a program that is to end are told.
 */

#define ASK_NANOSECONDS 50000000
#define STOPPED (-2) /* what a call gives that was stopped */

static struct {
    int (*ask)(void);
    uintptr_t thread; /* the one that may ask */
    int64_t due;      /* when it is time to ask again */
    int asking;       /* what runs meanwhile asks nothing */
    _Atomic int stopped;
} watch;
static _Atomic int workers_stopped;
static _Thread_local int is_worker, spreads;

static int may_ask(void) { return watch.ask && (uintptr_t)pthread_self() == watch.thread; }

/* Whether the program that runs here is to end. */
int soundline_check(void) {
    if (is_worker) return atomic_load_explicit(&workers_stopped, memory_order_relaxed);
    if (!may_ask() || watch.asking) return 0;
    if (atomic_load_explicit(&watch.stopped, memory_order_relaxed)) return 1;
    if (nanoseconds() < watch.due) return 0;
    watch.asking = 1;
    const int stop = watch.ask();
    watch.asking = 0;
    watch.due = nanoseconds() + ASK_NANOSECONDS;
    if (!stop) return 0;
    atomic_store(&watch.stopped, 1);
    if (spreads) atomic_store(&workers_stopped, 1);
    return 1;
}

/* Whether it was found that the program that runs here is to end. */
static int is_stopped(void) {
    return atomic_load_explicit(&watch.stopped, memory_order_relaxed) && may_ask() && !watch.asking;
}

/* From now on ask this function of Python, on this thread. */
void soundline_watch(int (*ask)(void), uintptr_t thread) {
    watch.thread = thread;
    watch.ask = ask;
}

static void pause_briefly(void) {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void word_new(struct word *w, uint32_t value) {
    atomic_store(&w->value, value);
    atomic_store(&w->asleep, 0);
#ifndef FUTEX
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
#endif
}

/* The thread that may ask wakes from time to time to do so. */
static void sleep_until(struct word *w, uint32_t wanted) {
    const int asks = may_ask();
#ifdef FUTEX
    const struct timespec while_asleep = {0, ASK_NANOSECONDS};
    for (;;) {
        atomic_store(&w->asleep, 1); /* before the value is read: who changes it later sees this */
        const uint32_t found = atomic_load(&w->value);
        if (found == wanted) break;
        syscall(SYS_futex, &w->value, FUTEX_WAIT_PRIVATE, found, asks ? &while_asleep : NULL, NULL, 0);
        if (asks) soundline_check();
    }
#else
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->asleep, 1);
    while (atomic_load(&w->value) != wanted) {
        if (!asks) {
            pthread_cond_wait(&w->changed, &w->lock);
            continue;
        }
        struct timespec end;
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_nsec += ASK_NANOSECONDS;
        if (end.tv_nsec >= 1000000000) end.tv_sec++, end.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&w->changed, &w->lock, &end);
        pthread_mutex_unlock(&w->lock); /* what is asked may take long, and call programs */
        soundline_check();
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
#endif
    atomic_store(&w->asleep, 0);
}

static void wait_until(struct word *w, uint32_t wanted) {
    int64_t end = 0;
    for (uint32_t tries = 1;; tries++) {
        if (atomic_load_explicit(&w->value, memory_order_acquire) == wanted) return;
        pause_briefly();
        if (tries % 64) continue;
        const int64_t now = nanoseconds();
        if (!end) end = now + SPIN_NANOSECONDS;
        if (now >= end) break;
    }
    sleep_until(w, wanted);
}

/* After the value was changed: wake the thread that sleeps on it. */
static void word_changed(struct word *w) {
    if (!atomic_load(&w->asleep)) return;
#ifdef FUTEX
    syscall(SYS_futex, &w->value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
#else
    pthread_mutex_lock(&w->lock);
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
#endif
}

/* The pool: one for the process, started by the first command that asks for it. */

#define MOST_WORKERS 255
enum { NONE, OFFERED, BEGUN };

static struct {
    pthread_mutex_t door;   /* held by the call whose command the workers run */
    uint32_t limit;         /* cores in use at most, the caller's among them */
    uint32_t workers;       /* that were started: numbers 1 to this */
    const struct command *command;
    void **slot;
    uint32_t cores;
    struct word working;    /* how many workers have not ended */
    struct word share[MOST_WORKERS + 1]; /* of each worker: NONE, or a share of the command, or the one it has begun */
} pool = {.door = PTHREAD_MUTEX_INITIALIZER, .limit = 1};

/* Whether a share that was offered is now with the thread that asks: its worker, or the caller, who does not wait for
   workers that have not begun. */
static int taken(uint32_t core, uint32_t state) {
    uint32_t offered = OFFERED;
    return atomic_compare_exchange_strong(&pool.share[core].value, &offered, state);
}

static void *worker(void *number) {
    const uint32_t core = (uint32_t)(uintptr_t)number;
    fesetenv(FE_DFL_ENV);
    is_worker = 1;
    for (;;) {
        wait_until(&pool.share[core], OFFERED);
        if (!taken(core, BEGUN)) continue;
        const struct command *c = pool.command;
        c->run(pool.slot, c->number, core, pool.cores);
        atomic_store(&pool.share[core].value, NONE);
        if (atomic_fetch_sub(&pool.working.value, 1) == 1) word_changed(&pool.working);
    }
    return NULL;
}

/* With the door held: have workers up to this number, or as many as the system gives. */
static void hire(uint32_t wanted) {
    sigset_t all, before;
    pthread_attr_t attributes;
    if (wanted <= pool.workers) return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the threads of Python */
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, (size_t)8 << 20);
    if (!pool.workers) word_new(&pool.working, 0);
    while (pool.workers < wanted) {
        const uint32_t number = pool.workers + 1;
        pthread_t made;
        word_new(&pool.share[number], NONE);
        if (pthread_create(&made, &attributes, worker, (void *)(uintptr_t)number)) break;
        pool.workers = number;
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void spread(const struct command *c, void **slot) {
    if (pool.limit < 2 || pthread_mutex_trylock(&pool.door)) {
        c->run(slot, c->number, 0, 1); /* the workers are busy with another call */
        return;
    }
    const uint32_t wanted = c->cores < pool.limit ? c->cores : pool.limit;
    spreads = 1;
    hire(wanted - 1);
    const uint32_t cores = wanted - 1 < pool.workers ? wanted : pool.workers + 1;
    pool.command = c;
    pool.slot = slot;
    pool.cores = cores;
    if (cores > 1) atomic_store(&pool.working.value, cores - 1);
    for (uint32_t k = 1; k < cores; k++) {
        atomic_store(&pool.share[k].value, OFFERED);
        word_changed(&pool.share[k]);
    }
    c->run(slot, c->number, 0, cores);
    for (uint32_t k = 1; k < cores; k++) {
        if (!taken(k, NONE)) continue;
        c->run(slot, c->number, k, cores);
        atomic_fetch_sub(&pool.working.value, 1);
    }
    if (cores > 1) wait_until(&pool.working, 0);
    spreads = 0;
    if (atomic_load(&workers_stopped)) atomic_store(&workers_stopped, 0);
    pthread_mutex_unlock(&pool.door);
}

/* Use so many cores at most; the number in use. */
uint32_t soundline_limit(uint32_t cores) {
    pthread_mutex_lock(&pool.door);
    pool.limit = cores < 1 ? 1 : cores > MOST_WORKERS + 1 ? MOST_WORKERS + 1 : cores;
    const uint32_t limit = pool.limit;
    pthread_mutex_unlock(&pool.door);
    return limit;
}

/* How many workers there are. */
uint32_t soundline_workers(void) { return pool.workers; }

/* In the child of a fork, which has the forking thread alone. */
void soundline_forked(void) {
    pthread_mutex_init(&pool.door, NULL);
    pool.workers = 0;
    watch.thread = (uintptr_t)pthread_self(); /* Python's main thread from now on */
    atomic_store(&workers_stopped, 0);
}

/* A command that is no kernel: copy so many bytes from slot 0 to slot 1. */
#define STOPPED (-2) /* what a call gives that was stopped */

void soundline_watch(int (*ask)(void), uintptr_t thread);
int soundline_check(void);
void soundline_copy(void **slot, uint32_t number, uint32_t core, uint32_t cores) {
    (void)core, (void)cores;
    memcpy(slot[1], slot[0], number);
}

#define COMMANDS_PER_CHECK 16

/* Run commands one after the other; STOPPED if they were stopped, and 0 otherwise. */
int32_t soundline_execute(const struct command *commands, uint32_t count, void **slot) {
    const environment found = entered();
    for (uint32_t k = 0; k < count; k++) {
        const struct command *c = commands + k;
        if (c->cores < 2) c->run(slot + c->first, c->number, 0, 1);
        else spread(c, slot + c->first);
        if (k % COMMANDS_PER_CHECK == COMMANDS_PER_CHECK - 1) soundline_check();
        if (is_stopped()) {
            atomic_store(&watch.stopped, 0);
            left_again(found);
            return STOPPED;
        }
    }
    left_again(found);
    return 0;
}

/* The same, and the nanoseconds that each took. */
int32_t soundline_measure(const struct command *commands, uint32_t count, void **slot, int64_t *taken) {
    int64_t began = nanoseconds();
    for (uint32_t k = 0; k < count; k++) {
        if (soundline_execute(commands + k, 1, slot)) return STOPPED;
        const int64_t ended = nanoseconds();
        taken[k] = ended - began;
        began = ended;
    }
    return 0;
}

/*
 * A call from Python, without a step of Python per argument: the arguments and the results are tuples of arrays, whose
 * fields are read where they lie. Python tells where that is (`struct layout`), and has checked it on arrays that it
 * knows. An argument that is not exactly what the program takes is refused before anything runs; Python then looks at
 * it again, to convert it or to say what is wrong.
 */

#define FIELD(type, object, offset) (*(type const *)((object) + (offset)))
#define C_CONTIGUOUS 0x0001
#define ALIGNED 0x0100

/* Whether an object is an array of this dtype and shape that kernels can use as it is. */
static int is_plain(const struct layout *at, const char *object, const struct argument *wanted) {
    if (FIELD(void *, object, at->type) != at->array) return 0;
    if (FIELD(void *, object, at->dtype) != wanted->dtype) return 0;
    if ((uint32_t)FIELD(int, object, at->rank) != wanted->rank) return 0;
    if ((FIELD(int, object, at->flags) & (C_CONTIGUOUS | ALIGNED)) != (C_CONTIGUOUS | ALIGNED)) return 0;
    const intptr_t *shape = FIELD(intptr_t *, object, at->shape);
    for (uint32_t k = 0; k < wanted->rank; k++)
        if (shape[k] != wanted->shape[k]) return 0;
    return 1;
}

/* Whether a tuple's item is such an array. */
int soundline_is_plain(const struct layout *at, uintptr_t tuple, uint32_t item, const struct argument *wanted) {
    return is_plain(at, FIELD(char *, (const char *)tuple + at->items, item * sizeof(char *)), wanted);
}

/* Where the elements of a tuple's item lie. */
uintptr_t soundline_address(const struct layout *at, uintptr_t tuple, uint32_t item) {
    return (uintptr_t)FIELD(void *, FIELD(char *, (const char *)tuple + at->items, item * sizeof(char *)), at->data);
}

/* Run a program; the number of the first argument that is refused, or -1, or STOPPED. */
int32_t soundline_call(const struct program *p, void **slot, uintptr_t arguments, uintptr_t results) {
    const struct layout *at = p->layout;
    const char *const *given = (const char *const *)(arguments + at->items);
    const char *const *made = (const char *const *)(results + at->items);
    for (uint32_t k = 0; k < p->taken; k++) {
        if (!is_plain(at, given[k], p->arguments + k)) return (int32_t)k;
        slot[k] = FIELD(void *, given[k], at->data);
    }
    for (uint32_t k = 0; k < p->made; k++) slot[p->first_made + k] = FIELD(void *, made[k], at->data);
    for (uint32_t k = 0; k < p->aliased; k++) {
        const struct alias a = p->aliases[k];
        slot[a.to] = (void *)((uintptr_t)slot[a.from] + a.offset); /* from NULL where there are no temporaries */
    }
    return soundline_execute(p->commands, p->count, slot) ? STOPPED : -1;
}
