"""Which GPUs are here, and what their driver is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oxide_build.errors import DeviceError
from oxide_build.model.arch import Arch

_KERNEL_MODULE = Path("/proc/driver/nvidia/version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU that the driver offers. `name` is the product's ("NVIDIA H200")."""

    index: int
    name: str
    arch: Arch
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverReport:
    """What the driver of this machine says of itself.

    reason   why there is no usable driver; None where there is one
    api      `cuDriverGetVersion`: 1000 times major plus 10 times minor of its CUDA (13000)
    version  the kernel module's ("580.159.04"); "" where it is not told
    """

    reason: str | None
    api: int = 0
    version: str = ""
    gpus: tuple[Gpu, ...] = ()


def inspect_driver() -> DriverReport:
    """Ask the driver through cuda-python; its absence is an answer, not an error.

    Takes about 0.3 s where there is one, most of it the driver's start.
    """
    try:
        from cuda.bindings import driver
    except ImportError:
        return DriverReport(reason="the CUDA driver bindings are not installed (cuda-python)")
    try:
        if (code := int(driver.cuInit(0)[0])) != 0:
            return DriverReport(reason=_name(driver, code), version=_module_version())
        api = int(_ok(driver.cuDriverGetVersion()))
        count = int(_ok(driver.cuDeviceGetCount()))
        gpus = tuple(_gpu(driver, index) for index in range(count))
    except RuntimeError:
        # cuda-bindings raises it when libcuda itself is missing.
        return DriverReport(reason="the NVIDIA driver (libcuda) was not found")
    return DriverReport(reason=None, api=api, version=_module_version(), gpus=gpus)


def native_arch() -> Arch:
    """The arch of the first GPU, without a suffix, as nvcc's `-arch=native` takes it.

    Raises `DeviceError` without a usable GPU.
    """
    report = inspect_driver()
    if not report.gpus:
        reason = report.reason or "the driver offers none"
        raise DeviceError(
            f"`native` names the GPU of this machine, but there is none that can be used: {reason}",
            hint='name the archs instead: archs = ["sm_90"]',
        )
    return report.gpus[0].arch


def _gpu(driver: Any, index: int) -> Gpu:
    device = _ok(driver.cuDeviceGet(index))
    attribute = driver.CUdevice_attribute
    major = _ok(
        driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)
    )
    minor = _ok(
        driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
    )
    name = bytes(_ok(driver.cuDeviceGetName(256, device))).split(b"\0")[0].decode()
    memory = int(_ok(driver.cuDeviceTotalMem(device)))
    return Gpu(index=index, name=name, arch=Arch(int(major) * 10 + int(minor)), memory_bytes=memory)


def _ok(returned: tuple[Any, ...]) -> Any:
    code, *values = returned
    if int(code) != 0:
        raise RuntimeError(getattr(code, "name", str(code)))
    return values[0]


def _name(driver: Any, code: int) -> str:
    try:
        return str(driver.CUresult(code).name)
    except ValueError:
        return f"error {code}"


def _module_version() -> str:
    try:
        found = re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", _KERNEL_MODULE.read_text())
    except OSError:
        return ""
    return found[1] if found else ""
