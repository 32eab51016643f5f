// SPDX-License-Identifier: Apache-2.0

#include <MMKV.h>

#include <cstdio>
#include <string>

#include "crowd.h"

namespace {

struct Handle {
    MMKV *settings;
    std::string key;
};

void *open(const char *directory, int number) {
    MMKV::initializeMMKV(directory, MMKVLogNone);
    MMKV *settings = MMKV::mmkvWithID("settings", MMKV_MULTI_PROCESS);
    require(settings != nullptr, "mmkvWithID");
    return new Handle{settings, "key" + std::to_string(number)};
}

void set(void *pointer, long value) {
    auto handle = static_cast<Handle *>(pointer);
    require(handle->settings->set(static_cast<int64_t>(value), handle->key), "MMKV::set");
}

void close(void *pointer) {
    auto handle = static_cast<Handle *>(pointer);
    handle->settings->close();
    delete handle;
}

}  // namespace

/// Measures sets in an empty directory.
int main(int, char **arguments) {
    const store mmkv = {"MMKV, multi-process mode", open, set, close};
    measure_sets(&mmkv, arguments[1]);
}
