/* When parallel regions of OpenMP may be opened, and what their threads need (C11).
 *
 * GCC's runtime keeps the threads of a region for the next one of the same caller. In a child of a process that has such
 * threads, a region waits for them forever; where the system grants no further thread, the runtime ends the process; and for
 * each thread that opens regions it keeps threads of their own. So regions are for one thread of a process that is no child of
 * a fork, and the threads that they may lack are first made by way of trial. */
#ifndef DFOREST_REGIONS_H
#define DFOREST_REGIONS_H

#include <Python.h>
#include <omp.h>

static int df_was_forked = 0;

#if !defined(_WIN32)
#include <pthread.h>

static void df_note_fork(void) { df_was_forked = 1; }
static void df_watch_forks(void) { pthread_atfork(NULL, NULL, df_note_fork); }

static void *df_wait_at(void *gate) {
    pthread_mutex_lock((pthread_mutex_t *)gate);
    pthread_mutex_unlock((pthread_mutex_t *)gate);
    return NULL;
}

/* How many of n threads the system grants at once. */
static int df_grants(int n) {
    pthread_t made[256];
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    int n_made = 0;
    n = n < 256 ? n : 256;
    pthread_mutex_lock(&gate);
    while (n_made < n && pthread_create(&made[n_made], NULL, df_wait_at, &gate) == 0)
        n_made++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < n_made; i++)
        pthread_join(made[i], NULL);
    return n_made;
}
#else
static void df_watch_forks(void) {}
static int df_grants(int n) { return n; }
#endif

/* Whether the calling thread may open a region of n threads, as far as the runtime and forks tell. A runtime that would give it
 * fewer does not keep to what the user has asked for. */
static inline int df_may_open(int n) {
    return !df_was_forked && !omp_in_parallel() && !omp_get_dynamic() && omp_get_thread_limit() >= n;
}

/* How many cores the places have to which the runtime binds threads. */
static inline int df_bound_cores(void) {
    int n_cores = 0;
    for (int place = 0; place < omp_get_num_places(); place++)
        n_cores += omp_get_place_num_procs(place);
    return n_cores;
}

/* A thread of OpenMP has a state of Python's while it does items: exceptions lie there until they are caught. */
typedef struct {
    PyGILState_STATE before;
    PyThreadState *state;
} df_python_state;

static inline df_python_state df_enter_python(void) {
    df_python_state own;
    own.before = PyGILState_Ensure();
    own.state = PyEval_SaveThread();
    return own;
}

static inline void df_leave_python(df_python_state own) {
    PyEval_RestoreThread(own.state);
    PyGILState_Release(own.before);
}

#endif
