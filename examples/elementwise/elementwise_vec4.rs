//! The same add with 128-bit loads: a quarter of the load and store instructions.
//!
//! On a large array memory is the limit and both versions are equally fast; fewer, wider requests
//! help where the array is small or the kernel does more per element.
#![no_std]
#![feature(abi_ptx)]

use oxide_device::{as_vec4, as_vec4_mut, grid_stride, F32x4};

/// `out[i] = a[i] + b[i]` for `i < n`. Any one-dimensional launch, any `n`, any alignment.
///
/// # Safety
/// `a`, `b` and `out` are device pointers to `n` floats each. `out` may be `a` or `b`, but not
/// overlap them otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn add_vec4(a: *const f32, b: *const f32, out: *mut f32, n: u32) {
    let n = n as usize;
    // A misaligned `ld.v4` is an error that kills the context, so the alignment is asked first.
    // All threads get the same answer: the branch costs one compare and diverges nowhere.
    let scalar_from = match (as_vec4(a), as_vec4(b), as_vec4_mut(out)) {
        (Some(a4), Some(b4), Some(out4)) => {
            let vectors = n / F32x4::LANES;
            for i in grid_stride(vectors) {
                // Two `ld.global.v4.b32`, four `add.rn.f32`, one `st.global.v4.b32`.
                // SAFETY: `i < vectors`, aligned, and no other thread has this `i`.
                unsafe { *out4.add(i) = *a4.add(i) + *b4.add(i) }
            }
            vectors * F32x4::LANES
        }
        _ => 0,
    };
    // What is left: at most three elements, or everything if the alignment did not fit.
    for i in grid_stride(n - scalar_from) {
        let i = scalar_from + i;
        // SAFETY: `i < n`, and no other thread has this `i`.
        unsafe { *out.add(i) = *a.add(i) + *b.add(i) }
    }
}
