//! Arithmetic that has an instruction of its own.

/// `a * b + c` with one rounding: `fma.rn.f32`.
///
/// Rust never fuses `a * b + c` by itself, since that changes the result; where a GPU should fuse,
/// say so. `core::f32::math` is one spelling for all releases: the intrinsics below it were
/// renamed (`fmuladdf32` became `fmuladd` in the autumn of 2026).
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    core::f32::math::mul_add(a, b, c)
}
