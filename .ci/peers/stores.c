// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <lmdb.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "crowd.h"

/// The store of one process.
struct handle {
    MDB_env *environment;
    MDB_dbi database;
    sqlite3 *connection;
    sqlite3_stmt *statement;
    int file;
    char key[16];
};

static struct handle *make(int number) {
    struct handle *new = calloc(1, sizeof *new);
    require(new != NULL, "allocating memory");
    snprintf(new->key, sizeof new->key, "key%d", number);
    return new;
}

// LMDB

static void *open_lmdb(const char *directory, int number, unsigned flags) {
    struct handle *new = make(number);
    MDB_txn *transaction;
    require(mdb_env_create(&new->environment) == 0, "mdb_env_create");
    require(mdb_env_set_mapsize(new->environment, 64 << 20) == 0, "mdb_env_set_mapsize");
    require(mdb_env_open(new->environment, directory, flags, 0600) == 0, "mdb_env_open");
    require(mdb_txn_begin(new->environment, NULL, 0, &transaction) == 0, "mdb_txn_begin");
    require(mdb_dbi_open(transaction, NULL, 0, &new->database) == 0, "mdb_dbi_open");
    require(mdb_txn_commit(transaction) == 0, "mdb_txn_commit");
    return new;
}

static void *open_mapped(const char *directory, int number) {
    return open_lmdb(directory, number, MDB_WRITEMAP | MDB_NOSYNC);
}

static void *open_unsynced(const char *directory, int number) { return open_lmdb(directory, number, MDB_NOSYNC); }

static void set_lmdb(void *pointer, long value) {
    struct handle *handle = pointer;
    MDB_txn *transaction;
    MDB_val key = {strlen(handle->key), handle->key}, data = {sizeof value, &value};
    require(mdb_txn_begin(handle->environment, NULL, 0, &transaction) == 0, "mdb_txn_begin");
    require(mdb_put(transaction, handle->database, &key, &data, 0) == 0, "mdb_put");
    require(mdb_txn_commit(transaction) == 0, "mdb_txn_commit");
}

static void close_lmdb(void *pointer) {
    struct handle *handle = pointer;
    mdb_env_close(handle->environment);
    free(handle);
}

// SQLite

static void execute(sqlite3 *connection, const char *text) {
    require(sqlite3_exec(connection, text, NULL, NULL, NULL) == SQLITE_OK, text);
}

static void *open_sqlite(const char *directory, int number) {
    struct handle *new = make(number);
    char path[4096];
    snprintf(path, sizeof path, "%s/settings.db", directory);
    require(sqlite3_open(path, &new->connection) == SQLITE_OK, "sqlite3_open");
    require(sqlite3_busy_timeout(new->connection, 60000) == SQLITE_OK, "sqlite3_busy_timeout");
    execute(new->connection, "PRAGMA journal_mode = WAL");
    execute(new->connection, "PRAGMA synchronous = NORMAL");
    execute(new->connection, "CREATE TABLE IF NOT EXISTS settings (key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID");
    const char *text = "INSERT INTO settings VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2";
    require(sqlite3_prepare_v2(new->connection, text, -1, &new->statement, NULL) == SQLITE_OK, "sqlite3_prepare_v2");
    require(sqlite3_bind_text(new->statement, 1, new->key, -1, SQLITE_STATIC) == SQLITE_OK, "sqlite3_bind_text");
    return new;
}

static void set_sqlite(void *pointer, long value) {
    struct handle *handle = pointer;
    require(sqlite3_bind_int64(handle->statement, 2, value) == SQLITE_OK, "sqlite3_bind_int64");
    require(sqlite3_step(handle->statement) == SQLITE_DONE, "sqlite3_step");
    require(sqlite3_reset(handle->statement) == SQLITE_OK, "sqlite3_reset");
}

static void close_sqlite(void *pointer) {
    struct handle *handle = pointer;
    sqlite3_finalize(handle->statement);
    sqlite3_close(handle->connection);
    free(handle);
}

// The least that a write to a file of several processes needs

static void *open_file(const char *directory, int number) {
    struct handle *new = make(number);
    char path[4096];
    snprintf(path, sizeof path, "%s/file", directory);
    new->file = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    require(new->file >= 0, "opening a file");
    return new;
}

static void append(void *pointer, long value) {
    struct handle *handle = pointer;
    char bytes[64] = {0};
    memcpy(bytes, &value, sizeof value);
    require(flock(handle->file, LOCK_EX) == 0, "flock");
    require(write(handle->file, bytes, sizeof bytes) == sizeof bytes, "write");
    require(flock(handle->file, LOCK_UN) == 0, "flock");
}

static void close_file(void *pointer) {
    struct handle *handle = pointer;
    close(handle->file);
    free(handle);
}

static const struct store stores[] = {
    {"LMDB, WRITEMAP and NOSYNC", open_mapped, set_lmdb, close_lmdb},
    {"LMDB, NOSYNC", open_unsynced, set_lmdb, close_lmdb},
    {"SQLite, WAL, NORMAL", open_sqlite, set_sqlite, close_sqlite},
    {"flock, 64-byte write, unlock", open_file, append, close_file},
};

/// Measures the store with a number in an empty directory; without arguments, prints the versions of the libraries.
int main(int count, char **arguments) {
    if (count != 3) {
        printf("%s; SQLite %s\n", mdb_version(NULL, NULL, NULL), sqlite3_libversion());
        return 0;
    }
    int number = atoi(arguments[1]);
    require(number >= 0 && number < (int)(sizeof stores / sizeof *stores), "choosing a store");
    measure_sets(&stores[number], arguments[2]);
}
