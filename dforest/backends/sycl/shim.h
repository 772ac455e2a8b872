/* The few things of SYCL that dforest uses, behind C functions: all that a new version of it can break is here.

   A queue is the address of a sycl::queue, as dpctl's `SyclQueue.addressof_ref()` gives it; it is borrowed. Device
   memory and bundles belong to who made them. Functions that can fail return -1 or NULL; `df_sycl_error` then
   tells why, to the thread that called. Everything waits until it is done. */
#ifndef DFOREST_SHIM_H
#define DFOREST_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

const char *df_sycl_error(void);

/* Whether the queue's device can build kernels from source: 1 or 0. */
int df_sycl_can_build(void *queue);

/* Build kernels for the queue's device.

   IN names, texts : [n_files] what the source includes
   IN options : [n_options] of the compiler */
void *df_sycl_build(void *queue, const char *source, int n_files, const char *const *names, const char *const *texts,
                    int n_options, const char *const *options);
void df_sycl_release(void *bundle);

/* Run a kernel of a bundle.

   IN n_groups, n_items : work-groups, and work-items of each
   IN arguments : [n_arguments] pointers to device memory and integers of 64 bits; is_pointer : which they are
   IN n_local : bytes of memory that a work-group shares, the kernel's last parameter */
int df_sycl_launch(void *queue, void *bundle, const char *kernel, size_t n_groups, size_t n_items, int n_arguments,
                   const uint64_t *arguments, const unsigned char *is_pointer, size_t n_local);

void *df_sycl_allocate(void *queue, size_t n_bytes);
void df_sycl_free(void *queue, void *memory);
int df_sycl_copy(void *queue, void *to, const void *from, size_t n_bytes);
int df_sycl_fill(void *queue, void *memory, int byte, size_t n_bytes);

#ifdef __cplusplus
}
#endif
#endif
