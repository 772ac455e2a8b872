// See shim.h. Kernels are built from source when they are first used, by the compiler in SYCL's run-time library: the
// extension that does it is experimental, and used here only.
#include "shim.h"

#include <exception>
#include <string>
#include <vector>

#include <sycl/ext/oneapi/experimental/work_group_memory.hpp>
#include <sycl/kernel_bundle.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>

namespace {

namespace source = sycl::ext::oneapi::experimental;
using Bundle = sycl::kernel_bundle<sycl::bundle_state::executable>;

thread_local std::string error;

sycl::queue &queue_at(void *queue) { return *static_cast<sycl::queue *>(queue); }

// Whether a piece of work was done; no exception leaves it.
template <class Work> bool done(Work work) {
    try {
        work();
        return true;
    } catch (const std::exception &caught) {
        error = caught.what();
    } catch (...) {
        error = "an exception of a type that is not known";
    }
    return false;
}

} // namespace

const char *df_sycl_error(void) { return error.c_str(); }

int df_sycl_can_build(void *queue) {
    bool can = false;
    done([&] { can = queue_at(queue).get_device().ext_oneapi_can_build(source::source_language::sycl); });
    return can;
}

void *df_sycl_build(void *queue, const char *text, int n_files, const char *const *names, const char *const *texts,
                    int n_options, const char *const *options) {
    Bundle *built = nullptr;
    std::string log;
    const bool is_done = done([&] {
        source::include_files files;
        for (int i = 0; i < n_files; i++)
            files.add(names[i], texts[i]);
        source::build_options given{std::vector<std::string>(options, options + n_options)};
        auto read = source::create_kernel_bundle_from_source(queue_at(queue).get_context(), source::source_language::sycl,
                                                             std::string(text), source::properties{files});
        built = new Bundle(source::build(read, std::vector<sycl::device>{queue_at(queue).get_device()},
                                         source::properties{given, source::save_log{&log}}));
    });
    if (!is_done)
        error += "\n" + log;
    return built;
}

void df_sycl_release(void *bundle) { delete static_cast<Bundle *>(bundle); }

int df_sycl_launch(void *queue, void *bundle, const char *kernel, size_t n_groups, size_t n_items, int n_arguments,
                   const uint64_t *arguments, const unsigned char *is_pointer, size_t n_local) {
    const bool is_done = done([&] {
        sycl::kernel found = static_cast<Bundle *>(bundle)->ext_oneapi_get_kernel(std::string(kernel));
        queue_at(queue)
            .submit([&](sycl::handler &handler) {
                for (int i = 0; i < n_arguments; i++) {
                    if (is_pointer[i]) {
                        void *pointer = reinterpret_cast<void *>(arguments[i]);
                        handler.set_arg(i, pointer);
                    } else {
                        int64_t integer = static_cast<int64_t>(arguments[i]);
                        handler.set_arg(i, integer);
                    }
                }
                source::work_group_memory<char[]> local(n_local, handler);
                handler.set_arg(n_arguments, local);
                handler.parallel_for(sycl::nd_range<1>{n_groups * n_items, n_items}, found);
            })
            .wait_and_throw();
    });
    return is_done ? 0 : -1;
}

void *df_sycl_allocate(void *queue, size_t n_bytes) {
    void *memory = nullptr;
    if (done([&] { memory = sycl::malloc_device(n_bytes, queue_at(queue)); }) && memory == nullptr)
        error = "the device has not that much memory left";
    return memory;
}

void df_sycl_free(void *queue, void *memory) {
    done([&] { sycl::free(memory, queue_at(queue)); });
}

int df_sycl_copy(void *queue, void *to, const void *from, size_t n_bytes) {
    return done([&] { queue_at(queue).memcpy(to, from, n_bytes).wait_and_throw(); }) ? 0 : -1;
}

int df_sycl_fill(void *queue, void *memory, int byte, size_t n_bytes) {
    return done([&] { queue_at(queue).memset(memory, byte, n_bytes).wait_and_throw(); }) ? 0 : -1;
}
