/* Commands that see whether the pool keeps its word; built by test_host.py with the host's own text before it. */
#include <stdio.h>
#include <stdlib.h>

enum { LONG = 1000, STEPS = 40, ROUNDS = 100, CALLERS = 3 };

/* Adds 1 to each element of its row, which must hold the number of the command. */
static void add(void **slot, uint32_t command, uint32_t core, uint32_t cores) {
    int *row = slot[0];
    const int *before = slot[1];
    if (cores > 1 && command % 20 == 8) /* workers begin, and end late: what does not wait for them is seen */
        nanosleep(&(struct timespec){0, core ? 600000 : 300000}, NULL);
    for (int k = (int)((int64_t)LONG * core / cores); k < (int)((int64_t)LONG * (core + 1) / cores); k++) {
        /* what another core wrote in the command before: the barrier stands between */
        if (before[LONG - 1 - k] != (int)command) abort();
        row[k] = (int)command + 1;
    }
    if (core >= cores) abort();
}

static void *caller(void *unused) {
    static const uint32_t spreads[] = {1, 2, 3, 4, 7, 0};
    struct command commands[STEPS];
    int *rows = malloc(sizeof(int) * LONG * 2);
    void *slots[2 * 2] = {rows + LONG, rows, rows, rows + LONG};
    for (uint32_t k = 0; k < STEPS; k++) commands[k] = (struct command){add, k, k % 2 * 2, spreads[k % 6]};
    for (int round = 0; round < ROUNDS; round++) {
        memset(rows, 0, sizeof(int) * LONG * 2);
        soundline_execute(commands, STEPS, slots);
        for (int k = 0; k < LONG; k++)
            if (rows[k] != STEPS) abort(); /* the last command has an odd number */
        if (round % 50 == 0) nanosleep(&(struct timespec){0, 200000}, NULL); /* long enough to fall asleep */
    }
    free(rows);
    return unused;
}

int main(int count, char **arguments) {
    pthread_t callers[CALLERS];
    soundline_limit((uint32_t)atoi(arguments[count - 1]));
    for (int k = 0; k < CALLERS; k++) pthread_create(&callers[k], NULL, caller, NULL);
    for (int k = 0; k < CALLERS; k++) pthread_join(callers[k], NULL);
    printf("%u", soundline_workers());
    return 0;
}
