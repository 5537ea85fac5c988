"""Which GPUs are here."""

from __future__ import annotations

from oxide_build.errors import DeviceError
from oxide_build.model.arch import Arch


def native_arch() -> Arch:
    """The arch of the first GPU, without a suffix, as nvcc's `-arch=native` takes it.

    Takes about 0.3 s, most of it the driver's start. Raises `DeviceError` without a usable GPU.
    """
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise DeviceError(
            "`native` needs the CUDA driver bindings, which are not installed",
            hint="pip install cuda-python",
        ) from error
    attribute = driver.CUdevice_attribute
    try:
        _ok(driver, driver.cuInit(0))
        device = _ok(driver, driver.cuDeviceGet(0))
        major = _ok(
            driver,
            driver.cuDeviceGetAttribute(
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device
            ),
        )
        minor = _ok(
            driver,
            driver.cuDeviceGetAttribute(
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device
            ),
        )
    except RuntimeError as error:
        # cuda-bindings raises it when libcuda itself is missing.
        raise _no_gpu("the NVIDIA driver (libcuda) was not found") from error
    return Arch(int(major) * 10 + int(minor))


def _ok(driver: object, returned: tuple[object, ...]) -> int:
    code, *values = returned
    if int(code) != 0:  # type: ignore[call-overload]
        raise _no_gpu(getattr(code, "name", str(code)))
    return values[0] if values else 0  # type: ignore[return-value]


def _no_gpu(reason: str) -> DeviceError:
    return DeviceError(
        f"`native` names the GPU of this machine, but there is none that can be used: {reason}",
        hint='name the archs instead: archs = ["sm_90"]',
    )
