"""The tiled matmul of the examples against its CUDA C++ twin, on the GPU of this machine.

    oxide build //examples/matmul --arch sm_90
    python benchmarks/device/matmul.py oxide-out/examples/matmul/matmul.sm_90.cubin

Needs cuda-bindings, numpy and an nvcc, which compiles the twin with `-O3`. Both are checked against
numpy first. Launches alternate between the two in one process; the table has medians of GPU times.
"""

from __future__ import annotations

import ctypes
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from cuda.bindings import driver as cu

SIZES = (1024, 4096)
WARM_UP, ROUNDS = 10, 60


def ok(result):
    """The values of a driver call, or an exception with its code."""
    if result[0] != cu.CUresult.CUDA_SUCCESS:
        raise RuntimeError(repr(result[0]))
    return result[1] if len(result) == 2 else result[1:]


def load(image: bytes):
    """The function `matmul` of a cubin or PTX."""
    return ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(image + b"\0")), b"matmul"))


def twin(arch: str) -> bytes:
    """The twin as a cubin by the nvcc on PATH."""
    source = Path(__file__).with_name("matmul.cu")
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder, "twin.cubin")
        subprocess.run(["nvcc", "-O3", f"-arch={arch}", "-cubin", source, "-o", cubin], check=True)
        return cubin.read_bytes()


def launch(function, n: int, pointers: list[int]) -> None:
    values = (*pointers, n)
    types = (ctypes.c_void_p,) * 3 + (ctypes.c_uint32,)
    grid = (n // 128, n // 128, 1)
    ok(cu.cuLaunchKernel(function, *grid, 256, 1, 1, 0, 0, (values, types), 0))


def timed(function, n: int, pointers: list[int], events) -> float:
    """Microseconds of one launch."""
    ok(cu.cuEventRecord(events[0], 0))
    launch(function, n, pointers)
    ok(cu.cuEventRecord(events[1], 0))
    ok(cu.cuEventSynchronize(events[1]))
    return 1000 * ok(cu.cuEventElapsedTime(*events))


def compare(functions: dict[str, object], n: int) -> dict[str, float]:
    """Median microseconds of each function for `n` x `n` matrices."""
    random = np.random.default_rng(n)
    a, b = (random.standard_normal((n, n), dtype=np.float32) for _ in range(2))
    expected = a @ b
    pointers = [int(ok(cu.cuMemAlloc(a.nbytes))) for _ in range(3)]
    for pointer, array in zip(pointers, (a, b), strict=False):
        ok(cu.cuMemcpyHtoD(pointer, array.ctypes.data, array.nbytes))
    events = [ok(cu.cuEventCreate(0)) for _ in range(2)]
    times: dict[str, list[float]] = {name: [] for name in functions}
    for name, function in functions.items():
        found = np.empty_like(a)
        ok(cu.cuMemsetD8(pointers[2], 0xFF, a.nbytes))
        launch(function, n, pointers)
        ok(cu.cuMemcpyDtoH(found.ctypes.data, pointers[2], found.nbytes))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * n, err_msg=name)
    for step in range(WARM_UP + ROUNDS):
        for name, function in functions.items():
            time_us = timed(function, n, pointers, events)
            if step >= WARM_UP:
                times[name].append(time_us)
    for pointer in pointers:
        ok(cu.cuMemFree(pointer))
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    cubin = Path(sys.argv[1])
    ok(cu.cuInit(0))
    device = ok(cu.cuDeviceGet(0))
    ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(device))))
    arch = cubin.name.split(".")[-2]
    functions = {"nvcc": load(twin(arch)), "oxide_build": load(cubin.read_bytes())}
    name = ok(cu.cuDeviceGetName(100, device)).split(b"\0")[0].decode()
    print(f"{name}, driver API {ok(cu.cuDriverGetVersion())}, {arch}, medians of {ROUNDS} in µs\n")
    print("| n | nvcc -O3 | oxide_build | ratio |")
    print("|---|---|---|---|")
    for n in SIZES:
        times = compare(functions, n)
        ratio = times["oxide_build"] / times["nvcc"]
        print(f"| {n} | {times['nvcc']:.1f} | {times['oxide_build']:.1f} | {ratio:.3f} |")


if __name__ == "__main__":
    main()
