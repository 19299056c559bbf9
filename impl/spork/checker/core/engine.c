/* The engine of the fast checker: it runs a plan on the abstract machine.
 *
 * The abstract machine (spec.spork.machine) keeps records for each location and for each thread, and changes all of
 * them at each synchronization. The engine does the same to far fewer things:
 *
 *   machine.c    all that there is while a plan runs
 *   sets.c       sets of threads, and visibility sets, as intervals of threads; each is there once and has a number
 *   histories.c  records for sets of threads, what accesses and synchronizations do to them, and which need not be kept
 *   slots.c      the histories that are there: cells say by number which is theirs, and equal ones are one
 *   cells.c      the storage: windows of cells, scanned in runs of equal numbers
 *   queues.c     the counters of barriers, and the rings of mbarriers
 *   terms.c      numbers and threads of an iteration
 *   hazards.c    what was found, by rule and statements
 *   periods.c    states of the machine that come again at the head of a loop
 *   trace.c      the events that concern a cell
 *   progress.c   how far the run is
 *   synchronization.c, actions.c, storage.c  what the events do
 *   interpreter.c  the nodes of a plan, in the order of the program
 *   run.c        the beginning and the end
 *
 * Every chapter says why it is exact. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Declarations for Python, from here to the line that says so. */
struct sighting {
  int64_t rule, where, earlier, count, node, event, array, element, cell, values, barrier, at, at_count, reverse;
  char given[96];
};
struct logged {
  int64_t node, part, event, target, touches, touch_count;
};
struct outcome {
  int64_t status, events, accesses, ran, node, values, wanted, repeated;
  int64_t sighting_count, value_count, logged_count, touched_count, sets, snapshots, skipped;
  struct sighting *sightings;
  int64_t *value;
  struct logged *logged;
  int64_t *logged_values;
  int64_t *touched;
  int64_t *before;
  int64_t *moved; /* of each skip: the events that come again, from one to before another, the variable, and by how much */
  int64_t moved_count;
};
struct order {
  const int64_t *code;
  const int64_t *sets;
  const int64_t *arrays;
  const int64_t *barriers;
  int64_t root, set_count, array_count, barrier_count, var_count, budget, target_count;
  const int64_t *targets;
  int (*ask)(int64_t events, double fraction);
};
struct outcome *soundline_check(const struct order *order);
void soundline_check_end(struct outcome *outcome);
/* Python reads no further. */

enum status { DONE, STUCK, REFUSED, STOPPED, NO_MEMORY, OVERFLOW, FOUND, OUTSIDE };

#include "machine.c"
#include "sets.c"
#include "histories.c"
#include "slots.c"
#include "cells.c"
#include "queues.c"
#include "terms.c"
#include "hazards.c"
#include "periods.c"
#include "trace.c"
#include "progress.c"
#include "synchronization.c"
#include "actions.c"
#include "storage.c"
#include "interpreter.c"
#include "run.c"
