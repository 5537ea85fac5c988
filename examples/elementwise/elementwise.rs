//! Element-wise add and multiply: the smallest kernels worth launching.
//!
//! Both are bound by memory: 12 bytes move for one floating-point operation. All there is to get
//! right is that a warp's 32 threads touch 32 neighbouring floats.
#![no_std]
#![feature(abi_ptx)]

use oxide_device::grid_stride;

/// `out[i] = a[i] + b[i]` for `i < n`. Any one-dimensional launch.
///
/// # Safety
/// `a`, `b` and `out` are device pointers to `n` floats each. `out` may be `a` or `b`, but not
/// overlap them otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn add(a: *const f32, b: *const f32, out: *mut f32, n: u32) {
    // PTX has no iterator left: a compare, two `ld.global.b32`, `add.rn.f32`, `st.global.b32`.
    // The address space is known because LLVM knows that kernel parameters point to global memory.
    for i in grid_stride(n as usize) {
        // SAFETY: `i < n`, and no other thread has this `i`.
        unsafe { *out.add(i) = *a.add(i) + *b.add(i) }
    }
}

/// `out[i] = a[i] * b[i]` for `i < n`. Any one-dimensional launch.
///
/// # Safety
/// As [`add`].
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn multiply(a: *const f32, b: *const f32, out: *mut f32, n: u32) {
    for i in grid_stride(n as usize) {
        // SAFETY: `i < n`, and no other thread has this `i`.
        unsafe { *out.add(i) = *a.add(i) * *b.add(i) }
    }
}
