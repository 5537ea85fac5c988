//! Loops that are written out in full, whatever the optimiser thinks of it.

/// `body(0); body(1); … body(7);`
///
/// LLVM unrolls a loop only while the result stays small (some hundred instructions). Where the
/// index must become a constant, for an array to live in registers or for loads to be moved over
/// the arithmetic of the step before, do not leave it to that estimate.
#[inline(always)]
pub fn unroll_8(mut body: impl FnMut(usize)) {
    body(0);
    body(1);
    body(2);
    body(3);
    body(4);
    body(5);
    body(6);
    body(7);
}
