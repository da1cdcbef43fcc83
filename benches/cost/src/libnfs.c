/* The same calls through libnfs: `libnfs URL getattr|read COUNT DEPTH LENGTH FILE as-is|no-delay` prints
 * "operations cpu_ns elapsed_ns 0 0". libnfs 4 leaves TCP_NODELAY off: a call that it sends while another is not
 * acknowledged waits in the kernel, and goes out, with those that came after it, when the acknowledgement comes, in the
 * processor time of whoever sends that: the server. "no-delay" sets it, so that what is asked for is sent, and by whom
 * it is asked for. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <nfsc/libnfs.h>

static struct nfs_context *nfs;
static struct nfsfh *file;
static long to_send, outstanding, failed;
static int is_read, length;
static unsigned long long offset;

static void done(int status, struct nfs_context *context, void *data, void *private_data);

static void send_one(void)
{
	int error;
	if (to_send == 0)
		return;
	to_send--;
	outstanding++;
	if (is_read) {
		offset = (offset + length) % (8 << 20);
		error = nfs_pread_async(nfs, file, offset, length, done, NULL);
	} else {
		error = nfs_fstat64_async(nfs, file, done, NULL);
	}
	if (error)
		failed++;
}

static void done(int status, struct nfs_context *context, void *data, void *private_data)
{
	outstanding--;
	if (status < 0 || (is_read && status != length))
		failed++;
	send_one();
}

static long long now(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void run(long count, int depth)
{
	to_send = count;
	for (int i = 0; i < depth; i++)
		send_one();
	while (outstanding > 0) {
		struct pollfd polled = { .fd = nfs_get_fd(nfs), .events = nfs_which_events(nfs) };
		if (poll(&polled, 1, 10000) < 1 || nfs_service(nfs, polled.revents) < 0) {
			fprintf(stderr, "libnfs: %s\n", nfs_get_error(nfs));
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc != 8)
		return 2;
	long count = atol(argv[3]);
	int depth = atoi(argv[4]);
	is_read = strcmp(argv[2], "read") == 0;
	length = atoi(argv[5]);
	nfs = nfs_init_context();
	struct nfs_url *url = nfs_parse_url_dir(nfs, argv[1]);
	if (!url || nfs_mount(nfs, url->server, url->path) || nfs_open(nfs, argv[6], O_RDONLY, &file)) {
		fprintf(stderr, "libnfs: %s\n", nfs_get_error(nfs));
		return 1;
	}
	nfs_set_readahead(nfs, 0);
	int no_delay = strcmp(argv[7], "no-delay") == 0;
	if (setsockopt(nfs_get_fd(nfs), IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof no_delay)) {
		perror("libnfs: TCP_NODELAY");
		return 1;
	}
	run(count / 10, depth);
	long long cpu = now(CLOCK_PROCESS_CPUTIME_ID), start = now(CLOCK_MONOTONIC);
	run(count, depth);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	if (failed) {
		fprintf(stderr, "libnfs: %ld operations failed\n", failed);
		return 1;
	}
	printf("%ld %lld %lld 0 0\n", count, cpu, now(CLOCK_MONOTONIC) - start);
	return 0;
}
