"""The GPUs of this machine, through cuda-python."""
