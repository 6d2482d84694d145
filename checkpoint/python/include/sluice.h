/* sluice.h: make a program in C or C++ elastic. Header only, C99 or C++11, POSIX;
 * nothing to link. The protocol that it speaks is checkpoint/PROTOCOL.md.
 *
 *     char from[SLUICE_PATH]; long first = 0;
 *     if (sluice_resume(from, &first, NULL)) load(from);
 *     for (long step = first; step < steps; step++) {
 *         train(step);
 *         sluice_report(step + 1, 0);
 *         if (sluice_asked()) {
 *             char folder[SLUICE_PATH];
 *             if (sluice_begin(folder) == 0 && save(folder) == 0)
 *                 sluice_commit(folder, step + 1, 0);
 *         }
 *     }
 *     sluice_finished();
 *
 * One process of the program makes these calls: rank 0. With MPI, rank 0 asks and
 * tells the others (MPI_Bcast); all ranks have written and closed their files before
 * rank 0 commits (MPI_Barrier), and all wait for rank 0 afterwards: see
 * examples/train_mpi.cpp. The calls are not for several threads at once.
 *
 * Outside of a job that sluice submitted every call does nothing: sluice_resume() and
 * sluice_asked() return 0, sluice_begin() returns -1. Functions that return -1 have
 * set errno. Licence: Apache-2.0. */
#ifndef SLUICE_H
#define SLUICE_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define SLUICE_PATH 4096 /* bytes of a path that is handed out */
#define SLUICE_LOOK 0.2  /* seconds between two looks for a request */
#define SLUICE_HELD 5.0  /* seconds between two lines of progress */
#define SLUICE_ID 101    /* bytes of a request's id, with its end */

/* The state of this process. */
static struct {
	double looked, reported;     /* seconds on a clock that never jumps; 0 = never */
	double began;                /* the open checkpoint, on that clock */
	char seen[SLUICE_ID];        /* the request that stands; "" = none */
	char answered[SLUICE_ID];    /* the request answered last */
	long highest, step, since;   /* checkpoint, step reported last, step at the line before */
	int hello;                   /* the program has said that it answers requests */
} sluice_state_;

static inline const char *sluice_env_(const char *name) {
	const char *found = getenv(name);
	return found ? found : "";
}

static inline int sluice_active(void) { return *sluice_env_("SLUICE_JOB_DIR") && *sluice_env_("SLUICE_CHECKPOINTS"); }

