//! A polynomial whose coefficients come out of BUILD.toml.
//!
//! `coefficients` is no file of the checkout: the rule `rust_constants` writes it, and the compiler
//! finds it beside this one.
#![no_std]
#![feature(abi_ptx)]

mod coefficients;

use coefficients::{C0, C1, C2, C3};
use oxide_device::{fma, grid_stride};

/// `out[i] = C0 + x·(C1 + x·(C2 + x·C3))` with `x = a[i]`, for `i < n`. Any one-dimensional launch.
///
/// # Safety
/// `a` and `out` are device pointers to `n` floats each.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn polynomial(a: *const f32, out: *mut f32, n: u32) {
    for i in grid_stride(n as usize) {
        // SAFETY: `i < n`, and no other thread has this `i`.
        unsafe {
            let x = *a.add(i);
            // Three `fma.rn.f32` with the coefficients as immediate operands.
            *out.add(i) = fma(x, fma(x, fma(x, C3, C2), C1), C0);
        }
    }
}
