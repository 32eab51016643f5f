// SPDX-License-Identifier: Apache-2.0

#include <dconf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crowd.h"

enum { changes = 200 };

static const char *const key = "/peers/time";
static double samples[changes];
static int received;

static void changed(DConfClient *client, char *prefix, char **paths, char *tag, GMainLoop *loop) {
    double end = now();
    GVariant *value = dconf_client_read(client, key);
    if (value == NULL) return;
    samples[received++] = end - g_variant_get_double(value);
    g_variant_unref(value);
    if (received == changes) g_main_loop_quit(loop);
}

/// Sets the time every 5 ms in a process of its own, and waits for dconf each time.
static void write_times(int watched) {
    char byte;
    require(read(watched, &byte, 1) == 1, "waiting for the reader");
    DConfClient *client = dconf_client_new();
    for (int number = 0; number < changes; number++) {
        usleep(5000);
        require(dconf_client_write_sync(client, key, g_variant_new_double(now()), NULL, NULL, NULL), "writing");
    }
    g_object_unref(client);
    exit(0);
}

/// Prints how long another process's change takes until the signal of a client.
int main(void) {
    int watched[2];
    require(pipe(watched) == 0, "creating a pipe");
    pid_t process = fork();
    require(process >= 0, "creating a process");
    if (process == 0) write_times(watched[0]);

    GMainLoop *loop = g_main_loop_new(NULL, FALSE);
    DConfClient *client = dconf_client_new();
    g_signal_connect(client, "changed", G_CALLBACK(changed), loop);
    dconf_client_watch_sync(client, "/peers/");
    require(write(watched[1], "", 1) == 1, "starting the writer");
    g_main_loop_run(loop);
    require(waitpid(process, NULL, 0) > 0, "waiting for the writer");
    double p99 = quantile(samples, changes, 0.99), p50 = quantile(samples, changes, 0.5);
    printf("dconf, another process's change: p50 %.2f ms, p99 %.2f ms\n", p50 / 1e6, p99 / 1e6);
    g_object_unref(client);
    g_main_loop_unref(loop);
}