static inline double sluice_clock_(clockid_t which) {
	struct timespec now;
	clock_gettime(which, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Reads at most size-1 bytes of a small file; the directory is opened first, which
 * makes network file systems look again. Returns their number, -1 = no such file. */
static inline ssize_t sluice_read_(const char *path, char *content, size_t size) {
	char folder[SLUICE_PATH];
	const char *name = strrchr(path, '/');
	ssize_t done = 0, got = 0;
	int directory, file;
	if (!name || (size_t)(name - path) >= sizeof folder) return errno = ENAMETOOLONG, -1;
	memcpy(folder, path, (size_t)(name - path));
	folder[name - path] = 0;
	if ((directory = open(*folder ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) return -1;
	file = openat(directory, name + 1, O_RDONLY | O_CLOEXEC);
	close(directory);
	if (file < 0) return -1;
	while ((size_t)done < size - 1 && (got = read(file, content + done, size - 1 - (size_t)done)) > 0) done += got;
	close(file);
	content[done] = 0;
	return got < 0 ? -1 : done;
}

/* Finds the value of a key in small JSON; "" or 0 where there is none. Keys in the text
 * of a string are preceded by a backslash, since their quotes are. */
static inline const char *sluice_value_(const char *json, const char *key) {
	char quoted[64];
	const char *at = json;
	snprintf(quoted, sizeof quoted, "\"%s\"", key);
	while ((at = strstr(at, quoted))) {
		const char *value = at + strlen(quoted);
		int text = at > json && at[-1] == '\\';
		while (*value == ' ' || *value == '\n' || *value == '\t') value++;
		if (!text && *value == ':') {
			for (value++; *value == ' ' || *value == '\n' || *value == '\t'; value++) {}
			return value;
		}
		at++;
	}
	return "";
}

/* Looks for the request that stands; its id goes to id, "" = none. Returns 1 when
 * training is to go on after the save. */
static inline int sluice_request_(char *id) {
	char json[65536];
	const char *value;
	size_t n = 0;
	*id = 0;
	if (sluice_read_(sluice_env_("SLUICE_REQUEST"), json, sizeof json) <= 0) return 0;
	value = sluice_value_(json, "request");
	if (*value++ != '"') return 0;
	while (n < SLUICE_ID - 1 && (strchr("._:-", value[n]) ? n > 0 && value[n] : (value[n] >= '0' && value[n] <= '9') || (value[n] >= 'A' && value[n] <= 'Z') || (value[n] >= 'a' && value[n] <= 'z'))) n++;
	if (n == 0 || value[n] != '"') return 0;
	memcpy(id, value, n);
	id[n] = 0;
	return strncmp(sluice_value_(json, "continue"), "true", 4) == 0;
}

/* Appends a line to the progress log. Lines are for people and for speeds: losing one
 * harms nothing. */
static inline int sluice_line_(const char *event, long step, double epoch, double seconds) {
	char path[SLUICE_PATH], line[512], last;
	const char *unit = sluice_env_("SLUICE_UNIT");
	double done = strcmp(unit, "epoch") == 0 || (!*unit && epoch > 0) ? epoch : (double)step;
	int file, n, result;
	off_t end;
	if (!sluice_active()) return 0;
	snprintf(path, sizeof path, "%s/progress.jsonl", sluice_env_("SLUICE_JOB_DIR"));
	n = snprintf(line, sizeof line, "{\"time\": %.3f, \"restarts\": %ld, \"event\": \"%s\", \"done\": %.6f, \"step\": %ld, \"epoch\": %.6f, \"seconds\": %.6f, \"gpus\": %ld, \"nodes\": %ld}\n",
	             sluice_clock_(CLOCK_REALTIME), atol(sluice_env_("SLUICE_RESTARTS")), event, done, step, epoch, seconds,
	             atol(sluice_env_("SLUICE_GPUS")), atol(sluice_env_("SLUICE_NODES")));
	if ((file = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) < 0) return -1;
	end = lseek(file, 0, SEEK_END);
	if (end > 0 && pread(file, &last, 1, end - 1) == 1 && last != '\n') { /* a run was killed in its line */
		memmove(line + 1, line, (size_t)n++);
		line[0] = '\n';
	}
	result = write(file, line, (size_t)n) == n ? 0 : -1;
	close(file);
	return result;
}

/* Returns 1 and the folder to load from (SLUICE_PATH bytes), with the step and the
 * epoch that its training had finished; 0 = start from nothing. The checkpoint was
 * verified before the program was started. step and epoch may be NULL. */
static inline int sluice_resume(char *path, long *step, double *epoch) {
	char name[SLUICE_PATH + 32], json[65536];
	const char *from = sluice_env_("SLUICE_RESUME");
	if (!sluice_active() || !*from || strlen(from) >= SLUICE_PATH) return 0;
	snprintf(name, sizeof name, "%s/manifest.json", from);
	if (sluice_read_(name, json, sizeof json) <= 0) return 0;
	strcpy(path, from);
	sluice_state_.step = sluice_state_.since = atol(sluice_value_(json, "step"));
	if (step) *step = sluice_state_.step;
	if (epoch) *epoch = atof(sluice_value_(json, "epoch"));
	sluice_line_("resumed", sluice_state_.step, atof(sluice_value_(json, "epoch")), 0);
	return 1;
}

/* Returns 1 when the program is to save now. Cheap: call it at every step. */
static inline int sluice_asked(void) {
	double now = sluice_clock_(CLOCK_MONOTONIC);
	if (!sluice_active()) return 0;
	if (!sluice_state_.hello) sluice_state_.hello = 1, sluice_line_("hello", sluice_state_.step, 0, 0);
	if (sluice_state_.looked == 0 || now - sluice_state_.looked >= SLUICE_LOOK) {
		sluice_state_.looked = now;
		sluice_request_(sluice_state_.seen);
		if (!*sluice_state_.seen) *sluice_state_.answered = 0; /* should the same be asked again, it counts */
	}
	return *sluice_state_.seen && strcmp(sluice_state_.seen, sluice_state_.answered) != 0;
}

/* Makes the folder of the next checkpoint (SLUICE_PATH bytes). Write the files into it,
 * close them, then call sluice_commit(). Returns 0, or -1. */
static inline int sluice_begin(char *folder) {
	const char *base = sluice_env_("SLUICE_CHECKPOINTS");
	long next = sluice_state_.highest;
	struct dirent *entry;
	DIR *all;
	if (!sluice_active()) return errno = ENOENT, -1;
	if (mkdir(base, 0700) != 0 && errno != EEXIST) return -1;
	if (!(all = opendir(base))) return -1;
	while ((entry = readdir(all)))
		if (strlen(entry->d_name) == 8 && strspn(entry->d_name, "0123456789") == 8 && atol(entry->d_name) > next) next = atol(entry->d_name);
	closedir(all);
	do {
		if (snprintf(folder, SLUICE_PATH, "%s/%08ld", base, ++next) >= SLUICE_PATH) return errno = ENAMETOOLONG, -1;
	} while (mkdir(folder, 0700) != 0 && errno == EEXIST);
	sluice_state_.highest = next;
	sluice_state_.began = sluice_clock_(CLOCK_MONOTONIC);
	return access(folder, W_OK);
}

/* SHA-256, FIPS 180-4. */
typedef struct { uint32_t h[8]; uint64_t size; unsigned char block[64]; } sluice_sum_;

static inline uint32_t sluice_turn_(uint32_t x, int n) { return x >> n | x << (32 - n); }

static inline void sluice_block_(sluice_sum_ *s) {
	static const uint32_t k[64] = {
		0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
		0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
		0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
		0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
		0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
		0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
	uint32_t w[64], v[8];
	int i;
	for (i = 0; i < 16; i++) w[i] = (uint32_t)s->block[4 * i] << 24 | (uint32_t)s->block[4 * i + 1] << 16 | (uint32_t)s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
	for (; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] + (sluice_turn_(w[i - 15], 7) ^ sluice_turn_(w[i - 15], 18) ^ w[i - 15] >> 3) + (sluice_turn_(w[i - 2], 17) ^ sluice_turn_(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, s->h, sizeof v);
	for (i = 0; i < 64; i++) {
		uint32_t a = v[7] + (sluice_turn_(v[4], 6) ^ sluice_turn_(v[4], 11) ^ sluice_turn_(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
		uint32_t b = (sluice_turn_(v[0], 2) ^ sluice_turn_(v[0], 13) ^ sluice_turn_(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof *v);
		v[4] += a;
		v[0] = a + b;
	}
	for (i = 0; i < 8; i++) s->h[i] += v[i];
}

static inline void sluice_add_(sluice_sum_ *s, const unsigned char *data, size_t size) {
	while (size > 0) {
		size_t at = s->size % 64, part = size < 64 - at ? size : 64 - at;
		memcpy(s->block + at, data, part);
		s->size += part, data += part, size -= part;
		if (s->size % 64 == 0) sluice_block_(s);
	}
}

static inline void sluice_hex_(sluice_sum_ *s, char *hex) {
	static const unsigned char end[64] = {0x80};
	uint64_t bits = s->size * 8;
	unsigned char length[8];
	int i;
	for (i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
	sluice_add_(s, end, 1 + (size_t)((119 - s->size % 64) % 64));
	sluice_add_(s, length, 8);
	for (i = 0; i < 8; i++) snprintf(hex + 8 * i, 9, "%08x", s->h[i]);
}

/* Writes text as a JSON string. */
static inline void sluice_quote_(FILE *out, const char *text) {
	fputc('"', out);
	for (; *text; text++)
		if ((unsigned char)*text < 32 || *text == '"' || *text == '\\') fprintf(out, "\\u%04x", (unsigned)(unsigned char)*text);
		else fputc(*text, out);
	fputc('"', out);
}

static inline int sluice_sync_(const char *path) {
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result;
	if (folder < 0) return -1;
	result = fsync(folder) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : -1; /* some file systems cannot, and need not */
	close(folder);
	return result;
}

/* Flushes and sums one file, and lists it in the manifest. */
static inline int sluice_file_(FILE *out, const char *path, const char *name, int *count) {
	static unsigned char data[1 << 18];
	sluice_sum_ sum = {{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, 0, {0}};
	unsigned long long size;
	char hex[65];
	ssize_t got;
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file < 0 || fsync(file) != 0) goto failed;
	while ((got = read(file, data, sizeof data)) > 0) sluice_add_(&sum, data, (size_t)got);
	if (got < 0) goto failed;
	close(file);
	size = sum.size; /* sluice_hex_() adds the padding to it */
	sluice_hex_(&sum, hex);
	fprintf(out, "%s\n  {\"path\": ", (*count)++ ? "," : "");
	sluice_quote_(out, name);
	fprintf(out, ", \"size\": %llu, \"sha256\": \"%s\"}", size, hex);
	return 0;
failed:
	if (file >= 0) close(file);
	return -1;
}

/* Lists all files below a folder. Anything that is neither file nor folder is an error:
 * verification would refuse it. */
static inline int sluice_files_(FILE *out, const char *folder, const char *within, int *count) {
	DIR *all = opendir(folder);
	struct dirent *entry;
	int result = all ? 0 : -1;
	while (result == 0 && (entry = readdir(all))) {
		char path[SLUICE_PATH], name[SLUICE_PATH];
		struct stat is;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
		if (!*within && !strncmp(entry->d_name, ".manifest", 9)) continue;
		if (!strncmp(entry->d_name, ".nfs", 4) && strlen(entry->d_name) >= 20 &&
		    !entry->d_name[4 + strspn(entry->d_name + 4, "0123456789abcdef")])
			continue; /* removed while it was open, on NFS */
		if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path ||
		    snprintf(name, sizeof name, "%s%s%s", within, *within ? "/" : "", entry->d_name) >= (int)sizeof name)
			errno = ENAMETOOLONG, result = -1;
		else if (lstat(path, &is) != 0) result = -1;
		else if (S_ISDIR(is.st_mode)) result = sluice_files_(out, path, name, count);
		else if (S_ISREG(is.st_mode)) result = sluice_file_(out, path, name, count);
		else errno = EINVAL, result = -1;
	}
	if (all) closedir(all);
	return result == 0 ? sluice_sync_(folder) : result;
}

/* Waits to be stopped, or until the request is taken back. */
static inline void sluice_wait_(const char *request) {
	char now[SLUICE_ID];
	struct timespec pause = {0, 200000000};
	do {
		nanosleep(&pause, NULL);
		sluice_request_(now);
	} while (!strcmp(now, request));
	*sluice_state_.seen = 0;
}

/* Closes a checkpoint whose files are all written: sums them and writes the manifest,
 * last and as a whole. step and epoch are what the training has finished. When it
 * answers a request that says nothing else, the call then waits: the job is stopped
 * meanwhile and goes on from this checkpoint at another size, or the request is taken
 * back and the call returns.
 * Returns 0, or -1: then there is no checkpoint, and training should simply go on. */
static inline int sluice_commit(const char *folder, long step, double epoch) {
	char temporary[SLUICE_PATH + 32], manifest[SLUICE_PATH + 32], base[SLUICE_PATH], created[32], request[SLUICE_ID], token[SLUICE_PATH];
	const char *number = strrchr(folder, '/');
	time_t now = time(NULL);
	struct tm utc;
	int count = 0, good, onward;
	FILE *out;
	if (!sluice_active() || !number || strlen(folder) >= SLUICE_PATH) return errno = EINVAL, -1;
	snprintf(token, sizeof token, "%s", sluice_env_("SLUICE_JOB_DIR"));
	while (strlen(token) > 1 && token[strlen(token) - 1] == '/') token[strlen(token) - 1] = 0;
	gmtime_r(&now, &utc);
	strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", &utc);
	snprintf(temporary, sizeof temporary, "%s/.manifest.new", folder);
	snprintf(manifest, sizeof manifest, "%s/manifest.json", folder);
	if (!(out = fopen(temporary, "w"))) return -1;
	fprintf(out, "{\"version\": 1, \"job\": %ld, \"token\": ", atol(sluice_env_("SLUICE_JOB_ID")));
	sluice_quote_(out, strrchr(token, '/') ? strrchr(token, '/') + 1 : token);
	fprintf(out, ", \"restarts\": %ld, \"sequence\": %ld, \"step\": %ld, \"epoch\": %.9g, \"created\": \"%s\", \"gpus\": %ld,\n \"files\": [",
	        atol(sluice_env_("SLUICE_RESTARTS")), atol(number + 1), step, epoch, created, atol(sluice_env_("SLUICE_GPUS")));
	good = sluice_files_(out, folder, "", &count) == 0 && count > 0;
	/* Looked for last, when all is on disk: a checkpoint that was under way answers, too. */
	onward = sluice_request_(request);
	fprintf(out, "\n ], \"seconds\": %.3f%s%s%s}\n", sluice_clock_(CLOCK_MONOTONIC) - sluice_state_.began, *request ? ", \"request\": \"" : "", request, *request ? "\"" : "");
	good = fflush(out) == 0 && !ferror(out) && fsync(fileno(out)) == 0 && good;
	good = fclose(out) == 0 && good;
	if (!good || rename(temporary, manifest) != 0) {
		int why = errno;
		unlink(temporary);
		return errno = why, -1;
	}
	snprintf(base, sizeof base, "%.*s", (int)(number - folder), folder);
	if (sluice_sync_(folder) != 0 || sluice_sync_(base) != 0) return -1;
	strcpy(sluice_state_.answered, request);
	if (*request && !onward) sluice_wait_(request);
	return 0;
}

/* Reports how many steps and epochs are finished. Call it as often as you like: a line
 * is written every five seconds at most. Returns 0, or -1; training should go on. */
static inline int sluice_report(long step, double epoch) {
	double now = sluice_clock_(CLOCK_MONOTONIC), seconds = 0;
	if (!sluice_active()) return 0;
	sluice_state_.step = step;
	if (sluice_state_.reported > 0 && now - sluice_state_.reported < SLUICE_HELD) return 0;
	if (sluice_state_.reported > 0 && step > sluice_state_.since && !(epoch > 0)) seconds = (now - sluice_state_.reported) / (double)(step - sluice_state_.since);
	sluice_state_.reported = now;
	sluice_state_.since = step;
	return sluice_line_("progress", step, epoch, seconds);
}

/* Says that all work is done; the program is about to exit 0. */
static inline int sluice_finished(void) { return sluice_line_("finished", sluice_state_.step, 0, 0); }

#endif
