// A library for LD_PRELOAD that refuses what a kernel with larger pages refuses. LARGE_PAGES is their size in bytes.
//
// It does not hide that the kernel has smaller pages: an access behind the end of a file raises SIGBUS a little earlier.
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t size = 65536;

__attribute__((constructor)) static void start(void) {
    const char *text = getenv("LARGE_PAGES");
    if (text && strtoul(text, NULL, 10) >= 4096) size = strtoul(text, NULL, 10);
}

static size_t rounded(size_t length) { return (length + size - 1) & ~(size - 1); }
static int is_aligned(const void *address) { return (uintptr_t)address % size == 0; }

static void *map(void *address, size_t length, int protection, int flags, int file, off_t offset) {
    return (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset);
}

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
    if (length == 0 || offset % (off_t)size != 0 || ((flags & MAP_FIXED) && !is_aligned(address))) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    length = rounded(length);
    if (flags & MAP_FIXED) return map(address, length, protection, flags, file, offset);
    char *space = map(NULL, length + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return space;
    char *begin = (char *)rounded((size_t)space);
    void *result = map(begin, length, protection, flags | MAP_FIXED, file, offset);
    int number = errno;
    if (begin > space) syscall(SYS_munmap, space, begin - space);
    char *end = result == MAP_FAILED ? begin : begin + length;
    if (end < space + length + size) syscall(SYS_munmap, end, space + length + size - end);
    errno = number;
    return result;
}

void *mmap64(void *address, size_t length, int protection, int flags, int file, off_t offset) {
    return mmap(address, length, protection, flags, file, offset);
}

int munmap(void *address, size_t length) {
    return is_aligned(address) ? syscall(SYS_munmap, address, rounded(length)) : (errno = EINVAL, -1);
}

int madvise(void *address, size_t length, int advice) {
    return is_aligned(address) ? syscall(SYS_madvise, address, rounded(length), advice) : (errno = EINVAL, -1);
}

int getpagesize(void) { return (int)size; }

long sysconf(int name) {
    extern long __sysconf(int);
    return name == _SC_PAGESIZE ? (long)size : __sysconf(name);
}
