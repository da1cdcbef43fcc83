/* Preloaded into a server: a disk that is slow below one path. Built and loaded by lab.py.
 *
 * SLOW_PATH   calls on files whose path contains this text are slow
 * SLOW_MS     each for this long, ms
 * SLOW_CALLS  of these calls: open, read, write, sync
 * SLOW_LOCK   a file: one call at a time over all processes, as a disk with one head serves them
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void be_slow(int fd, const char *call)
{
	const char *path = getenv("SLOW_PATH"), *calls = getenv("SLOW_CALLS");
	const char *ms = getenv("SLOW_MS"), *lock = getenv("SLOW_LOCK");
	char link[64], name[4096];
	if (fd < 0 || !path || !ms || (calls && !strstr(calls, call)))
		return;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, name, sizeof name - 1);
	if (length < 0)
		return;
	name[length] = 0;
	if (!strstr(name, path))
		return;
	long us = atol(ms) * 1000;
	struct timespec time = {us / 1000000, us % 1000000 * 1000};
	/* A lock belongs to an open file: each call needs one of its own. */
	int head = lock ? open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
	if (head >= 0)
		flock(head, LOCK_EX);
	nanosleep(&time, NULL);
	if (head >= 0)
		close(head);
}

static int is_file(int fd)
{
	struct stat stat;
	return fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode);
}

#define OPENAT(NAME)                                                                   \
	int NAME(int folder, const char *path, int flags, ...)                         \
	{                                                                              \
		static int (*next)(int, const char *, int, ...);                       \
		va_list rest;                                                          \
		va_start(rest, flags);                                                 \
		int mode = va_arg(rest, int);                                          \
		va_end(rest);                                                          \
		if (!next)                                                             \
			next = dlsym(RTLD_NEXT, #NAME);                                \
		int fd = next(folder, path, flags, mode);                              \
		if (!(flags & O_PATH) && is_file(fd))                                  \
			be_slow(fd, "open");                                           \
		return fd;                                                             \
	}
OPENAT(openat)
OPENAT(openat64)

#define MOVE(NAME, POINTER, WORD)                                                      \
	ssize_t NAME(int fd, POINTER buffer, size_t count, off64_t at)                 \
	{                                                                              \
		static ssize_t (*next)(int, POINTER, size_t, off64_t);                 \
		if (!next)                                                             \
			next = dlsym(RTLD_NEXT, #NAME);                                \
		be_slow(fd, WORD);                                                     \
		return next(fd, buffer, count, at);                                    \
	}
MOVE(pread, void *, "read")
MOVE(pread64, void *, "read")
MOVE(pwrite, const void *, "write")
MOVE(pwrite64, const void *, "write")

#define MOVE_VECTOR(NAME, WORD)                                                        \
	ssize_t NAME(int fd, const struct iovec *parts, int count, off64_t at)         \
	{                                                                              \
		static ssize_t (*next)(int, const struct iovec *, int, off64_t);       \
		if (!next)                                                             \
			next = dlsym(RTLD_NEXT, #NAME);                                \
		be_slow(fd, WORD);                                                     \
		return next(fd, parts, count, at);                                     \
	}
MOVE_VECTOR(preadv, "read")
MOVE_VECTOR(preadv64, "read")
MOVE_VECTOR(pwritev, "write")
MOVE_VECTOR(pwritev64, "write")

#define SYNC(NAME)                                                                     \
	int NAME(int fd)                                                               \
	{                                                                              \
		static int (*next)(int);                                               \
		if (!next)                                                             \
			next = dlsym(RTLD_NEXT, #NAME);                                \
		be_slow(fd, "sync");                                                   \
		return next(fd);                                                       \
	}
SYNC(fsync)
SYNC(fdatasync)

/* NFS-Ganesha loads its file systems so that they find the C library before us: not so. */
void *dlopen(const char *file, int flags)
{
	static void *(*next)(const char *, int);
	if (!next)
		next = dlsym(RTLD_NEXT, "dlopen");
	return next(file, flags & ~RTLD_DEEPBIND);
}
