/*
 * ring.h - a ring buffer of bytes
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RING_H
#define RING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The capacity where none is asked for. */
#define RING_DEFAULT 4096
#define RING_EMPTY(r) ((r)->head == (r)->tail)

/**
 * The larger of two values.
 */
#define RING_MAX(a, b)  \
    ({                  \
        (a) > (b)       \
            ? (a)       \
            : (b);      \
    })

/* What a call came to. */
enum ring_status {
    RING_OK = 0,
    RING_FULL,
    RING_EINVAL = -22,
};

/* Flags; they have no name of their own. */
enum {
    RING_SHARED = 1 << 0,
    RING_LOCKED = 1 << 1,
};

struct ring_ops;

/** A ring. */
typedef struct ring {
    uint8_t *data;
    size_t head, tail;
    union {
        int fd;
        void *user;
    } owner;
    const struct ring_ops *ops;
} ring_t, *ring_ptr;

/** Called when bytes come in. */
typedef void (*ring_fn)(ring_t *ring, size_t count, void *user);
typedef unsigned long ring_size;

struct ring_ops {
    int (*grow)(ring_t *ring, size_t by);
    void (*close)(ring_t *ring);
};

union ring_word { uint32_t word; uint8_t bytes[4]; };

/** The rings that are open. */
extern int ring_count, ring_peak;

/**
 * Makes a ring.
 *
 * Returns NULL without memory.
 */
ring_t *ring_new(size_t capacity);
void ring_free(ring_t *ring);

__attribute__((warn_unused_result))
enum ring_status ring_put(ring_t *ring,
                          const uint8_t *bytes,
                          size_t count);

#ifdef RING_DEBUG
void ring_dump(const ring_t *ring);
#else
static inline void ring_dump(const ring_t *ring) { (void)ring; }
#endif

#ifdef __cplusplus
}
#endif

#endif /* RING_H */
