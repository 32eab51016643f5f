// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crowd.h"

enum { replacements = 500, lines = 2000 };

/// Prints the time to replace a file of 1 KB so that it survives the loss of power, without and with its directory.
static void replace(const char *directory) {
    char path[4096], temporary[4096], bytes[1024];
    double samples[replacements];
    snprintf(path, sizeof path, "%s/file", directory);
    snprintf(temporary, sizeof temporary, "%s/file.new", directory);
    memset(bytes, 'x', sizeof bytes);
    int parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(parent >= 0, "opening the directory");
    for (int syncs_directory = 0; syncs_directory <= 1; syncs_directory++) {
        for (int number = 0; number < replacements; number++) {
            double start = now();
            int file = open(temporary, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
            require(file >= 0, "opening a file");
            require(write(file, bytes, sizeof bytes) == sizeof bytes, "write");
            require(fsync(file) == 0, "fsync");
            require(close(file) == 0, "close");
            require(rename(temporary, path) == 0, "rename");
            if (syncs_directory) require(fsync(parent) == 0, "fsync");
            samples[number] = now() - start;
        }
        printf("1 KB, fsync, rename%s: %.2f ms\n", syncs_directory ? ", fsync of the directory" : "",
               quantile(samples, replacements, 0.5) / 1e6);
    }
    close(parent);
}

/// Prints how long a line takes through a pipe to a process that waits for it.
static void send(void) {
    int there[2], back[2];
    double samples[lines], sent, received;
    require(pipe(there) == 0 && pipe(back) == 0, "creating a pipe");
    fflush(stdout);
    pid_t process = fork();
    require(process >= 0, "creating a process");
    if (process == 0) {
        close(there[1]);
        while (read(there[0], &sent, sizeof sent) == sizeof sent) {
            received = now();
            require(write(back[1], &received, sizeof received) == sizeof received, "write");
        }
        exit(0);
    }
    close(there[0]);
    for (int number = 0; number < lines; number++) {
        // The receiver waits by then.
        usleep(500);
        sent = now();
        require(write(there[1], &sent, sizeof sent) == sizeof sent, "write");
        require(read(back[0], &received, sizeof received) == sizeof received, "read");
        samples[number] = received - sent;
    }
    close(there[1]);
    require(waitpid(process, NULL, 0) > 0, "waiting for a process");
    double p99 = quantile(samples, lines, 0.99), p50 = quantile(samples, lines, 0.5);
    printf("a line through a pipe: p50 %.1f µs, p99 %.1f µs\n", p50 / 1e3, p99 / 1e3);
}

int main(int count, char **arguments) {
    require(count == 2, "choosing a directory");
    replace(arguments[1]);
    send();
}
