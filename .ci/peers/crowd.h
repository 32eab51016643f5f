// SPDX-License-Identifier: Apache-2.0

#ifndef CROWD_H
#define CROWD_H

#ifdef __cplusplus
extern "C" {
#endif

/// A store that processes write to.
struct store {
    const char *name;
    /// Opens the store of a directory in a process with a number, and returns what the other functions receive.
    void *(*open)(const char *directory, int number);
    /// Sets the key of the process.
    void (*set)(void *handle, long value);
    void (*close)(void *handle);
};

/// Prints how long sets take: of one process, and of two and four at once.
///
/// Each process sets a key of its own without a pause for 0.4 s, as in the benchmarks of this repository. The result is the
/// median of five passes after a first one.
void measure_sets(const struct store *store, const char *directory);

/// Prints the cause and ends the process if a condition is false.
void require(int condition, const char *what);

/// The time of a monotonic clock, in nanoseconds.
double now(void);

/// Sorts samples in place, and returns the one at a rank between 0 and 1.
double quantile(double *samples, int count, double rank);

#ifdef __cplusplus
}
#endif

#endif
