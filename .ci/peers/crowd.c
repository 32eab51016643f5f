// SPDX-License-Identifier: Apache-2.0

#include "crowd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { passes = 5, most_processes = 4 };

/// The length of a pass, in nanoseconds.
static const double duration = 4e8;

/// What a process did in a pass.
struct work {
    long count;
    /// The longest time that one set took, in nanoseconds.
    double longest;
};

struct member {
    pid_t process;
    int start, result;
};

void require(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "%s failed: %s\n", what, strerror(errno));
    exit(1);
}

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static int is_after(const void *first, const void *second) {
    double left = *(const double *)first, right = *(const double *)second;
    return (left > right) - (left < right);
}

double quantile(double *samples, int count, double rank) {
    qsort(samples, count, sizeof *samples, is_after);
    return samples[(int)(rank * (count - 1) + 0.5)];
}

static struct work pass(const struct store *store, void *handle, long *value) {
    struct work work = {0, 0};
    double start = now(), last = start;
    while (last - start < duration) {
        store->set(handle, ++*value);
        double end = now();
        if (end - last > work.longest) work.longest = end - last;
        work.count += 1;
        last = end;
    }
    return work;
}

/// Makes a pass for each byte of the input, until the input ends.
static void run(const struct store *store, const char *directory, int number, int start, int result) {
    void *handle = store->open(directory, number);
    long value = 1000000;
    char byte;
    while (read(start, &byte, 1) == 1) {
        struct work work = pass(store, handle, &value);
        require(write(result, &work, sizeof work) == sizeof work, "writing a result");
    }
    store->close(handle);
    exit(0);
}

static struct member begin(const struct store *store, const char *directory, int number) {
    int start[2], result[2];
    // The ends that other processes use are closed there: the end of the input is what ends them.
    require(pipe(start) == 0 && pipe(result) == 0, "creating a pipe");
    pid_t process = fork();
    require(process >= 0, "creating a process");
    if (process == 0) {
        close(start[1]);
        close(result[0]);
        run(store, directory, number, start[0], result[1]);
    }
    close(start[0]);
    close(result[1]);
    return (struct member){process, start[1], result[0]};
}

static void measure(const struct store *store, const char *directory, int processes) {
    struct member members[most_processes];
    double counts[passes], longest[passes];
    fflush(stdout);
    for (int number = 0; number < processes; number++) members[number] = begin(store, directory, number);
    for (int number = -1; number < passes; number++) {
        struct work all = {0, 0};
        for (int member = 0; member < processes; member++) {
            require(write(members[member].start, "", 1) == 1, "starting a pass");
        }
        for (int member = 0; member < processes; member++) {
            struct work work;
            require(read(members[member].result, &work, sizeof work) == sizeof work, "reading a result");
            all.count += work.count;
            if (work.longest > all.longest) all.longest = work.longest;
        }
        // The first pass opens the store.
        if (number < 0) continue;
        counts[number] = all.count;
        longest[number] = all.longest;
    }
    // All of them first: a later process has inherited the ends of the earlier ones.
    for (int member = 0; member < processes; member++) close(members[member].start);
    for (int member = 0; member < processes; member++) {
        int status;
        close(members[member].result);
        require(waitpid(members[member].process, &status, 0) > 0 && status == 0, "a process that sets values");
    }
    double count = quantile(counts, passes, 0.5);
    printf("%-28s %d at once %9.0f sets/s %6.0f ns per set, the longest %.1f ms\n", store->name, processes, count / duration * 1e9, duration / count,
           quantile(longest, passes, 0.5) / 1e6);
}

void measure_sets(const struct store *store, const char *directory) {
    for (int processes = 1; processes <= most_processes; processes *= 2) measure(store, directory, processes);
}
